"""What is kept of arrays that become curves."""

import numpy as np

from acprop.lab.curves import POINTS, curves, horizons, over_steps


def test_a_panel_holds_plain_numbers():
    """Records are JSON, which has no numpy."""
    made = curves(
        "n", "t", ("a", "b"), [("x", np.arange(3), np.array([0.5, 1.5, 2.5]))], log="y"
    )
    (line,) = made.lines
    assert (line.x, line.y) == ((0.0, 1.0, 2.0), (0.5, 1.5, 2.5))
    assert {type(value) for value in (*line.x, *line.y)} == {float}
    assert (made.x_scale, made.y_scale, made.about) == ("linear", "log", {})


def test_the_first_hundred_steps_are_kept_whole():
    _, t, y = over_steps("x", np.arange(10 * POINTS))
    assert t == [*range(1, 101), *range(101, 10 * POINTS, 10)]
    assert y.tolist() == [at - 1 for at in t]


def test_a_short_line_is_kept_whole():
    _, t, _ = over_steps("x", np.arange(POINTS))
    assert t == list(range(1, POINTS + 1))


def test_horizons_are_evenly_spaced_in_the_logarithm_and_never_repeat():
    T = horizons(1, 10_000, 5)
    assert T.tolist() == [1, 10, 100, 1000, 10_000]
    assert horizons(1, 4, 60).tolist() == [1, 2, 3, 4]
