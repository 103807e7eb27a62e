"""|x| from 100: how the steps grow, where they are longest, and who leaps."""

import numpy as np
import pytest

from acprop.lab.absolute import OPTIMIZERS, STEPS, X0, descend, largest_step, records
from acprop.rule import AUTHORS, GUARDED, PAPER


def by_hand(lr: float, steps: int) -> list[float]:
    """ACProp as the authors wrote it, without ε: an SGD step, then g/√ŝ_{t-1}."""
    x, m, s, out = X0, 0.0, 0.0, [X0]
    for t in range(1, steps + 1):
        g = float(np.sign(x))
        m = 0.9 * m + 0.1 * g
        den = 1.0 if t == 1 else (s / (1 - 0.999 ** (t - 1))) ** 0.5
        x -= lr * g / den
        s = 0.999 * s + 0.001 * (g - m) ** 2
        out.append(x)
    return out


def test_a_descent_is_a_plain_loop():
    run = descend("acprop-paper", learning_rates=(1e-2, 1e-1), steps=1200)
    np.testing.assert_allclose(run.x[:, 0], by_hand(1e-2, 1200)[1:], rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        run.x[:400, 1], by_hand(1e-1, 400)[1:], rtol=0, atol=1e-8
    )


def test_sgd_walks_at_its_learning_rate():
    run = descend("sgd", learning_rates=(0.5,), steps=250)
    assert np.argmax(run.x <= 0) + 1 == 200
    np.testing.assert_allclose(run.step_sizes[:200], 0.5)


def test_algorithm_2_leaps_at_its_first_step_and_the_authors_do_not():
    """√(s_0 + ε) = 1e-8."""
    leap = descend("acprop-paper", convention=PAPER, steps=1).step_sizes[0]
    np.testing.assert_allclose(leap, [1e3, 1e6], rtol=1e-9)
    calm = descend("acprop-paper", convention=AUTHORS, steps=1).step_sizes[0]
    np.testing.assert_allclose(calm, [1e-5, 1e-2], rtol=1e-9)


def test_a_guarded_step_is_at_most_the_fourth_root_of_its_number():
    """In learning rates; while the gradient is constant nothing else bounds it."""
    rates = (1e-2, 1e-1)
    run = descend("acprop-paper", convention=GUARDED, learning_rates=rates, steps=2500)
    bound = np.arange(1, 2501)[:, None] ** 0.25 * rates
    assert (run.step_sizes <= bound * (1 + 1e-9)).all()
    assert (np.abs(run.x[-1]) < 0.2).all()


BETAS = [(0.9, 0.99), (0.5, 0.99), (0.9, 0.5), (0.9, 0.9)]


@pytest.mark.parametrize(("beta1", "beta2"), BETAS)
def test_the_longest_step_does_not_depend_on_the_learning_rate(beta1, beta2):
    """Steps grow by 1/r, so the last is 1 - r of their sum; one or two more follow."""
    rates = (1e-6, 3e-6, 1e-5)
    run = descend(
        "acprop-paper", learning_rates=rates, beta1=beta1, beta2=beta2, steps=2600
    )
    r = max(beta2**0.5, beta1)
    share = run.step_sizes.max(axis=0) / largest_step(beta1, beta2)
    assert (share > 0.97).all()
    assert (share < 1.02 / r**2).all()


def test_the_longest_step_comes_at_the_valley_and_then_they_shrink():
    """The paper: "a large step at the initial phase"."""
    run = descend("acprop-paper", learning_rates=(1e-2,), steps=3000)
    longest = int(run.step_sizes.argmax()) + 1
    assert longest - (np.argmax(run.x <= 0) + 1) in (0, 1)
    assert run.step_sizes[-100:].max() < 0.2 * run.step_sizes.max()


def test_another_slope_may_take_the_place_of_the_sign():
    run = descend("sgd", learning_rates=(0.5,), steps=3, slope=lambda x: x)
    np.testing.assert_allclose(run.x[:, 0], [50, 25, 12.5])


def test_the_records_are_the_papers_four_panels():
    panels = records()
    assert {p.name for p in panels} == {"absolute"}
    assert len({p.title for p in panels}) == 4
    for panel in panels:
        assert tuple(line.label for line in panel.lines) == OPTIMIZERS
        assert max(panel.lines[0].x) == STEPS
    x, sizes = panels[2], panels[3]
    assert x.lines[0].y[0] == X0
    assert abs(x.lines[0].y[-1]) < 0.01
    longest = max(sizes.lines[0].y)
    assert longest == descend("acprop-paper", steps=1000).step_sizes[:, 1].max()
