"""Every run of ACProp has a name that says which."""

from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from acprop import rule
from acprop.records import RunRecord, read
from acprop.report.statistics import arms_of
from acprop.report.studies import gather
from acprop.report.style import OPTIMIZERS, display, optimizer_of
from acprop.report.tables import study_table
from acprop.report.variants import PAPER_FIRST, first_of, variant

from .made_runs import run, seeds, study

RESULTS = Path(__file__).parents[2] / "results"
NEW = {"average": "convention", "nesterov": "convention", "center": "convention"}


def label(**settings):
    return display(variant("acprop", settings))


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "ACProp (default)"),
        (NEW | {"convention": "guarded"}, "ACProp (default)"),
        (NEW | {"convention": "paper"}, "ACProp (paper)"),
        (NEW | {"convention": "authors"}, "ACProp (paper), authors' code"),
        (NEW | {"convention": "optax"}, "ACProp (paper), optax"),
        (NEW | {"average": None}, "ACProp, no average"),
        (NEW | {"average": "before"}, "ACProp, average before"),
        (NEW | {"average": "after", "center": "m", "nesterov": False},
         "ACProp, average after"),
        (NEW | {"nesterov": False}, "ACProp, no look-ahead"),
        (NEW | {"center": None}, "ACProp, average after, look-ahead, uncentered"),
        (NEW | {"convention": "authors", "average": "before"},
         "ACProp, average before, authors"),
    ],
)  # fmt: skip
def test_a_run_is_named_by_what_it_ran(settings, name):
    assert label(**settings) == name


@pytest.mark.parametrize(
    ("numerator", "momentum", "convention", "name"),
    [
        ("convention", 0.0, "guarded", "ACProp, average before"),
        ("m", 0.0, "guarded", "ACProp, average before"),
        ("g", 0.0, "guarded", "ACProp, no average"),
        ("g", 0.9, "guarded", "ACProp, average after"),
        ("convention", 0.0, "authors", "ACProp (paper), authors' code"),
        ("g", 0.0, "paper", "ACProp (paper)"),
    ],
)
def test_records_of_before_are_named_by_what_they_ran(
    numerator, momentum, convention, name
):
    """Then "convention" meant m under the guarded convention."""
    old = {"numerator": numerator, "momentum": momentum, "convention": convention}
    assert label(**old) == name


@pytest.mark.parametrize("convention", ["guarded", "paper", "authors", "optax"])
def test_what_is_left_to_the_convention_is_what_the_library_makes_of_it(convention):
    """`acprop.rule.choose` decides; two settings with one rule have one name."""
    named = {}
    averages = ("convention", *rule.AVERAGES)
    for average, nesterov, center in product(
        averages, ("convention", False, True), ("convention", None, "m")
    ):
        given = {"average": average, "nesterov": nesterov, "center": center}
        with suppress(ValueError):  # a look ahead without an average
            made = rule.choose(rule.CONVENTIONS[convention], **given)
            named.setdefault(made, set()).add(label(convention=convention, **given))
    assert len(named) >= 10
    assert {len(names) for names in named.values()} == {1}
    assert len(set.union(*named.values())) == len(named)


def test_another_optimizer_is_itself():
    assert variant("adam", {"convention": "authors"}) == "adam"


def test_a_described_variant_has_the_colour_of_what_it_begins_with():
    assert optimizer_of("ACProp, average before, authors") == "acprop-before"
    assert optimizer_of("ACProp (paper), authors' code") == "acprop-authors"
    assert optimizer_of("ACProp (default), lr = 0.1") == "acprop"


def test_no_record_of_the_second_edition_is_called_the_default():
    """They ran before the present default was one."""
    folders = ("default", "gan", "nmt", "rl", "small-state", "vision")
    for path in [p for name in folders for p in (RESULTS / name).glob("*.jsonl")]:
        runs = [r for r in read(path) if isinstance(r, RunRecord)]
        old = [r for r in runs if "numerator" in r.settings]
        names = {variant(r.optimizer, r.settings) for r in old}
        assert "acprop" not in names, path
        assert names <= OPTIMIZERS.keys(), path


def test_the_reference_is_the_default_where_there_are_several():
    names = ["adam", "acprop-paper", "acprop", "acprop-before"]
    assert first_of(names) == "acprop"
    assert first_of(names, PAPER_FIRST) == "acprop-paper"
    assert first_of(["adam", "ACProp, average after, uncentered"]).endswith(
        "uncentered"
    )
    assert first_of(["adam", "sgd"]) is None


def test_variants_are_rows_of_their_own_and_the_default_is_the_reference():
    """Before, validation chose one of them, and both were just ACProp."""
    runs = [
        *seeds("acprop", (0.7, 0.72, 0.74), convention="authors"),
        *seeds("acprop", (0.6, 0.63, 0.63), average="after"),
        *seeds("adam", (0.5, 0.53, 0.53)),
    ]
    table = study_table(gather(study(runs), runs))
    assert [row[0] for row in table.rows] == [
        "ACProp (paper), authors' code", "ACProp (default)", "Adam",
    ]  # fmt: skip
    assert any(c.endswith("difference to ACProp (default)") for c in table.columns)
    assert "convention" not in table.columns  # the name says it
    column = table.columns.index("difference to ACProp (default)")
    assert table.rows[1][column] == "reference"


def test_settings_that_the_name_stands_for_do_not_name_an_arm():
    (arm,) = arms_of([run(average="before", amsgrad=True)])
    assert arm.written.keys() >= {"lr", "amsgrad"}
    assert "average" not in arm.written
    assert arm.settings["average"] == "before"


def test_a_contestant_is_named_by_its_runs():
    """Its name in old records does not say what the default was."""
    runs = seeds("acprop", (0.7, 0.72), numerator="convention", momentum=0.0)
    names = {"acprop": tuple(r.run for r in runs), "acprop convention=optax": ()}
    record = study(runs, ruleset="default", contestants=names)
    assert gather(record, runs).labels == {
        "acprop": "ACProp, average before",
        "acprop convention=optax": "ACProp (paper), optax",
    }
