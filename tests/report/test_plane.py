import numpy as np
import pytest

from acprop.report.figures import figure
from acprop.report.plane import beta2_ticks, branches

from .made import BETA2, boundary, cell, region


def test_beta2_approaches_one_on_the_right():
    ax = figure([region()]).axes[0]
    left, right = ax.get_xlim()
    assert left > right
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_xticklabels()] == [
        "0.1",
        "0.9",
        "0.99",
        "0.999",
    ]
    np.testing.assert_allclose(ax.get_xticks(), [0.9, 0.1, 0.01, 0.001])


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1e-4, 0.9, ["0.1", "0.9", "0.99", "0.999", "0.9999"]),
        (0.2, 0.9, ["0.2", "0.4", "0.6", "0.8"]),
        (1e-7, 0.1, ["0.9", "0.999", "$1-10^{-5}$", "$1-10^{-7}$"]),
    ],
)
def test_ticks_are_labelled_in_beta2(low, high, labels):
    assert [label for _, label in beta2_ticks(low, high)] == labels


@pytest.mark.parametrize(
    ("periods", "scale"), [((3, 60), "linear"), ((3, 63), "log")], ids=str
)
def test_a_wide_range_of_periods_is_logarithmic(periods, scale):
    cells = [cell(p, b) for p in periods for b in BETA2]
    assert figure([region(cells=cells)]).axes[0].get_yscale() == scale


def test_a_pocket_is_not_joined_to_the_threshold():
    """The k-th crossing of one period need not be the k-th of the next."""
    pocket = (0.1, 0.3)
    crossings = [
        (3, "diverges", (0.6,)),
        (4, "diverges", (0.7,)),
        (5, "diverges", (*pocket, 0.75)),
        (6, "diverges", (*pocket, 0.8)),
        (7, "diverges", (0.85,)),
    ]
    found = [[period for _, period in run] for run in branches(boundary(crossings))]
    assert found == [[3, 4], [5, 6], [5, 6], [5, 6], [7]]


@pytest.mark.parametrize(
    "second",
    [(4, "converges", (0.6,)), (4, "diverges", (0.99,)), (4, "diverges", ())],
    ids=["the other way round", "too far", "none"],
)
def test_crossings_that_do_not_belong_together_are_dots(second):
    crossings = [(3, "diverges", (0.6,)), second]
    lines = figure([region(), boundary(crossings)]).axes[0].lines
    assert [line.get_marker() for line in lines] == ["."] * (1 + len(second[2]))
