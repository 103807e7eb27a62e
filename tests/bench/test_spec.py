"""A run's id is what decides it, and nothing else."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acprop.bench.spec import RunSpec

SPEC = RunSpec("vision", {"dataset": "mnist"}, "acprop", {"lr": 1e-3}, 3, 0)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def test_the_id_stays_what_it_is():
    """Runs on disk are found by it: a change here loses them all."""
    assert SPEC.id == "5d0c0ae44e647ea6"


@pytest.mark.parametrize(
    "change",
    [
        {"task_settings": {"dataset": "cifar10"}},
        {"optimizer": "adam"},
        {"settings": {"lr": 1e-4}},
        {"settings": {"lr": 1e-3, "eps": 1e-8}},
        {"epochs": 4},
        {"seed": 1},
        {"schedule": {"kind": "step", "at": [1]}},
    ],
    ids=str,
)
def test_whatever_decides_the_run_changes_the_id(change):
    assert replace(SPEC, **change).id != SPEC.id


def test_how_a_number_is_written_does_not():
    same = replace(SPEC, settings={"lr": 0.001}, epochs=3)
    assert same.id == SPEC.id
    assert (
        replace(SPEC, settings={"lr": 1}).id == replace(SPEC, settings={"lr": 1.0}).id
    )
    ab, ba = {"lr": 1, "eps": 2}, {"eps": 2, "lr": 1}
    assert replace(SPEC, settings=ab).id == replace(SPEC, settings=ba).id


def test_true_is_not_one():
    on, one = replace(SPEC, settings={"a": True}), replace(SPEC, settings={"a": 1})
    assert on.id != one.id


@given(st.dictionaries(st.text(max_size=5), PLAIN, max_size=4))
def test_a_spec_comes_back_from_plain_values(settings):
    spec = replace(SPEC, settings=settings)
    back = RunSpec(**spec.plain())
    assert (back, back.id) == (spec, spec.id)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs must be 1 or more, got 0"),
        ({"seed": -1}, "seed must be 0 or more, got -1"),
        ({"settings": {"lr": float("nan")}}, "settings must be finite JSON values"),
        ({"settings": {"lr": {1, 2}}}, "settings must be finite JSON values"),
    ],
)
def test_a_bad_spec_is_refused(change, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        replace(SPEC, **change)
