"""The counterexamples, written out by hand."""

import numpy as np
import pytest

from acprop.lab.problems import dense, sparse


def test_the_dense_gradients_are_those_of_equation_1():
    """Eq. 1: P·x if t mod P = 1, else -x, with t from 1."""
    problem = dense(3)
    assert [problem.cycle[t % 3] for t in range(1, 7)] == [3, -1, -1, 3, -1, -1]


def test_the_sparse_gradients_are_those_of_equation_2():
    """Eq. 2: P/2·x if t mod P = 1, -x if t mod P = P - 2, else 0."""
    problem = sparse(5)
    assert [problem.cycle[t % 5] for t in range(1, 6)] == [2.5, 0, -1, 0, 0]
    assert [sparse(4).cycle[t % 4] for t in range(1, 5)] == [2, -1, 0, 0]


@pytest.mark.parametrize("P", [3, 4, 7, 42])
def test_a_dense_period_sums_to_1_so_the_optimum_is_the_left_end(P):
    problem = dense(P)
    assert problem.period == P
    assert problem.cycle.sum() == 1
    assert problem.x_star == problem.lo == -1
    assert problem.lo < problem.x0 < problem.hi == 1


@pytest.mark.parametrize("P", [4, 5, 7, 42])
def test_a_sparse_period_sums_to_half_of_it_less_1_so_the_optimum_is_the_left_end(P):
    problem = sparse(P)
    assert problem.period == P
    assert problem.cycle.sum() == P / 2 - 1
    assert np.count_nonzero(problem.cycle) == 2
    assert problem.x_star == problem.lo == 0
    assert problem.lo < problem.x0 < problem.hi == 1


@pytest.mark.parametrize("P", [2, 0, -1])
def test_a_dense_period_below_3_is_refused(P):
    message = rf"^period must be 3 or more on the dense problem, got {P}$"
    with pytest.raises(ValueError, match=message):
        dense(P)


@pytest.mark.parametrize("P", [3, 0, -1])
def test_a_sparse_period_below_4_is_refused(P):
    """With P = 3 both gradients would fall on the same step."""
    message = rf"^period must be 4 or more on the sparse problem, got {P}$"
    with pytest.raises(ValueError, match=message):
        sparse(P)
