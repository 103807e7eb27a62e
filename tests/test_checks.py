"""Every check lets good values pass as they are and names what is wrong with others."""

import math

import numpy as np
import pytest

from acprop import checks

GOOD = [
    (checks.number, math.inf),
    (checks.number, np.float32(0.5)),
    (checks.finite, -1),
    (checks.positive, 1e-300),
    (checks.not_negative, 0),
    (checks.decay, 0.0),
    (checks.between, 0.5),
    (checks.integer, 1),
    (checks.flag, False),
]
BAD = [
    (checks.number, True, TypeError, "x must be a number, got True"),
    (checks.number, "1", TypeError, "x must be a number, got '1'"),
    (checks.finite, math.nan, ValueError, "x must be finite, got nan"),
    (checks.positive, 0, ValueError, "x must be finite and above 0, got 0"),
    (checks.positive, math.inf, ValueError, "x must be finite and above 0, got inf"),
    (checks.not_negative, -1, ValueError, "x must be finite and 0 or more, got -1"),
    (checks.decay, 1, ValueError, r"x must be in \[0, 1\), got 1"),
    (checks.decay, math.nan, ValueError, r"x must be in \[0, 1\), got nan"),
    (checks.between, 0, ValueError, "x must be between 0 and 1, got 0"),
    (checks.integer, 0, ValueError, "x must be 1 or more, got 0"),
    (checks.integer, 1.0, TypeError, "x must be a whole number, got 1.0"),
    (checks.integer, True, TypeError, "x must be a whole number, got True"),
    (checks.flag, 1, TypeError, "x must be True or False, got 1"),
]


@pytest.mark.parametrize(("check", "value"), GOOD)
def test_a_good_value_passes(check, value):
    assert check("x", value) == value


@pytest.mark.parametrize(("check", "value", "error", "message"), BAD)
def test_a_bad_value_is_named(check, value, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        check("x", value)


def test_the_least_whole_number_can_be_chosen():
    assert checks.integer("x", 0, least=0) == 0
    with pytest.raises(ValueError, match="x must be 3 or more, got 2"):
        checks.integer("x", 2, least=3)


def test_a_value_must_be_among_those_that_there_are():
    assert checks.one_of("x", "a", ("a", "b")) == "a"
    with pytest.raises(ValueError, match="x must be one of a, b, got 'c'"):
        checks.one_of("x", "c", ("a", "b"))


def test_of_many_names_only_the_one_that_was_meant_is_told():
    names = [f"claim-{i}" for i in range(100, 200)]
    with pytest.raises(
        ValueError, match=r"^x must be one of 100 names \(claim-"
    ) as told:
        checks.one_of("x", "clam-150", names)
    assert str(told.value).endswith("got 'clam-150'; did you mean claim-150?")
    assert len(str(told.value)) < 120
