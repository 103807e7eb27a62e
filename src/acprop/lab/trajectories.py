"""Trajectories and second moments of single runs, as records."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import Any

import numpy as np

from acprop import checks
from acprop.checks import UserError
from acprop.lab import absolute, stochastic
from acprop.lab.arrays import Floats
from acprop.lab.limits import limits
from acprop.lab.lines import every, thinned
from acprop.lab.methods import Method, method
from acprop.lab.problems import PERIODIC, Problem, dense, periodic, sparse
from acprop.lab.simulate import Source, Trajectory, trajectory
from acprop.records import Curves, Line
from acprop.rule import PAPER, Convention, Rule
from acprop.rule import convention as find_convention


def delayed(name: str, delay: int | None) -> Method:
    """A method by name, with another delay if one is given."""
    found = method(name)
    if delay is None:
        return found
    if not isinstance(found.rule, Rule) or found.rule.delay == 0:
        raise UserError(
            f"delay must be left out for {name}, which has none, got {delay}"
        )
    if delay < 1:
        raise UserError(f"delay must be 1 or more for {name}, got {delay}")
    return replace(
        found, name=f"{name} n={delay}", rule=replace(found.rule, delay=delay)
    )


def runs(
    problem: Problem,
    labelled: dict[str, Method],
    *,
    title: str,
    convention: Convention = PAPER,
    name: str = "trajectories",
    **settings: Any,
) -> Curves:
    """x over the steps, one curve for each method."""
    stride = every(settings["steps"])
    lines = tuple(
        thinned(
            label, trajectory(problem, m, convention=convention, **settings).x, stride
        )
        for label, m in labelled.items()
    )
    about = {
        "problem": problem.name,
        "period": problem.period,
        "convention": convention.name,
        **settings,
    }
    return Curves(name, title, "step t", "x", lines, x_scale="log", about=about)


def over_a_few_periods(
    problem: Problem, run: Trajectory, *, n: int, title: str, name: str
) -> Curves:
    """The last n periods of s_t and g_t, both scaled to a maximum of 1."""
    P = problem.period
    start = len(run.x) - len(run.x) % P - n * P
    stop = start + n * P + 1
    # t = kP is the first point shown, index kP - 1
    lines = tuple(
        thinned(
            label, series[start - 1 : stop - 1] / np.max(np.abs(series)), 1, first=0
        )
        for label, series in (("s_t", run.s), ("g_t", run.g))
    )
    about = {"problem": problem.name, "period": P, "from step": start}
    return Curves(name, title, "t - kP", "value / largest", lines, about=about)


def sparse_moments(P: int, beta1: float, beta2: float) -> Curves:
    """v and s over two periods of the sparse problem, from the closed forms."""
    state = limits(sparse(P), beta1, beta2)
    twice = [t % P for t in range(2 * P + 1)]
    lines = tuple(
        thinned(label, values[twice], 1, first=0)
        for label, values in (("v_t (AdaShift)", state.v), ("s_t (ACProp)", state.s))
    )
    return Curves(
        "moments-sparse",
        f"P = {P}, β1 = {beta1}, β2 = {beta2}",
        "t - kP",
        "second moment",
        lines,
        y_scale="log",
        about={"problem": "sparse", "period": P, "beta1": beta1, "beta2": beta2},
    )


def delays(problem: Problem, ns: Sequence[int], **settings: Any) -> Curves:
    """AdaShift with several delays."""
    labelled = {f"n = {n}": delayed("adashift", n) for n in ns}
    title = f"{problem.name}, P = {problem.period}, x* = {problem.x_star:g}"
    return runs(
        problem,
        labelled,
        title=title,
        name="adashift-delays",
        kick=False,
        **settings,
    )


def paper_trajectories(kind: str, *, kick: bool) -> Curves:
    """Figs. 2 and 5: the family on a cell where only ACProp's kind converges.

    kick: Algorithm 2's first step divides by √ε and moves x to an end of its interval;
        without it the drift can be seen from the start.
    """
    problem, beta1 = (dense(10), 0.5) if kind == "dense" else (sparse(20), 0.9)
    labels = ("Adam", "RMSProp", "AdaBelief", "ACProp")
    labelled = {label: method(label.lower()) for label in labels}
    for n in (1, 10):
        labelled[f"AdaShift, n = {n}"] = delayed("adashift", n)
    first = "Algorithm 2 to the letter" if kick else "first step 0"
    return runs(
        problem,
        labelled,
        title=f"P = {problem.period}, β1 = {beta1}, β2 = 0.5, {first}",
        name=f"trajectories-{kind}",
        kick=kick,
        beta1=beta1,
        beta2=0.5,
        alpha0=0.1,
        steps=4000,
    )


@dataclass(frozen=True, slots=True)
class Absolute:
    """f(x) = |x|, unconstrained."""

    x0: float = absolute.X0
    lo: float = -inf
    hi: float = inf

    def gradient(self, t: int, x: float) -> float:
        """The sign of x."""
        del t
        return float(np.sign(x))


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """One draw of the stochastic problem, the same for every method."""

    drawn: Floats
    x0: float
    lo: float = stochastic.LO
    hi: float = stochastic.HI

    def gradient(self, t: int, x: float) -> float:
        """The t-th of the gradients drawn."""
        del x
        return float(self.drawn[t - 1])


def source(
    name: str, period: int, *, x0: float | None, delta: float, seed: int, steps: int
) -> Source:
    """Find a problem by its name; it starts at x0, or at its own start."""
    if name == "absolute":
        return Absolute() if x0 is None else Absolute(x0)
    if name == "stochastic":
        rng = np.random.default_rng(seed)
        drawn = stochastic.Stochastic(period, delta).draw(rng, (steps,))
        start = stochastic.X0 if x0 is None else x0
        if not stochastic.LO <= start <= stochastic.HI:
            raise UserError(f"x0 must be in [-1, 1], got {start:g}")
        return Drawn(drawn, start)
    checks.one_of("problem", name, (*PERIODIC, "stochastic", "absolute"))
    return periodic(name, period, x0=x0)


def compare(
    problem: str,
    *,
    optimizers: Sequence[str],
    beta1: Sequence[float],
    beta2: Sequence[float],
    periods: Sequence[int],
    alpha0: Sequence[float],
    conventions: Sequence[str],
    steps: int,
    eta: float,
    x0: float | None = None,
    delta: float = 1.0,
    seed: int = 0,
    delay: int | None = None,
    eps: float | None = None,
) -> Curves:
    """x over the steps for every combination; labels name what varies."""
    axes: dict[str, list[Any]] = {
        "": [delayed(name, delay) for name in optimizers],
        "β1": list(beta1),
        "β2": list(beta2),
        "P": list(periods) if problem != "absolute" else [0],
        "α0": list(alpha0),
        " ": [find_convention(name) for name in conventions],
    }
    varying = [name for name, values in axes.items() if len(values) > 1 or not name]
    lines: list[Line] = []
    for point in product(*axes.values()):
        m, b1, b2, P, a, convention = point
        run = trajectory(
            source(problem, P, x0=x0, delta=delta, seed=seed, steps=steps),
            m,
            beta1=b1,
            beta2=b2,
            alpha0=a,
            convention=convention,
            eps=eps,
            steps=steps,
            eta=eta,
        )
        named = dict(zip(axes, point, strict=True))
        label = _label({name: named[name] for name in varying})
        lines.append(thinned(label, run.x, every(steps)))
    about = {"problem": problem, "steps": steps, "eta": eta, "seed": seed}
    return Curves(
        "trajectory", f"{problem} problem", "step t", "x", tuple(lines), about=about
    )


def _label(values: dict[str, Any]) -> str:
    """What varies, as text; methods and conventions have a name of their own."""
    return ", ".join(
        f"{name} = {value:g}" if name.strip() else value.name
        for name, value in values.items()
    )
