"""The start page's sentences and its picture of the default against AdamW."""

from dataclasses import replace

import pytest

from acprop.records import Verdict
from acprop.report.claim_groups import group_claims
from acprop.report.comparisons import compare_pairs
from acprop.report.headline import STATEMENTS, effects, findings, reach
from acprop.report.results import compared_arms
from acprop.report.studies import gather
from acprop.report.study_pages import StudySection

from .made_runs import seeds, study

OURS = (0.70, 0.72, 0.74, 0.71, 0.73)
BELOW = tuple(v - 0.1 + 0.001 * i for i, v in enumerate(OURS))
ABOVE = tuple(v + 0.1 + 0.001 * i for i, v in enumerate(OURS))


def section(
    theirs=BELOW,
    *,
    rival="adamw",
    scale="small",
    n=5,
    title="VGG-11: which",
    **changes,
):
    runs = [*seeds("acprop", OURS[:n]), *seeds(rival, theirs[:n])]
    runs = [replace(one, scale=scale) for one in runs]
    found = gather(study(runs, scale=scale, title=title, **changes), runs)
    return StudySection(found, compared=tuple(compared_arms(found)))


def claim(name, verdict, owner="paper", kind="central"):
    return Verdict(name, owner, kind, "Lemma 1", "it is so", verdict, "seen", {}, 0.1)


def test_an_effect_is_in_percent_of_adamws_error():
    """(y - AdamW's) / (1 - AdamW's mean), with the interval of the table."""
    one = section()
    (effect,) = effects({"page": [one]})
    arms = {c.arm.optimizer: c.arm for c in one.compared}
    (theirs,) = compare_pairs([(arms["acprop"], arms["adamw"])], "test_accuracy")
    mean = sum(v - 0.1 for v in BELOW) / 5  # made_runs tests 0.1 below
    for ours, known in (
        (effect.mean, "mean"),
        (effect.low, "low"),
        (effect.high, "high"),
    ):
        expected = 100 * getattr(theirs.difference, known) / (1 - mean)
        assert ours == pytest.approx(expected)
    assert effect.title == "VGG-11"
    assert (effect.verdict, effect.n) == ("better", 5)


@pytest.mark.parametrize(
    "no",
    [{"rival": "adam"}, {"scale": "smoke"}, {"scale": "search"}, {"n": 4}],
    ids=str,
)
def test_what_the_protocol_does_not_rank_is_no_effect(no):
    assert effects({"page": [section(**no)]}) == []


def test_of_a_study_its_first_evidence_counts_and_the_largest_effect_comes_first():
    pages = {
        "a": [section(ABOVE, title="A"), section(title="A")],
        "b": [section(title="B")],
    }
    assert [(e.title, e.verdict) for e in effects(pages)] == [
        ("B", "better"),
        ("A", "worse"),
    ]


@pytest.mark.parametrize(("scale", "counted"), [("small", {"New"}), ("smoke", {"Old"})])
def test_a_study_counts_until_one_that_may_rank_takes_its_place(scale, counted):
    old = section(ABOVE, title="Old", name="old")
    new = section(title="New", name="new", scale=scale, replaces=("old",))
    pages = {"old": [old], "new": [new]}
    found = effects(pages)
    assert {effect.title for effect in found} == counted
    said = " ".join(one.text for one in findings(found, pages, [], {}))
    assert ("AdamW (Old)" in said) == (counted == {"Old"})


def test_runs_that_two_studies_share_count_once():
    pages = {name: [section(ABOVE, title=name, name=name)] for name in ("one", "two")}
    said = [f.text for f in findings([], pages, [], {})]
    assert said == ["1 method was compared with it. Better on some task: AdamW (one)."]


@pytest.mark.parametrize(("most", "end"), [(0.4, 1), (7.2, 10), (48, 50), (400, 100)])
def test_an_axis_ends_at_a_round_number(most, end):
    (effect,) = effects({"page": [section()]})
    assert reach([replace(effect, low=-most, high=most / 2)]) == end


def test_sentences_are_made_from_records():
    pages = {"a": [section(title="A")], "b": [section(ABOVE, title="B")]}
    claims = [
        claim("one", "holds"),
        claim("two", "fails", kind="constant"),
        claim("three", "undecided", kind="empirical"),
    ]
    owners = group_claims(claims)
    said = [f.text for f in findings(effects(pages), pages, owners, {})]
    assert said == [
        "ACProp (default) against AdamW on 2 tasks, five seeds or more each: better on "
        "1 (A), worse on 1 (B), no difference shown on none.",
        "1 method was compared with it. Better on some task: AdamW (B).",
        "Of the paper’s 2 statements of theory 1 holds, 1 fails and 0 stay undecided; "
        "of its central results none fails. Of its 1 sentences about training 0 hold, "
        "0 fail and 1 stays undecided, at the scale that was run.",
    ]


def test_a_sentence_about_claims_is_shown_only_while_their_verdicts_are_those():
    for text, needed in STATEMENTS:
        claims = {name: claim(name, verdict) for name, verdict in needed.items()}
        assert text in [f.text for f in findings([], {}, [], claims)]
        for name in needed:
            other = {**claims, name: claim(name, "undecided")}
            assert findings([], {}, [], other) == []
            assert (
                findings([], {}, [], {n: c for n, c in claims.items() if n != name})
                == []
            )


def test_without_records_nothing_is_found():
    assert findings([], {}, [], {}) == []
