"""The two values: what may be said with them, and what is refused."""

import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from math import inf, nan

import pytest

from acprop import rule
from acprop.rule import Convention, Rule, convention, plain

NAMED = [
    rule.RMSPROP,
    rule.RMSPROP_CENTERED,
    rule.ADAM,
    rule.ADABELIEF,
    rule.ADASHIFT,
    rule.ACPROP_PAPER,
    rule.ACPROP_BEFORE,
]
EVERY = list(rule.CONVENTIONS.values())
VALUES = [*NAMED, *EVERY]


@pytest.mark.parametrize(
    ("method", "centered", "is_asynchronous"),
    [
        (rule.RMSPROP, False, False),
        (rule.ADAM, False, False),
        (rule.ADASHIFT, False, True),
        (rule.SDPROP, True, False),
        (rule.ADABELIEF, True, False),
        (rule.ACPROP_PAPER, True, True),
    ],
    ids=str,
)
def test_the_named_rules_fill_table_1(method, centered, is_asynchronous):
    """Table 1: ACProp is the cell that is centered and asynchronous."""
    assert (method.centered, method.delay > 0) == (centered, is_asynchronous)


def test_no_two_named_rules_are_the_same():
    assert len(set(NAMED)) == len(NAMED)


def test_acprop_divides_the_gradient_and_its_momentum_form_the_mean():
    """Algorithm 2's numerator is g_t; the appendix's theorem has m_t."""
    assert rule.ACPROP_PAPER.numerator == "g"
    assert replace(rule.ACPROP_PAPER, numerator="m") == rule.ACPROP_BEFORE


def test_a_rule_is_equal_to_its_spelling_and_finds_the_same_entry():
    spelled = Rule(centered=True, delay=1, numerator="g")
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
            {"numerator": "v"},
            ValueError,
            "numerator must be one of g, m, got 'v'",
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
    # Of the numerator torch's classes say themselves what it is.
    changes = {"name": "torch", "eps": 1e-8, "amsgrad": "raw", "clip": None}
    changes |= {"numerator": "g"}
    assert replace(rule.GUARDED, **changes) == rule.TORCH


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
        "convention must be one of 'guarded', 'paper', 'authors', 'optax', 'torch', "
        "'torch-rmsprop', got 'gaurded'"
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


def test_fields_of_the_first_edition_are_refused_with_a_remedy():
    kept = plain(replace(rule.GUARDED, clip=0.5)) | {"kappa": 0.1, "n0": 2.0}
    with pytest.raises(ValueError, match=r"got kappa, n0; .* pass \"guarded\"$"):
        convention(kept)
