"""What is kept of an array that becomes a line."""

import numpy as np

from acprop.lab.lines import POINTS, every, horizons, line, thinned


def test_a_line_holds_plain_numbers():
    """Records are JSON, which has no numpy."""
    made = line("x", np.arange(3), np.array([0.5, 1.5, 2.5], np.float32))
    assert made.x == (0.0, 1.0, 2.0)
    assert made.y == (0.5, 1.5, 2.5)
    assert {type(value) for value in (*made.x, *made.y)} == {float}


def test_the_first_hundred_steps_are_kept_whole():
    made = thinned("x", np.arange(1000), 300)
    assert made.x == (*range(1, 101), 301, 601, 901)
    assert made.y == tuple(x - 1 for x in made.x)


def test_no_line_has_more_points_than_a_figure_shows():
    for steps in (1, POINTS, POINTS + 1, 10**6):
        assert steps / every(steps) <= POINTS


def test_horizons_are_evenly_spaced_in_the_logarithm_and_never_repeat():
    T = horizons(1, 10_000, 5)
    assert T.tolist() == [1, 10, 100, 1000, 10_000]
    assert horizons(1, 4, 60).tolist() == [1, 2, 3, 4]
