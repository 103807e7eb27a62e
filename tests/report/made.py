"""Small records to draw."""

from dataclasses import replace

import numpy as np

from acprop.records import Boundary, Cell, Crossing, Curves, Line, Region, Surface

BETA2 = (0.5, 0.9, 0.99, 0.999)


def cell(period, beta2, finite="converged", asymptotic="converges"):
    drift = {"converges": 0.1, "diverges": -0.1}[asymptotic]
    return Cell(period, beta2, finite, 0.1, 0.0, drift, asymptotic)


PLANE = [cell(p, b) for p in (3, 4, 5) for b in BETA2]


def region(optimizer="adam", cells=PLANE, **changes):
    made = Region("dense", optimizer, 0.9, "paper", 10_000, tuple(cells))
    return replace(made, **changes)


def boundary(crossings, optimizer="adam", beta1=0.9):
    made = tuple(Crossing(*c) for c in crossings)
    return Boundary("dense", optimizer, beta1, "paper", made)


def curves(lines, **changes):
    made = tuple(Line(name, tuple(x), tuple(y)) for name, x, y in lines)
    return replace(Curves("a figure", "a panel", "t", "x", made), **changes)


def named(*labels):
    return curves([(label, (1.0, 2.0), (1.0, 2.0)) for label in labels])


def surface(values, x=None, y=None):
    values = np.asarray(values, float)
    x = tuple(x or range(values.shape[1]))
    y = tuple(y or range(values.shape[0]))
    rows = tuple(map(tuple, values.tolist()))
    return Surface("ratios", "a panel", "β2", "P", "s⁺/s⁻", x, y, rows)
