"""The hazard of an asynchronous denominator, and what our bound makes of it.

The hazards live in scripts/; properties of a step are in test_reference.py.
"""

import json
import sys
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from acprop.reference import Hyper, State, step
from acprop.rule import ACPROP, ADAM, ADASHIFT, AUTHORS, GUARDED, OPTAX, PAPER, TORCH

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
ablation = import_module("guard_ablation")
hazards = import_module("guard_hazards")

HAZARDS = hazards.hazards()
PUBLISHED = {"paper": PAPER, "authors": AUTHORS, "optax": OPTAX}
# The step at which each is worst, and no step there is longer than its fourth root.
BOUNDS = {name: len(hazard.gradients) ** 0.25 for name, hazard in HAZARDS.items()}


@pytest.mark.parametrize("rule", [ACPROP, ADASHIFT], ids=["acprop", "adashift"])
@pytest.mark.parametrize("name", HAZARDS)
def test_no_past_makes_a_step_beyond_the_fourth_root_of_its_number(name, rule):
    worst = hazards.worst_step(hazards.of_reference(GUARDED, rule), HAZARDS[name])
    assert worst <= BOUNDS[name] < 9


@pytest.mark.parametrize("name", ["zero first", "silent start", "β1 = 0", "spike"])
@pytest.mark.parametrize("eps", [0.0, 1e-8])
def test_no_hazard_needs_an_epsilon(name, eps):
    """ε = 0 too: a division by 0 ends at the bound."""
    advance = hazards.of_reference(GUARDED, eps=eps)
    default = hazards.of_reference(GUARDED)
    worst = [hazards.worst_step(a, HAZARDS[name]) for a in (advance, default)]
    assert worst[0] == pytest.approx(worst[1], rel=1e-6)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_convention_leaps_after_a_silent_start(name):
    """The hazard is real: at its default ε each one steps 1e6·lr or more."""
    advance = hazards.of_reference(PUBLISHED[name])
    assert hazards.worst_step(advance, HAZARDS["silent start"]) > 1e6


def test_adam_is_tighter():
    """Its denominator has seen the gradient that it divides."""
    adam = hazards.of_reference(TORCH, ADAM)
    ours = hazards.of_reference(GUARDED)
    for name in ("silent start", "constant"):
        hazard = HAZARDS[name]
        assert hazards.worst_step(adam, hazard) < hazards.worst_step(ours, hazard)


def test_any_rule_may_be_measured():
    """A rule is a function: here signs, which are never longer than 1."""

    def signs(state, g, beta1):
        del beta1
        return state, np.sign(g)

    assert {hazards.worst_step(signs, hazard) for hazard in HAZARDS.values()} == {1.0}


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scaling_the_loss_changes_no_step(scale):
    gradients = np.random.default_rng(0).standard_normal((200, 5))
    ds = [np.array(walk(GUARDED, factor * gradients)) for factor in (1.0, scale)]
    np.testing.assert_allclose(ds[1], ds[0], rtol=1e-9)


def walk(convention, gradients, h=None):
    state, ds = State(), []
    for g in gradients:
        state, d = step(ACPROP, convention, state, g, h or Hyper())
        ds.append(d)
    return ds


def test_a_first_step_of_sgd_would_depend_on_the_scale():
    convention = replace(GUARDED, first_step="sgd", clip=None)
    assert walk(convention, 1e8 * np.ones((1, 1)))[0] == 1e8


def test_one_gradient_ten_thousand_times_too_large_is_survived():
    """s hears of it and steps are short for a while; then the run goes on."""
    assert hazards.spike_ratio(hazards.of_reference(GUARDED)) < 10


@pytest.mark.parametrize(
    "convention", [replace(PAPER, eps=1e-8), AUTHORS], ids=["paper", "authors"]
)
def test_without_a_bound_it_is_not(convention):
    assert hazards.spike_ratio(hazards.of_reference(convention)) > 1e4


def test_timms_rosenbrock_ends_nearer_than_it_began():
    """timm's optimizer test: lr 1e-2, each step sees one coordinate's gradient."""
    x, state = np.array([1.5, 1.5]), State()
    for t in range(2000):
        a, b = x
        along_a, along_b = -2 * (1 - a) - 4 * a * (b - a**2), 2 * (b - a**2)
        g = np.array([along_a, 0.0] if t % 2 == 0 else [0.0, along_b])
        state, d = step(ACPROP, GUARDED, state, g, Hyper())
        x = x - 1e-2 * d
        assert np.linalg.norm(x - 1) <= 1
    assert np.linalg.norm(x - 1) < 0.1


# The record


@pytest.fixture(scope="module")
def record():
    return json.loads(ablation.RECORD.read_text("utf-8"))


def test_the_record_is_about_these_variants(record):
    rows = {row["variant"]: row["settings"] for row in record["rows"]}
    assert list(rows) == [v.name for v in ablation.VARIANTS]
    assert rows["guarded"]["convention"] == asdict(GUARDED)


@pytest.mark.parametrize("name", ["zero first", "silent start", "constant"])
def test_the_record_can_be_measured_again(record, name):
    recorded = record["rows"][0]["worst_step"][name]
    measured = hazards.worst_step(ablation.VARIANTS[0].step(), HAZARDS[name])
    assert measured == pytest.approx(recorded, rel=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_price_of_the_bound_can_be_measured_again(record, kind):
    recorded = record["rows"][0]["right_drift"][kind]
    assert ablation.right_drift(ablation.VARIANTS[0], kind) == recorded
