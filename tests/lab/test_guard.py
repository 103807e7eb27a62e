"""The hazard of an asynchronous denominator, what our bound makes of it, its record.

Properties of a single step are in test_reference.py.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acprop.lab.guard import (
    STEPS,
    VARIANTS,
    Hazard,
    embedding,
    hazards,
    right_drift,
    worst_step,
)
from acprop.lab.methods import Method, method
from acprop.lab.steps import feed, iterate
from acprop.records import read
from acprop.reference import Settings
from acprop.rule import AUTHORS, GUARDED, OPTAX, PAPER, TORCH, choose

WORST, RIGHT = read(Path(__file__).parents[2] / "results" / "guard" / "ablation.jsonl")
HAZARDS = hazards()
ACPROP_PAPER = method("acprop-paper")
PUBLISHED = {"paper": PAPER, "authors": AUTHORS, "optax": OPTAX}
# The step at which each is worst, and no step there is longer than its fourth root.
BOUNDS = {name: len(hazard.gradients) ** 0.25 for name, hazard in HAZARDS.items()}


@pytest.mark.parametrize("optimizer", ["acprop-paper", "adashift"])
@pytest.mark.parametrize("name", HAZARDS)
def test_no_past_makes_a_step_beyond_the_fourth_root_of_its_number(name, optimizer):
    worst = worst_step(method(optimizer), GUARDED, HAZARDS[name])
    assert worst <= BOUNDS[name] < 9


@pytest.mark.parametrize("name", ["zero first", "silent start", "β1 = 0"])
@pytest.mark.parametrize("eps", [0.0, 1e-8])
def test_no_hazard_needs_an_epsilon(name, eps):
    """ε = 0 too: a division by 0 ends at the bound."""
    other = worst_step(ACPROP_PAPER, replace(GUARDED, eps=eps), HAZARDS[name])
    assert other == pytest.approx(
        worst_step(ACPROP_PAPER, GUARDED, HAZARDS[name]), rel=1e-6
    )


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_convention_leaps_after_a_silent_start(name):
    """The hazard is real: at its default ε each one steps 1e6·lr or more."""
    assert worst_step(ACPROP_PAPER, PUBLISHED[name], HAZARDS["silent start"]) > 1e6


def test_adam_is_tighter():
    """Its denominator has seen the gradient that it divides."""
    for name in ("silent start", "constant"):
        adam = worst_step(method("adam"), TORCH, HAZARDS[name])
        assert adam < worst_step(ACPROP_PAPER, GUARDED, HAZARDS[name])


def test_only_the_loud_gradients_count():
    """SGD's step is the gradient itself."""
    gradients = np.array([[7.0, 0.0], [5.0, 0.0], [1.0, -2.0], [0.0, 1.0]])
    worst = [
        worst_step(method("sgd"), PAPER, Hazard("", gradients, n)) for n in range(4)
    ]
    assert worst == [7.0, 5.0, 2.0, 1.0]


def test_most_rows_of_the_embedding_are_silent_at_most_steps():
    gradients = embedding()
    assert gradients.shape == (2000, 1000)
    seen = np.count_nonzero(gradients, axis=0)
    assert np.count_nonzero(gradients, axis=1).max() <= 32
    assert np.median(seen) < 20 < 1000 < seen[0]


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scaling_the_loss_changes_no_step(scale):
    gradients = np.random.default_rng(0).standard_normal((200, 5))
    ds = [np.array(directions(GUARDED, factor * gradients)) for factor in (1.0, scale)]
    np.testing.assert_allclose(ds[1], ds[0], rtol=1e-9)


def directions(convention, gradients):
    return [step.d for step in feed(ACPROP_PAPER, convention, Settings(), gradients)]


def test_a_first_step_of_sgd_would_depend_on_the_scale():
    convention = replace(GUARDED, first_step="sgd", clip=None)
    assert directions(convention, 1e8 * np.ones((1, 1)))[0] == 1e8


def spike_ratio(convention):
    """Final loss of a noisy quadratic with one gradient × 10⁴, over that without."""
    curvature = np.geomspace(1e-3, 1, 20)

    def final_loss(spike):
        rng = np.random.default_rng(1)

        def noisy(t, x):
            noise = 0.1 * np.sqrt(curvature) * rng.standard_normal(x.shape)
            return (curvature * x + noise) * (spike if t == 1001 else 1.0)

        run = iterate(
            ACPROP_PAPER,
            convention,
            Settings(),
            noisy,
            steps=2000,
            x0=np.tile(curvature**-0.5, (5, 1)),
            alpha0=1e-2,
        )
        losses = [np.mean(np.sum(curvature * x**2, axis=-1) / 2) for _, x in run]
        return np.mean(losses[-100:])

    return final_loss(1e4) / final_loss(1.0)


def test_one_gradient_ten_thousand_times_too_large_is_survived():
    """s learns of it and steps are short for a while; then the run goes on."""
    assert spike_ratio(GUARDED) < 10


@pytest.mark.parametrize(
    "convention", [replace(PAPER, eps=1e-8), AUTHORS], ids=["paper", "authors"]
)
def test_without_a_bound_it_is_not(convention):
    assert spike_ratio(convention) > 1e4


def test_timms_rosenbrock_ends_nearer_than_it_began():
    """timm's optimizer test: lr 1e-2, each step sees one coordinate's gradient."""

    def one_coordinate(t, x):
        a, b = x
        along_a, along_b = -2 * (1 - a) - 4 * a * (b - a**2), 2 * (b - a**2)
        return np.array([along_a, 0.0] if t % 2 == 1 else [0.0, along_b])

    x0 = np.array([1.5, 1.5])
    run = iterate(
        ACPROP_PAPER,
        GUARDED,
        Settings(),
        one_coordinate,
        steps=2000,
        x0=x0,
        alpha0=1e-2,
    )
    far = [np.linalg.norm(x - 1) for _, x in run]
    assert max(far) <= 1
    assert far[-1] < 0.1


def test_the_record_is_about_these_variants_and_hazards():
    for record in (WORST, RIGHT):
        assert [line.label for line in record.lines] == list(VARIANTS)
    definitions = {name: hazard.definition for name, hazard in HAZARDS.items()}
    assert WORST.about["hazards"] == definitions
    assert VARIANTS["guarded (default)"] == (GUARDED, choose(GUARDED))


@pytest.mark.parametrize("variant", ["guarded (default)", "paper", "Adam"])
def test_the_worst_steps_can_be_measured_again(variant):
    convention, rule = VARIANTS[variant]
    line = WORST.lines[list(VARIANTS).index(variant)]
    recorded = dict(zip(HAZARDS, line.y, strict=True))
    for name in ("zero first", "silent start", "constant"):
        measured = worst_step(Method(variant, rule), convention, HAZARDS[name])
        assert measured == pytest.approx(recorded[name], rel=1e-9)


def test_the_price_of_the_bound_can_be_measured_again():
    """Of a rule with closed forms: the default takes a minute."""
    planes = [("dense", t) for t in STEPS.values()] + [("sparse", np.inf)]
    measured = [right_drift(ACPROP_PAPER, GUARDED, kind, 0.9, t) for kind, t in planes]
    (line,) = [one for one in RIGHT.lines if one.label == "guarded, no average"]
    assert tuple(measured) == line.y
