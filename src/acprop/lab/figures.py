"""The paper's toy figures at its own scale, as records; `acprop.report` draws them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from acprop import checks
from acprop.lab import absolute, gaussian, harmonic, phase, rates, stochastic
from acprop.lab.boundaries import boundary
from acprop.lab.claims.grids import COMPARED, EPS, PERIODS, protocol
from acprop.lab.claims.sparse import log_ratios
from acprop.lab.methods import METHODS
from acprop.lab.problems import dense, sparse
from acprop.lab.regions import regions
from acprop.lab.trajectories import (
    delays,
    over_a_few_periods,
    paper_trajectories,
    sparse_moments,
)
from acprop.records import Record, Surface


@dataclass(frozen=True, slots=True)
class Figure:
    """place: where it stands in the paper, or that it is ours."""

    name: str
    place: str
    caption: str
    make: Callable[[], Sequence[Record]]


def areas(problem: str, beta1: float) -> list[Record]:
    """Convergence areas of the five optimizers, with their exact borders."""
    eps, periods = EPS[problem], PERIODS[problem]
    sweep = replace(protocol(*COMPARED, beta1=beta1), eps=eps)
    found = regions(problem, periods, sweep)
    borders = [
        boundary(problem, METHODS[name], beta1=beta1, periods=periods, eps=eps)
        for name in COMPARED
    ]
    return [*found, *borders]


def difference(beta1: float) -> Surface:
    """s⁺/s⁻ - v⁺/v⁻ over (β2, P), from the closed forms."""
    periods = np.arange(4, 51)
    beta2 = np.linspace(0.1, 0.99, 90)
    ratios = [log_ratios(int(P), beta1, beta2) for P in periods]
    label = "s⁺/s⁻ - v⁺/v⁻"
    return Surface(
        "difference",
        f"{label}, β1 = {beta1}",
        "β2",
        "P",
        label,
        tuple(beta2.tolist()),
        tuple(periods.astype(float).tolist()),
        tuple(tuple((np.exp(s) - np.exp(v)).tolist()) for s, v in ratios),
        about={"problem": "sparse", "beta1": beta1},
    )


def _area(problem: str, beta1: float, place: str) -> Figure:
    eq = "Eq. 1" if problem == "dense" else "Eq. 2"
    return Figure(
        f"area-{problem}-{beta1}",
        place,
        f"Where five optimizers converge on {eq}, β1 = {beta1}, ε = {EPS[problem]:g}: "
        "10⁴ steps, the best of six learning rates; line: the exact border.",
        lambda: areas(problem, beta1),
    )


def _trajectories(kind: str, place: str, caption: str) -> Figure:
    return Figure(
        f"trajectories-{kind}",
        place,
        caption,
        lambda: [paper_trajectories(kind, takes_first_step=k) for k in (True, False)],
    )


FIGURES = {
    f.name: f
    for f in (
        _area("dense", 0.5, "Appendix A.3"),
        _area("dense", 0.7, "Appendix A.3"),
        _area("dense", 0.9, "Fig. 1"),
        _area("sparse", 0.85, "Appendix A.3"),
        _area("sparse", 0.9, "Fig. 3"),
        _area("sparse", 0.95, "Appendix A.3"),
        _trajectories("dense", "Fig. 2", "Trajectories on Eq. 1, x* = -1."),
        _trajectories("sparse", "Fig. 4", "Trajectories on Eq. 2, x* = 0."),
        Figure(
            "adashift-delays",
            "Appendix A.3",
            "AdaShift with various delays n on both problems.",
            lambda: [
                delays(dense(10), (1, 2, 5, 10, 12, 20)),
                delays(sparse(20), (1, 3, 4, 10, 20, 22)),
            ],
        ),
        Figure(
            "periods-dense",
            "Appendix A.1",
            "s_t and g_t of ACProp on Eq. 1 with P = 10: s is smallest at kP, just "
            "before the large gradient.",
            lambda: [
                over_a_few_periods(5, "five periods"),
                over_a_few_periods(1, "one period"),
            ],
        ),
        Figure(
            "moments-sparse",
            "Fig. 5",
            "The uncentered v_t and the centered s_t on Eq. 2, in the limit.",
            lambda: [sparse_moments(20, 0.9, beta2) for beta2 in (0.5, 0.9)],
        ),
        Figure(
            "difference",
            "Appendix A.2",
            "s⁺/s⁻ - v⁺/v⁻ over the plane: not negative everywhere.",
            lambda: [difference(beta1) for beta1 in (0.2, 0.9)],
        ),
        Figure(
            "harmonic",
            "Appendix B.2",
            "Error of the closed form of Σ k^-η.",
            harmonic.records,
        ),
        Figure(
            "absolute",
            "Appendix C.1",
            "f(x) = |x| from x0 = 100: trajectories and step sizes.",
            absolute.records,
        ),
        Figure(
            "constants",
            "Section 4, ours",
            "Second moments of Gaussian gradients, measured and expected.",
            gaussian.records,
        ),
        Figure(
            "stochastic",
            "Appendix A.1, ours",
            "The stochastic variant of Eq. 1.",
            stochastic.records,
        ),
        Figure(
            "rates",
            "Section 4, ours",
            "Mean squared gradient against the horizon.",
            rates.records,
        ),
        Figure(
            "phase",
            "Lemma 3.3, ours",
            "When asynchrony survives averaging first: borders on Eq. 1, in the limit "
            "of large P and exact.",
            phase.records,
        ),
    )
}


def figure(name: str) -> Figure:
    """Find a figure by its name."""
    return FIGURES[checks.one_of("figure", name, FIGURES)]
