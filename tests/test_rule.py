"""The two values: what may be said with them, and what is refused."""

import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from math import inf, nan

import pytest

from acprop import rule
from acprop.rule import Convention, Rule, choose, convention, plain

NAMED = [
    rule.RMSPROP,
    rule.RMSPROP_CENTERED,
    rule.ADAM,
    rule.ADABELIEF,
    rule.ADASHIFT,
    rule.ACPROP,
    rule.ACPROP_PAPER,
    rule.ACPROP_BEFORE,
    rule.ACPROP_AFTER,
]
EVERY = list(rule.CONVENTIONS.values())
VALUES = [*NAMED, *EVERY]


@pytest.mark.parametrize(
    ("method", "is_centered", "is_asynchronous"),
    [
        (rule.RMSPROP, False, False),
        (rule.ADAM, False, False),
        (rule.ADASHIFT, False, True),
        (rule.RMSPROP_CENTERED, True, False),
        (rule.ADABELIEF, True, False),
        (rule.ACPROP_PAPER, True, True),
        (rule.ACPROP, True, True),
    ],
    ids=str,
)
def test_the_named_rules_fill_table_1(method, is_centered, is_asynchronous):
    """Table 1: ACProp is the cell that is centered and asynchronous."""
    cell = method.center is not None, method.delay > 0
    assert cell == (is_centered, is_asynchronous)


def test_no_two_named_rules_are_the_same():
    assert len(set(NAMED)) == len(NAMED)


def test_the_forms_of_acprop_differ_in_what_is_averaged_and_centered_on():
    """Algorithm 2 divides g_t; the appendix's theorem m_t; the default averages u_t."""
    assert rule.ACPROP_PAPER.average is None
    assert replace(rule.ACPROP_PAPER, average="before") == rule.ACPROP_BEFORE
    assert replace(rule.ACPROP_PAPER, average="after") == rule.ACPROP_AFTER
    changes = {"center": "average", "nesterov": True}
    assert replace(rule.ACPROP_AFTER, **changes) == rule.ACPROP


@pytest.mark.parametrize(
    ("method", "keeps_m", "keeps_average"),
    [
        (rule.ACPROP, False, True),
        (rule.ACPROP_AFTER, True, True),
        (replace(rule.ACPROP_AFTER, center=None), False, True),
        (rule.ACPROP_BEFORE, True, False),
        (rule.ACPROP_PAPER, True, False),
        (rule.ADAM, True, False),
    ],
    ids=str,
)
def test_a_rule_says_which_means_it_keeps(method, keeps_m, keeps_average):
    """The default keeps M and s: as many bytes as Adam."""
    assert (method.keeps_m, method.keeps_average) == (keeps_m, keeps_average)


def test_a_rule_is_equal_to_its_spelling_and_finds_the_same_entry():
    spelled = Rule(average=None, center="m", delay=1)
    assert spelled == rule.ACPROP_PAPER
    assert {rule.ACPROP_PAPER: "found"}[spelled] == "found"
    assert spelled != replace(spelled, delay=2)


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_cannot_be_changed(value):
    for field in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field.name, getattr(value, field.name))


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_survives_pickle_and_its_own_repr(value):
    assert pickle.loads(pickle.dumps(value)) == value
    assert eval(repr(value), {"Rule": Rule, "Convention": Convention, "inf": inf}) == (
        value
    )


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        (
            {"delay": -1},
            ValueError,
            "delay must be 0 or more, got -1",
        ),
        ({"delay": 1.0}, TypeError, "delay must be a whole number, got 1.0"),
        ({"delay": True}, TypeError, "delay must be a whole number, got True"),
        ({"delay": "1"}, TypeError, "delay must be a whole number, got '1'"),
        (
            {"average": "m"},
            ValueError,
            "average must be one of None, before, after, got 'm'",
        ),
        (
            {"center": "M"},
            ValueError,
            "center must be one of None, m, average, got 'M'",
        ),
        ({"nesterov": 1}, TypeError, "nesterov must be True or False, got 1"),
        (
            {"nesterov": True},
            ValueError,
            "nesterov must be False with average=None, got True; there is no average "
            "that could look ahead",
        ),
        (
            {"center": "average"},
            ValueError,
            'center must be None or "m" with average=None and delay=1, got '
            "'average'; it needs average=\"after\" and delay=1",
        ),
        (
            {"average": "before", "center": "average"},
            ValueError,
            "center must be None or \"m\" with average='before' and delay=1, got "
            "'average'; it needs average=\"after\" and delay=1",
        ),
        (
            {"average": "after", "center": "average", "delay": 2},
            ValueError,
            "center must be None or \"m\" with average='after' and delay=2, got "
            "'average'; it needs average=\"after\" and delay=1",
        ),
        (
            {"reduction": "sum"},
            ValueError,
            "reduction must be one of None, max, mean, got 'sum'",
        ),
    ],
    ids=str,
)
def test_a_rule_refuses_what_it_cannot_mean(changes, kind, message):
    with pytest.raises(kind) as refusal:
        replace(rule.ACPROP_PAPER, **changes)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"residual": "next"},
            "residual must be one of current, previous, got 'next'",
        ),
        (
            {"eps_placement": "under"},
            "eps_placement must be one of inside, outside, accumulated, got 'under'",
        ),
        (
            {"first_step": None},
            "first_step must be one of divide, sgd, one, got None",
        ),
        ({"bias_correction": 1}, "bias_correction must be True or False, got 1"),
        ({"eps": "1e-8"}, "eps must be a number, got '1e-8'"),
        ({"amsgrad": True}, "amsgrad must be one of raw, corrected, got True"),
        ({"eps": -1e-8}, "eps must be finite and 0 or more, got -1e-08"),
        ({"eps": inf}, "eps must be finite and 0 or more, got inf"),
        ({"eps": nan}, "eps must be finite and 0 or more, got nan"),
        ({"clip": 0.0}, "clip must be above 0, got 0.0; None switches it off"),
        ({"clip": nan}, "clip must be above 0, got nan; None switches it off"),
        ({"clip": True}, 'clip must be None, "t**0.25" or a number, got True'),
        (
            {"average": None},
            "nesterov must be False with average=None, got True; there "
            "is no average that could look ahead",
        ),
        (
            {"average": "before"},
            "center must be None or \"m\" with average='before' and delay=1, got "
            "'average'; it needs average=\"after\" and delay=1",
        ),
        (
            {"clip": "t**0.5"},
            "clip must be None, \"t**0.25\" or a number, got 't**0.5'",
        ),
    ],
    ids=str,
)
def test_a_convention_refuses_what_it_cannot_mean(changes, message):
    with pytest.raises((TypeError, ValueError), match="must") as refusal:
        replace(rule.GUARDED, **changes)
    assert str(refusal.value) == message


@pytest.mark.parametrize("clip", [None, "t**0.25", 1, 0.5, inf], ids=str)
def test_a_clip_is_none_or_a_number_or_grows(clip):
    assert replace(rule.GUARDED, clip=clip).clip == clip


def test_epsilon_may_be_zero():
    assert replace(rule.GUARDED, eps=0.0).eps == 0


def test_only_our_own_convention_has_a_bound():
    assert [c.name for c in EVERY if c.clip is not None] == ["guarded"]


def test_our_convention_is_that_of_torch_with_a_bound():
    """What an AdamW user knows of ε, bias correction and its place is true here."""
    changes = {"name": "torch", "eps": 1e-8, "amsgrad": "raw", "clip": None}
    # What is averaged torch's classes say themselves.
    changes |= {"average": None, "center": "m", "nesterov": False}
    assert replace(rule.GUARDED, **changes) == rule.TORCH


@pytest.mark.parametrize("value", EVERY, ids=lambda value: value.name)
def test_a_convention_that_is_told_nothing_means_its_own_rule(value):
    """Algorithm 2 in every publication; the default in ours."""
    expected = rule.ACPROP if value is rule.GUARDED else rule.ACPROP_PAPER
    assert choose(value) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"average": None}, rule.ACPROP_PAPER),
        ({"average": "before"}, rule.ACPROP_BEFORE),
        ({"average": "after"}, rule.ACPROP),
        (
            {"average": "after", "center": "m"},
            replace(rule.ACPROP_AFTER, nesterov=True),
        ),
        ({"nesterov": False}, replace(rule.ACPROP, nesterov=False)),
        ({"center": "m", "nesterov": False}, rule.ACPROP_AFTER),
        ({"center": None}, replace(rule.ACPROP, center=None)),
        ({"delay": 0}, Rule("after", "m", 0, nesterov=True)),
        ({"delay": 3}, Rule("after", "m", 3, nesterov=True)),
        (
            {"average": "before", "nesterov": True},
            Rule("before", "m", 1, nesterov=True),
        ),
        ({"reduction": "max"}, replace(rule.ACPROP, reduction="max")),
    ],
    ids=str,
)
def test_what_an_option_leaves_to_our_convention_fits_the_average(options, expected):
    """Look ahead and center belong to the average they were chosen with."""
    assert choose(rule.GUARDED, **options) == expected


@pytest.mark.parametrize("average", ["before", "after"])
def test_an_average_under_a_published_convention_looks_nowhere(average):
    assert choose(rule.PAPER, average=average) == Rule(average, "m", 1)


def test_the_published_versions_disagree_where_the_paper_says_nothing():
    """Algorithm 2, the authors' code and optax: one method, three fine prints."""
    changes = {"name": "authors", "residual": "current", "first_step": "sgd"}
    assert replace(rule.OPTAX, **changes) == rule.AUTHORS
    assert rule.PAPER.eps_placement == "inside"
    assert rule.AUTHORS.eps_placement == "accumulated"
    assert (rule.PAPER.first_step, rule.AUTHORS.first_step) == ("divide", "sgd")
    assert (rule.PAPER.bias_correction, rule.AUTHORS.bias_correction) == (False, True)


@pytest.mark.parametrize("name", rule.CONVENTIONS)
def test_a_convention_is_found_by_its_name(name):
    assert convention(name).name == name


@pytest.mark.parametrize("value", EVERY, ids=str)
def test_a_convention_stands_for_itself(value):
    assert convention(value) is value


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="must") as refusal:
        convention("gaurded")
    assert str(refusal.value) == (
        "convention must be one of guarded, paper, authors, optax, torch, "
        "torch-rmsprop, got 'gaurded'; did you mean guarded?"
    )


@pytest.mark.parametrize("value", [None, 1, rule.ACPROP_PAPER], ids=str)
def test_a_convention_of_another_kind_is_refused(value):
    with pytest.raises(TypeError) as refusal:
        convention(value)
    expected = f"convention must be a name or a Convention, got {value!r}"
    assert str(refusal.value) == expected


@pytest.mark.parametrize("value", EVERY, ids=str)
def test_a_named_convention_is_kept_as_its_name(value):
    assert plain(value) == value.name
    assert convention(plain(value)) is value


@pytest.mark.parametrize(
    "value",
    [
        replace(rule.GUARDED, clip=0.5),
        replace(rule.GUARDED, clip=None),
        replace(rule.PAPER, eps=1e-8),
        replace(rule.PAPER, clip="t**0.25"),
        replace(rule.AUTHORS, name="mine"),
    ],
    ids=str,
)
def test_an_altered_convention_is_kept_as_its_fields_and_found_again(value):
    """A changed field under an old name must not come back as the old convention."""
    kept = plain(value)
    assert isinstance(kept, dict)
    assert {type(field) for field in kept.values()} <= {str, float, bool, type(None)}
    assert convention(json.loads(json.dumps(kept))) == value


def test_fields_that_came_from_a_file_are_checked_like_any_other():
    kept = plain(replace(rule.GUARDED, clip=0.5))
    with pytest.raises(ValueError, match="clip must be above 0, got 0"):
        convention(kept | {"clip": 0})


def test_fields_that_no_convention_has_are_refused():
    kept = plain(replace(rule.GUARDED, clip=0.5)) | {"kappa": 0.1, "n0": 2.0}
    with pytest.raises(TypeError, match="unexpected keyword argument 'kappa'"):
        convention(kept)
