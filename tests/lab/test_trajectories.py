"""Single runs as records."""

import numpy as np
import pytest

from acprop.lab.limits import limits
from acprop.lab.methods import METHODS
from acprop.lab.problems import dense, sparse
from acprop.lab.simulate import trajectory
from acprop.lab.trajectories import (
    compare,
    delayed,
    over_a_few_periods,
    paper_trajectories,
    sparse_moments,
)

ONE = {
    "optimizers": ["acprop-paper"],
    "beta1": [0.9],
    "beta2": [0.9],
    "periods": [10],
    "alpha0": [0.1],
    "conventions": ["paper"],
    "steps": 500,
    "eta": 0.5,
}


def last(curves):
    return {line.label: line.y[-1] for line in curves.lines}


def test_figure_2_shows_who_goes_the_wrong_way():
    """x* = -1: the synchronous ones and n = 10 end at the other end."""
    for takes_first_step in (True, False):
        ends = last(paper_trajectories("dense", takes_first_step=takes_first_step))
        wrong = {label for label, x in ends.items() if x > 0.9}
        assert wrong == {"Adam", "RMSProp", "AdaBelief", "AdaShift, n = 10"}
        assert ends["ACProp"] < -0.95


def test_figure_5_shows_adashift_alone_at_the_wrong_end():
    ends = last(paper_trajectories("sparse", takes_first_step=False))
    assert ends["AdaShift, n = 1"] > 0.9
    assert max(ends["ACProp"], ends["Adam"], ends["AdaShift, n = 10"]) < 0.05


def test_a_period_starts_at_kp_where_s_is_smallest():
    s, g = over_a_few_periods(1, "").lines
    assert s.x == tuple(float(t) for t in range(11))
    assert np.argmin(s.y[:-1]) == 0
    assert int(np.argmax(g.y)) == 1
    settled = limits(dense(10), 0.9, 0.9).s
    scaled = [settled[t % 10] / settled.max() for t in range(11)]
    np.testing.assert_allclose(s.y, scaled, rtol=1e-9)


def test_the_moments_are_those_of_a_long_run():
    curves = sparse_moments(20, 0.9, 0.5)
    run = trajectory(
        sparse(20), METHODS["acprop-paper"], beta1=0.9, beta2=0.5, alpha0=0.1, steps=800
    )
    assert curves.lines[1].label == "s_t (ACProp)"
    np.testing.assert_allclose(curves.lines[1].y[1:21], run.s[-20:], rtol=1e-9)


def test_labels_name_what_varies():
    several = compare(
        "dense", **ONE | {"optimizers": ["acprop-paper", "adam"], "beta2": [0.5, 0.9]}
    )
    assert [line.label for line in several.lines] == [
        "acprop-paper, β2 = 0.5",
        "acprop-paper, β2 = 0.9",
        "adam, β2 = 0.5",
        "adam, β2 = 0.9",
    ]


def test_every_method_sees_the_same_draw_of_the_stochastic_problem():
    pair = compare("stochastic", **ONE | {"conventions": ["paper", "paper"]})
    assert pair.lines[0].y == pair.lines[1].y
    other = compare("stochastic", **ONE, seed=1)
    assert other.lines[0].y != pair.lines[0].y


def test_the_absolute_value_is_walked_down_from_100():
    curves = compare("absolute", **ONE | {"optimizers": ["sgd"], "alpha0": [1.0]})
    expected = 100 - sum(t**-0.5 for t in range(1, 501))
    assert curves.lines[0].y[-1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("problem", "changes", "message"),
    [
        ("dens", {}, "problem must be one of dense, sparse, stochastic, absolute"),
        ("dense", {"x0": 2.0}, r"x0 must be in \[-1, 1\], got 2"),
        ("stochastic", {"x0": 2.0}, r"x0 must be in \[-1, 1\], got 2"),
        ("stochastic", {"delta": 0.0}, "delta must be above 0"),
        ("dense", {"delay": 0}, "delay must be 1 or more for acprop-paper, got 0"),
        ("dense", {"steps": 0}, "steps must be 1 or more, got 0"),
        ("dense", {"eta": -1.0}, "eta must be finite and 0 or more, got -1.0"),
        ("dense", {"eps": -1.0}, "eps must be finite and 0 or more, got -1.0"),
    ],
)
def test_bad_input_is_refused(problem, changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        compare(problem, **ONE | changes)


def test_a_method_without_a_delay_cannot_have_another():
    with pytest.raises(ValueError, match=r"^delay must be left out for adam"):
        delayed("adam", 2)
