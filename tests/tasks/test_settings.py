"""Settings of tasks: what is no such value is refused, with its name."""

import re
from dataclasses import dataclass
from typing import Literal

import pytest

from acprop.tasks.settings import StepSettings, check_types, read


@dataclass(frozen=True)
class Made:
    n: int = 1
    few: int | None = None
    flag: bool = True
    kind: Literal["a", "b"] = "a"
    name: str = "x"
    share: float | None = 0.5


def test_plain_values_become_the_settings():
    assert read(Made, "toy", {"n": 3}) == Made(n=3, flag=True)


def test_a_setting_that_is_none_of_a_tasks_is_refused():
    message = "^a toy task's setting must be one of n, few, .*, got m$"
    with pytest.raises(ValueError, match=message):
        read(Made, "toy", {"m": 3})


@pytest.mark.parametrize("made", [Made(), Made(n=10**9, few=2), Made(share=None)])
def test_what_is_as_declared_passes(made):
    check_types(made)


BAD = {
    "n must be 1 or more, got 0": {"n": 0},
    "n must be a whole number, got 1.0": {"n": 1.0},
    "n must be a whole number, got True": {"n": True},
    "n must be a whole number, got None": {"n": None},
    "few must be 1 or more, got 0": {"few": 0},
    "flag must be True or False, got 1": {"flag": 1},
    "flag must be True or False, got None": {"flag": None},
    "flag must be True or False, got 'true'": {"flag": "true"},
    "kind must be one of a, b, got 'c'": {"kind": "c"},
    "name must be a string, got 3": {"name": 3},
    "share must be a number, got '1'": {"share": "1"},
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_not_as_declared_is_refused(message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        check_types(Made(**BAD[message]))


@pytest.mark.parametrize("value", [None, 1, 0.5])
def test_a_norm_to_clip_at_is_a_number_above_0_or_none(value):
    StepSettings(clip_norm=value)


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan"), True, "1"])
def test_no_norm_is_refused(value):
    with pytest.raises((TypeError, ValueError), match=r"^clip_norm must be "):
        StepSettings(clip_norm=value)
