"""The methods outside the family, each against its own paper's algorithm."""

import numpy as np
import pytest

from acprop.lab.methods import METHODS, advance, method
from acprop.reference import Settings, State, step
from acprop.rule import ACPROP_PAPER, ADAM, PAPER

GRADIENTS = np.random.default_rng(0).normal(size=(50, 4))
H = Settings(beta1=0.8, beta2=0.95)


def walk(name: str) -> list[np.ndarray]:
    state, out = State(), []
    for g in GRADIENTS:
        state, d = advance(METHODS[name], PAPER, state, g, H)
        out.append(d)
    return out


def test_sgd_is_the_gradient():
    np.testing.assert_array_equal(walk("sgd"), GRADIENTS)


def test_avagrad_follows_its_paper():
    """Savarese et al. 2019, Algorithm 2: the preconditioner of step t is delayed."""
    m, v = np.zeros(4), np.zeros(4)
    for g, d in zip(GRADIENTS, walk("avagrad"), strict=True):
        m = 0.8 * m + 0.2 * g
        eta = 1 / (np.sqrt(v) + 0.1)
        expected = eta / np.linalg.norm(eta / np.sqrt(4)) * m
        np.testing.assert_allclose(d, expected, rtol=1e-13)
        v = 0.95 * v + 0.05 * g**2


def test_adopt_follows_its_paper():
    """Taniguchi et al. 2024, clipped: the first gradient only initialises v."""
    m, v = np.zeros(4), GRADIENTS[0] ** 2
    got = walk("adopt")
    np.testing.assert_array_equal(got[0], 0)
    for t, (g, d) in enumerate(zip(GRADIENTS[1:], got[1:], strict=True), 1):
        u = np.clip(g / np.maximum(np.sqrt(v), 1e-6), -(t**0.25), t**0.25)
        m = 0.8 * m + 0.2 * u
        np.testing.assert_allclose(d, m, rtol=1e-13)
        v = 0.95 * v + 0.05 * g**2


@pytest.mark.parametrize(
    ("name", "rule"), [("acprop-paper", ACPROP_PAPER), ("amsgrad", ADAM)]
)
def test_the_family_is_the_reference(name, rule):
    h = H._replace(amsgrad=name == "amsgrad")
    state = State()
    for g, d in zip(GRADIENTS, walk(name), strict=True):
        state, expected = step(rule, PAPER, state, g, h)
        np.testing.assert_array_equal(d, expected)


def test_an_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError,
        match=r"^optimizer must be one of acprop, .*; did you mean adam\?$",
    ):
        method("Adam")
