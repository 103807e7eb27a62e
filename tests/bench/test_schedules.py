"""The factors against values computed by hand."""

import math

import pytest

from acprop.bench.schedules import KINDS, schedule


def make(kind, epochs=200, steps_per_epoch=391, **settings):
    return schedule(kind, epochs=epochs, steps_per_epoch=steps_per_epoch, **settings)


def test_constant_is_one_throughout():
    factor = make("constant")
    assert [factor(step) for step in (0, 1, 78199)] == [1.0, 1.0, 1.0]


def test_the_papers_schedule_drops_with_the_first_step_of_epoch_150():
    """×0.1 at epoch 150 of 200, 391 batches of 128 in 50000 images."""
    factor = make("step", at=[150])
    assert factor(0) == factor(150 * 391 - 1) == 1.0
    assert factor(150 * 391) == factor(200 * 391 - 1) == pytest.approx(0.1)


def test_every_drop_multiplies():
    factor = make("step", epochs=3, steps_per_epoch=10, at=[1, 2.2], by=0.5)
    assert [factor(s) for s in (9, 10, 21, 22, 29)] == [1.0, 0.5, 0.5, 0.25, 0.25]


def test_a_drop_between_two_steps_comes_with_the_later_one():
    factor = make("step", epochs=3, steps_per_epoch=5, at=[1.5])
    assert [factor(s) for s in (7, 8)] == [1.0, pytest.approx(0.1)]


def test_the_inverse_square_root_rises_to_one_and_halves_at_four_times_the_warmup():
    """Vaswani et al.: linear for W steps, then 1/√t, continuous at W."""
    factor = make("inverse-sqrt", warmup=4000)
    assert factor(0) == 1 / 4000
    assert factor(1999) == 0.5
    assert factor(3999) == 1.0
    assert factor(15999) == 0.5
    assert factor(35999) == pytest.approx(1 / 3)


def test_the_warmup_is_the_papers_unless_told():
    assert make("inverse-sqrt")(3999) == 1.0
    assert make("inverse-sqrt")(3998) < 1.0


def test_the_cosine_falls_from_one_over_a_half_to_its_floor():
    factor = make("cosine", epochs=4, steps_per_epoch=10, floor=0.2)
    assert factor(0) == 1.0
    assert factor(10) == pytest.approx(0.2 + 0.8 * (1 + math.sqrt(0.5)) / 2)
    assert factor(20) == pytest.approx(0.6)
    assert factor(40) == factor(41) == pytest.approx(0.2)


def test_the_cosine_first_rises_in_equal_steps_that_end_at_one():
    """5 % of 40 × 50 steps are 100: (s + 1)/100; the cosine has the other 1900."""
    factor = make("cosine", epochs=40, steps_per_epoch=50, warmup=0.05, floor=0.1)
    assert [factor(s) for s in (0, 1, 49, 98)] == [0.01, 0.02, 0.5, 0.99]
    assert factor(99) == factor(100) == 1.0
    assert factor(100 + 475) == pytest.approx(0.1 + 0.9 * (1 + math.sqrt(0.5)) / 2)
    assert factor(100 + 950) == pytest.approx(0.55)
    assert 0.1 < factor(1999) < 0.1 + 1e-5
    assert factor(2000) == factor(2001) == pytest.approx(0.1)


def test_without_a_warmup_the_cosine_is_what_it_was():
    factor = make("cosine", epochs=3, steps_per_epoch=7, floor=0.2, warmup=0)
    plain = make("cosine", epochs=3, steps_per_epoch=7, floor=0.2)
    expected = [0.2 + 0.8 * (1 + math.cos(math.pi * (s / 21))) / 2 for s in range(21)]
    assert [factor(s) for s in range(21)] == expected
    assert [plain(s) for s in range(21)] == expected


def test_a_warmup_that_is_nearly_all_leaves_the_end_at_its_factor():
    """0.99 of 3 steps are rounded to 3."""
    factor = make("cosine", epochs=1, steps_per_epoch=3, warmup=0.99, floor=0.5)
    assert [factor(s) for s in range(3)] == [1 / 3, 2 / 3, 1.0]
    assert factor(4) == pytest.approx(0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_has_one_factor_whatever_was_asked_before(kind):
    """What makes a resumed run need no state."""
    settings = {"step": {"at": [1]}}.get(kind, {})
    asked = make(kind, epochs=2, steps_per_epoch=9, **settings)
    fresh = make(kind, epochs=2, steps_per_epoch=9, **settings)
    all_along = [asked(step) for step in range(18)]
    assert [fresh(step) for step in reversed(range(18))] == all_along[::-1]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("linear", {}, r"kind must be one of constant, step, .* got 'linear'"),
        ("constant", {"at": [1]}, r"settings of constant must be among none, got at"),
        ("step", {"gamma": 0.1}, r"settings of step must be among at, by, got gamma"),
        ("step", {}, r"at must be epochs .*, got \[\]"),
        ("step", {"at": [200]}, r"at must be epochs .* 0 and 200, got \[200\]"),
        ("step", {"at": [0]}, r"at must be epochs that ascend"),
        ("step", {"at": [20, 10]}, r"at must be epochs .*, got \[20, 10\]"),
        ("step", {"at": [10, 10]}, r"at must be epochs that ascend"),
        ("step", {"at": [10], "by": 1.0}, r"by must be between 0 and 1, got 1.0"),
        ("inverse-sqrt", {"warmup": 0}, r"warmup must be 1 or more, got 0"),
        ("cosine", {"floor": 1.0}, r"floor must be in \[0, 1\), got 1.0"),
        ("cosine", {"warmup": 1}, r"warmup must be in \[0, 1\), got 1"),
        ("cosine", {"warmup": -0.1}, r"warmup must be in \[0, 1\), got -0.1"),
        ("constant", {"epochs": 0}, r"epochs must be 1 or more, got 0"),
    ],
)
def test_a_bad_value_is_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        make(kind, **settings)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("step", {"at": 150}, r"at must be a list of epochs, got 150"),
        ("step", {"at": "150"}, r"at must be a list of epochs, got '150'"),
        ("step", {"at": ["150"]}, r"at must be a number, got '150'"),
        ("inverse-sqrt", {"warmup": 2.5}, r"warmup must be a whole number, got 2.5"),
        ("cosine", {"warmup": "5%"}, r"warmup must be a number, got '5%'"),
        ("constant", {"steps_per_epoch": True}, r"steps_per_epoch must be a whole"),
    ],
)
def test_a_bad_kind_of_value_is_refused(kind, settings, message):
    with pytest.raises(TypeError, match=message):
        make(kind, **settings)
