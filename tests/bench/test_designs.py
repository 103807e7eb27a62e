"""Sobol points: the same for ever, and for any number of trials."""

import numpy as np
import pytest

from acprop.bench.designs import sobol
from acprop.bench.spaces import COORDINATES

# Of version sobol-1. Another number here is another design: every id would change.
FIRST = (0.13447722, 0.00345581, 0.96012108, 0.42565503, 0.45968610)
SEVENTH = (0.95351529, 0.23837165, 0.02776096, 0.84334228, 0.80242079)


def test_the_points_of_this_version_never_change():
    points = [tuple(point.values()) for point in sobol(8)]
    np.testing.assert_allclose(points[0], FIRST, atol=1e-8)
    np.testing.assert_allclose(points[6], SEVENTH, atol=1e-8)
    assert list(sobol(1)[0]) == list(COORDINATES)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16])
def test_more_trials_begin_with_the_same_points(n):
    assert sobol(n) == sobol(32)[:n]


def test_every_part_of_every_coordinate_gets_its_share():
    """What random points do not promise: 16 points, one in each sixteenth."""
    points = np.array([list(point.values()) for point in sobol(16)])
    for column in (points * 16).astype(int).T:
        assert sorted(column) == list(range(16))


def test_no_trials_are_refused():
    with pytest.raises(ValueError, match=r"^trials must be 1 or more, got 0$"):
        sobol(0)
