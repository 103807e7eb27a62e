"""The closed forms side by side: as derived for Algorithm 2, and as printed."""

import math
from typing import Any

import numpy as np

from acprop.lab import printed
from acprop.lab.curves import curves
from acprop.lab.limits import limits
from acprop.lab.problems import periodic
from acprop.records import Curves

OFFSETS = (-3, -2, -1, 0, 1, 2, 3, 4)  # the ends of the period, where forms are printed


def periodic_state(problem: str, P: int, beta1: float, beta2: float) -> dict[str, Any]:
    """m, v and s around t = kP; null where nothing is printed, or it is infinite.

    The names of the phases are kP-3 … kP+4; at P = 3 kP-3 and kP are the same phase.
    """
    state = limits(periodic(problem, P), beta1, beta2)
    ours = {"m": state.m, "v": state.v, "s": state.s}
    # numpy's floats: the printed s divides by zero where β1² = β2
    theirs = printed.forms(problem, P, np.float64(beta1), np.float64(beta2))
    return {
        "problem": problem,
        "period": P,
        "beta1": beta1,
        "beta2": beta2,
        "derived": {
            _name(at): {k: float(values[at % P]) for k, values in ours.items()}
            for at in OFFSETS
        },
        "printed": {
            _name(at): {k: _number(theirs[k].get(at)) for k in ours} for at in OFFSETS
        },
    }


def state_curves(problem: str, P: int, beta1: float, beta2: float) -> Curves:
    """v and s over one period, as derived, and the printed s where there is one."""
    state = limits(periodic(problem, P), beta1, beta2)
    t = np.arange(P + 1)
    lines = [("v, derived", t, state.v[t % P]), ("s, derived", t, state.s[t % P])]
    table = periodic_state(problem, P, beta1, beta2)["printed"]
    shown = [(at % P, table[_name(at)]["s"]) for at in OFFSETS]
    points = sorted((at, s) for at, s in shown if s is not None and s > 0)
    if points:
        lines.append(("s, printed", *np.array(points).T))
    title = f"{problem}, P = {P}, β1 = {beta1:g}, β2 = {beta2:g}"
    return curves("limits", title, ("t - kP", "second moment"), lines, log="y")


def _name(at: int) -> str:
    return f"kP{at:+d}" if at else "kP"


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
