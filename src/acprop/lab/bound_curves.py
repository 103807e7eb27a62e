"""A theorem and a run over the horizon T, as curves."""

from dataclasses import replace

import numpy as np

from acprop.lab.bounds import BoundReport, sides
from acprop.lab.descent import walk
from acprop.lab.lines import horizons, line
from acprop.lab.methods import method
from acprop.lab.nonconvex import problem
from acprop.records import Curves


def bound_curves(report: BoundReport) -> Curves:
    """The measured average against the printed and the corrected bound at every T."""
    h = report.settings
    T = horizons(1, h.steps, 60)
    run = walk(problem(report.problem), method(report.optimizer), h)
    average = np.mean(run.averages, axis=1)
    shown = [
        sides(report.theorem, report.constants, replace(h, steps=int(t))) for t in T
    ]
    lines = (
        line("measured", T, average[T - 1]),
        line("printed bound", T, (printed for printed, _ in shown)),
        line("corrected bound", T, (corrected for _, corrected in shown)),
    )
    is_negative = any(printed <= 0 for printed, _ in shown)
    return Curves(
        "bound",
        f"{report.theorem}, {report.optimizer} on {report.problem}, "
        f"α0 = {h.alpha0:g}, η = {h.eta:g}, ε = {h.eps:g}",
        "T",
        "mean squared gradient",
        lines,
        x_scale="log",
        y_scale="symlog" if is_negative else "log",
    )
