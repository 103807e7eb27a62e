"""Trajectories and second moments of single runs, as records."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from acprop import checks
from acprop.checks import UserError
from acprop.lab.absolute import X0, Absolute
from acprop.lab.curves import curves, over_steps
from acprop.lab.limits import limits
from acprop.lab.methods import METHODS, Method, method
from acprop.lab.problems import PERIODIC, Problem, dense, periodic, sparse
from acprop.lab.simulate import Source, trajectory
from acprop.lab.stochastic import Stochastic
from acprop.records import Curves
from acprop.rule import PAPER, Rule
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


def delays(problem: Problem, ns: Sequence[int]) -> Curves:
    """AdaShift with several delays."""
    labelled = {f"n = {n}": delayed("adashift", n) for n in ns}
    title = f"{problem.name}, P = {problem.period}, x* = {problem.x_star:g}"
    return _paths("adashift-delays", title, problem, labelled, 0.5, False)


def paper_trajectories(kind: str, *, takes_first_step: bool) -> Curves:
    """Figs. 2 and 5: the family on a cell where only ACProp's kind converges.

    takes_first_step: Algorithm 2's first step divides by √ε and moves x to an end of
        its interval; without it the drift can be seen from the start.
    """
    problem, beta1 = (dense(10), 0.5) if kind == "dense" else (sparse(20), 0.9)
    labels = ("Adam", "RMSProp", "AdaBelief", "ACProp")
    labelled = {label: method(label.lower()) for label in labels}
    for n in (1, 10):
        labelled[f"AdaShift, n = {n}"] = delayed("adashift", n)
    first = "Algorithm 2 to the letter" if takes_first_step else "first step 0"
    title = f"P = {problem.period}, β1 = {beta1}, β2 = 0.5, {first}"
    name = f"trajectories-{kind}"
    return _paths(name, title, problem, labelled, beta1, takes_first_step)


def _paths(
    name: str,
    title: str,
    problem: Problem,
    labelled: dict[str, Method],
    beta1: float,
    takes_first_step: bool,
) -> Curves:
    """x over the steps, one curve for each method."""
    settings: dict[str, Any] = {
        "beta1": beta1,
        "beta2": 0.5,
        "alpha0": 0.1,
        "steps": 4000,
        "takes_first_step": takes_first_step,
    }
    lines = [
        over_steps(label, trajectory(problem, m, **settings).x)
        for label, m in labelled.items()
    ]
    about = {"problem": problem.name, "period": problem.period}
    about |= {"convention": PAPER.name, **settings}
    return curves(name, title, ("step t", "x"), lines, log="x", about=about)


def over_a_few_periods(n: int, title: str) -> Curves:
    """The last n periods of s_t and g_t on the dense problem, scaled to at most 1."""
    P, steps = 10, 4000
    run = trajectory(
        dense(P),
        METHODS["acprop-paper"],
        beta1=0.9,
        beta2=0.9,
        alpha0=0.1,
        steps=steps,
    )
    start = steps - n * P
    t = np.arange(n * P + 1)
    # t = kP is the first point shown, index kP - 1
    lines = [
        (label, t, series[start - 1 + t] / np.max(np.abs(series)))
        for label, series in (("s_t", run.s), ("g_t", run.g))
    ]
    about = {"problem": "dense", "period": P, "from step": start}
    axes = "t - kP", "value / largest"
    return curves("periods-dense", title, axes, lines, about=about)


def sparse_moments(P: int, beta1: float, beta2: float) -> Curves:
    """v and s over two periods of the sparse problem, from the closed forms."""
    state = limits(sparse(P), beta1, beta2)
    t = np.arange(2 * P + 1)
    return curves(
        "moments-sparse",
        f"P = {P}, β1 = {beta1}, β2 = {beta2}",
        ("t - kP", "second moment"),
        [
            ("v_t (AdaShift)", t, state.v[t % P]),
            ("s_t (ACProp)", t, state.s[t % P]),
        ],
        log="y",
        about={"problem": "sparse", "period": P, "beta1": beta1, "beta2": beta2},
    )


def _source(
    name: str, period: int, *, x0: float | None, delta: float, seed: int, steps: int
) -> Source:
    """Find a problem by its name; it starts at x0, or at its own start."""
    if name == "absolute":
        return Absolute(X0 if x0 is None else x0)
    if name == "stochastic":
        (drawn,) = Stochastic(period, delta, seeds=1).runs(steps, seed)
        return drawn if x0 is None else replace(drawn, x0=x0)
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
    # Methods and conventions have names of their own.
    axes: dict[str, Sequence[Any]] = {
        "optimizer": [delayed(name, delay) for name in optimizers],
        "β1": beta1,
        "β2": beta2,
        "P": periods if problem != "absolute" else [0],
        "α0": alpha0,
        "convention": [find_convention(name) for name in conventions],
    }
    lines: list[Any] = []
    for point in product(*axes.values()):
        m, b1, b2, P, a, convention = point
        run = trajectory(
            _source(problem, P, x0=x0, delta=delta, seed=seed, steps=steps),
            m,
            beta1=b1,
            beta2=b2,
            alpha0=a,
            convention=convention,
            eps=eps,
            steps=steps,
            eta=eta,
        )
        label = ", ".join(
            f"{name} = {value:g}" if isinstance(value, float | int) else value.name
            for (name, values), value in zip(axes.items(), point, strict=True)
            if len(values) > 1 or name == "optimizer"
        )
        lines.append(over_steps(label, run.x))
    about = {"problem": problem, "steps": steps, "eta": eta, "seed": seed}
    title = f"{problem} problem"
    return curves("trajectory", title, ("step t", "x"), lines, about=about)
