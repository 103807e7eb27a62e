"""Settings of tasks: what is no such value is refused, with its name."""

import re
from dataclasses import dataclass

import pytest

from acprop.tasks.settings import check_clip_norm, check_counts, check_flags, read


@dataclass(frozen=True)
class Made:
    n: int | None = 1
    flag: bool = True


def test_plain_values_become_the_settings():
    assert read(Made, "toy", {"n": 3}) == Made(n=3, flag=True)


def test_a_setting_that_is_none_of_a_tasks_is_refused():
    message = "^a toy task's setting must be one of n, flag, got m$"
    with pytest.raises(ValueError, match=message):
        read(Made, "toy", {"m": 3})


@pytest.mark.parametrize("n", [1, 10**9])
def test_a_count_is_a_whole_number_from_1_on(n):
    check_counts(Made(n), ["n"])


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        (0, ValueError, "n must be 1 or more, got 0"),
        (1.0, TypeError, "n must be a whole number, got 1.0"),
        (True, TypeError, "n must be a whole number, got True"),
        (None, TypeError, "n must be a whole number, got None"),
    ],
)
def test_no_count_is_refused(n, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        check_counts(Made(n), ["n"])


def test_an_optional_count_may_be_none():
    check_counts(Made(None), ["n"], optional=["n"])


@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_what_only_looks_like_a_flag_is_refused(value):
    with pytest.raises(TypeError, match=r"^flag must be True or False, got "):
        check_flags(Made(flag=value), ["flag"])


@pytest.mark.parametrize("value", [None, 1, 0.5])
def test_a_norm_to_clip_at_is_a_number_above_0_or_none(value):
    check_clip_norm(value)


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan"), True, "1"])
def test_no_norm_is_refused(value):
    with pytest.raises((TypeError, ValueError), match=r"^clip_norm must be "):
        check_clip_norm(value)
