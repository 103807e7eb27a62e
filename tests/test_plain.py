"""Plain values: what JSON can say."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acprop.plain import canonical, jsonable, to_line

VALUES = st.recursive(
    st.none() | st.booleans() | st.text() | st.integers(-9, 9) | st.floats(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_every_value_becomes_one_line_of_strict_json(value):
    line = to_line(value)
    assert "\n" not in line
    refused = pytest.fail
    assert json.loads(line, parse_constant=refused) == jsonable(value)


def test_nan_and_infinity_become_null_wherever_they_are():
    assert jsonable({"a": (1.0, math.nan), "b": [math.inf]}) == {
        "a": [1.0, None],
        "b": [None],
    }


def test_equal_values_have_one_text():
    assert canonical({"b": 1, "a": (2,)}) == canonical({"a": [2.0], "b": 1.0})
    assert canonical({"flag": True}) != canonical({"flag": 1})


@pytest.mark.parametrize("value", [math.nan, {"a": math.inf}, {"a": object()}])
def test_what_json_lacks_has_no_canonical_text(value):
    with pytest.raises((TypeError, ValueError)):
        canonical(value)
