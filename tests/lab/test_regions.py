"""Regions: two verdicts for a cell, and how they may differ."""

import numpy as np
import pytest

from acprop.lab.methods import METHODS
from acprop.lab.regions import regions, share, surprises
from acprop.lab.simulate import Sweep

BETA2 = tuple(1 - np.geomspace(0.9, 1e-3, 9))


def sweep(*names, beta1=0.9, **changes):
    return Sweep(tuple(METHODS[n] for n in names), beta1, BETA2, **changes)


def test_a_cell_says_which_learning_rate_came_closest():
    (region,) = regions("dense", [3, 10], sweep("adam"))
    assert (region.optimizer, region.problem, region.steps) == ("adam", "dense", 10_000)
    assert [c.period for c in region.cells[::9]] == [3, 10]
    assert [c.beta2 for c in region.cells[:9]] == list(BETA2)
    best = {c.best_alpha0 for c in region.cells if c.finite == "converged"}
    assert best <= {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0}
    assert all((c.distance < 0.01) == (c.finite == "converged") for c in region.cells)


def test_the_words_follow_the_numbers():
    for region in regions(
        "sparse", [4, 20, 40], sweep("acprop-paper", "rmsprop", "adam")
    ):
        for c in region.cells:
            assert c.asymptotic == ("converges" if c.drift > 0 else "diverges")
            lost = "undecided" if c.drift > 0 else "not converged"
            assert c.finite == ("converged" if c.distance < 0.01 else lost)


@pytest.mark.parametrize("beta1", [0.5, 0.7, 0.9])
def test_no_dense_cell_converges_against_its_drift(beta1):
    names = (
        "adam",
        "rmsprop",
        "adabelief",
        "rmsprop-centered",
        "acprop-paper",
        "adashift",
    )
    found = regions("dense", range(3, 43, 3), sweep(*names, beta1=beta1))
    assert sum(len(surprises(r)) for r in found) == 0
    assert any(c.asymptotic == "diverges" for c in found[0].cells)


def test_sparse_cells_that_converge_against_their_drift_are_named():
    """The first step reaches x* = 0, and at α0 = 1e-5 nothing leaves it in time."""
    adashift = Sweep((METHODS["adashift"],), 0.9, (0.43, 0.64, 0.9))
    (region,) = regions("sparse", [20, 40], adashift)
    named = surprises(region)
    assert [(c.period, c.beta2) for c in named] == [(20, 0.43), (40, 0.64)]
    assert all(c.drift < 0 and c.best_alpha0 == 1e-5 for c in named)
    finite, limit = share(region)
    assert finite - limit == pytest.approx(2 / 6)


def test_undecided_is_what_a_longer_run_decides():
    kinds = {}
    for steps in (1_000, 100_000):
        (region,) = regions(
            "dense",
            [10, 20],
            sweep("acprop-paper", takes_first_step=False, steps=steps),
        )
        kinds[steps] = [c.finite for c in region.cells]
        assert {c.asymptotic for c in region.cells} == {"converges"}
    assert "undecided" in kinds[1_000]
    assert set(kinds[100_000]) == {"converged"}


def test_another_start_changes_the_run_and_not_the_limit():
    (near,) = regions("dense", [20], sweep("rmsprop"), x0=-1.0)
    (far,) = regions("dense", [20], sweep("rmsprop"), x0=1.0)
    assert [c.drift for c in near.cells] == [c.drift for c in far.cells]
    assert share(near)[0] > share(far)[0]


@pytest.mark.parametrize(
    ("problem", "periods", "x0", "message"),
    [
        ("dense", [2], None, "period must be 3 or more on the dense problem, got 2"),
        ("dense", [3], 1.5, r"x0 must be in \[-1, 1\], got 1.5"),
        ("cosine", [3], None, "problem must be one of dense, sparse, got 'cosine'"),
        ("dense", [], None, "periods, beta2, alpha0 and optimizers must not be empty"),
    ],
)
def test_bad_input_is_refused(problem, periods, x0, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        regions(problem, periods, sweep("adam"), x0=x0)
