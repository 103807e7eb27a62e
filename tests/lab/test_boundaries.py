"""Exact borders: against closed forms, against the drift on both sides, pockets too."""

import numpy as np
import pytest

from acprop.lab.boundaries import LOGITS, boundary
from acprop.lab.drift import drift
from acprop.lab.methods import METHODS
from acprop.lab.problems import periodic
from acprop.rule import PAPER


def find(problem, name, beta1, periods, eps=0.0):
    return boundary(problem, METHODS[name], beta1=beta1, periods=periods, eps=eps)


@pytest.mark.parametrize("P", [7, 10, 25, 100, 1000])
def test_adashifts_sparse_border_is_its_closed_form(P):
    """v⁺/v⁻ = P²/4 has the root β2 = (2/P)^(4/(P-6)); to 1e-10."""
    (crossing,) = find("sparse", "adashift", 0.9, [P]).crossings
    assert crossing.lowest == "diverges"
    assert crossing.beta2 == pytest.approx([(2 / P) ** (4 / (P - 6))], abs=1e-10)


CASES = [
    ("dense", "adam", 0.9),
    ("dense", "adam", 0.7),
    ("dense", "rmsprop", 0.9),
    ("dense", "adabelief", 0.9),
    ("sparse", "acprop-paper", 0.5),
]


@pytest.mark.parametrize(("problem", "name", "beta1"), CASES)
def test_the_drift_changes_sign_at_every_border_and_nowhere_else(problem, name, beta1):
    periods = [5, 8, 10, 20, 60]
    for crossing in find(problem, name, beta1, periods).crossings:
        at = periodic(problem, crossing.period)

        def sign(beta2, at=at):
            value = drift(at, METHODS[name], PAPER, beta1=beta1, beta2=beta2, eps=0.0)
            return np.sign(np.where(np.abs(value) < 1e-11, 0, value))

        for b in crossing.beta2:
            assert sign(b - 1e-7) == -sign(b + 1e-7)
        # a grid of its own: between two borders the sign never changes
        grid = 1 / (1 + np.exp(-np.linspace(-15, 15, 1777)))
        away = [b for b in grid if all(abs(b - c) > 1e-7 for c in crossing.beta2)]
        passed = np.searchsorted(crossing.beta2, away)
        first = 1 if crossing.lowest == "converges" else -1
        expected = first * (-1.0) ** passed
        got = sign(np.array(away))
        assert np.all((got == expected) | (got == 0))


def test_adam_has_a_pocket_at_small_beta2():
    """Convergence returns below β2 = 0.0649 at P = 10, β1 = 0.9."""
    (crossing,) = find("dense", "adam", 0.9, [10]).crossings
    assert crossing.lowest == "converges"
    assert crossing.beta2 == pytest.approx([0.06488464, 0.77465687], abs=1e-7)


def test_a_pocket_between_two_samples_is_found(monkeypatch):
    """With only nine samples the pocket of the drift lies between two of them."""
    (fine,) = find("dense", "adam", 0.7, [5]).crossings
    assert len(fine.beta2) == 2
    low, high = (float(np.log(b / (1 - b))) for b in fine.beta2)
    width = (high - low) * 1.4
    samples = np.arange(low - 0.2 * width - 3 * width, 20, width)
    monkeypatch.setattr("acprop.lab.boundaries.LOGITS", samples)
    (coarse,) = find("dense", "adam", 0.7, [5]).crossings
    assert coarse.beta2 == pytest.approx(fine.beta2, abs=1e-10)


def test_a_method_that_always_converges_has_no_border():
    for name in ("acprop-paper", "adashift", "amsgrad", "sgd"):
        for crossing in find("dense", name, 0.9, [3, 10, 42]).crossings:
            assert (crossing.lowest, crossing.beta2) == ("converges", ())


def test_both_ends_of_the_interval_are_searched():
    assert 1 / (1 + np.exp(-LOGITS[0])) < 2e-9
    assert 1 / (1 + np.exp(LOGITS[-1])) < 2e-9


@pytest.mark.slow
def test_the_default_has_no_border_on_the_dense_problem_and_one_on_the_sparse():
    """Its state has no closed form; the border is found all the same."""
    dense, sparse = (
        boundary(kind, METHODS["acprop"], beta1=0.9, periods=(20,))
        for kind in ("dense", "sparse")
    )
    assert [(c.lowest, c.beta2) for c in dense.crossings] == [("converges", ())]
    [crossing] = sparse.crossings
    for beta2 in crossing.beta2[-1:]:
        below, above = (
            drift(
                periodic("sparse", 20),
                METHODS["acprop"],
                PAPER,
                beta1=0.9,
                beta2=beta2 + shift,
            )
            for shift in (-1e-3, 1e-3)
        )
        assert below < 0 < above
