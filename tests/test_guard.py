"""What docs/guard.md promises, on the numpy reference.

The machinery lives with the ablation in scripts/: exact limits, hazards, problems.
"""

import json
import sys
from dataclasses import asdict, replace
from importlib import import_module
from math import inf, log2
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acprop.reference import Hyper, State, step
from acprop.rule import ACPROP, AUTHORS, GUARDED, OPTAX, PAPER

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
ablation = import_module("guard_ablation")
hazards = import_module("guard_hazards")
limits = import_module("guard_limits")
problems = import_module("guard_problems")

PERIODS = (3, 4, 5, 6, 7, 8, 10, 13, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
BETA1 = np.array([0.1, 0.5, 0.85, 0.9, 0.99])[:, None]
BETA2 = 1 - np.geomspace(0.9, 1e-4, 41)
PLANE = {"beta1": BETA1, "beta2": BETA2}
GUARD = hazards.Variant("guarded", GUARDED)
PUBLISHED = {"paper": PAPER, "authors": AUTHORS, "optax": OPTAX}
HAZARDS = ("zero first", "silent start", "silent later", "β1 = 0", "constant")


def run(convention, gradients, h=None):
    state, ds = State(), []
    for g in gradients:
        state, d = step(ACPROP, convention, state, g, h or Hyper())
        ds.append(d)
    return state, np.array(ds)


# The direction of the drift, in the limit


@pytest.mark.parametrize("P", PERIODS)
def test_the_guard_keeps_the_right_drift_on_the_whole_dense_problem(P):
    """Section 3.1: async-optimizers always converge, for all β1, β2 and P ≥ 3."""
    assert np.all(limits.drift(limits.dense(P), GUARDED, **PLANE) > 0)


@pytest.mark.parametrize("P", PERIODS)
def test_the_denominator_is_smallest_just_before_the_large_gradient(P):
    """The proof in docs/guard.md: then P/den exceeds P - 1 terms of 1/den or less."""
    log_den = limits.log_denominators(limits.dense(P), GUARDED, eps=0.0, **PLANE)
    assert np.all(log_den[0] <= np.min(log_den, axis=0) + 1e-12)


@pytest.mark.parametrize("P", PERIODS[1:])
def test_on_the_sparse_problem_the_guard_only_adds_right_drift(P):
    """Section 3.2: a floor moves s⁺/s⁻ towards 1, and below P²/4 the drift is right."""
    unguarded = limits.drift(limits.sparse(P), PAPER, **PLANE) > 0
    guarded = limits.drift(limits.sparse(P), GUARDED, **PLANE) > 0
    assert np.all(guarded | ~unguarded)


@pytest.mark.parametrize("P", PERIODS[1:])
def test_on_the_sparse_problem_the_guard_drifts_right_on_the_whole_grid(P):
    assert np.all(limits.drift(limits.sparse(P), GUARDED, **PLANE) > 0)


def test_without_the_guard_the_sparse_problem_has_a_wrong_region():
    """Lemma 3.4 claims a larger area than AdaShift's, not all of it."""
    assert np.any(limits.drift(limits.sparse(100), PAPER, beta1=0.9, beta2=BETA2) < 0)


def test_a_badly_timed_neighbour_can_turn_the_drift():
    """The open end of docs/guard.md: the proof is for a tensor of one element."""
    pair = limits.dense(50)._replace(ahead=1)
    assert limits.drift(pair, GUARDED, beta1=0.9, beta2=0.5) < 0
    assert limits.drift(pair, GUARDED, beta1=0.9, beta2=0.999) > 0


@pytest.mark.parametrize("convention", [GUARDED, PAPER, OPTAX], ids=lambda c: c.name)
@pytest.mark.parametrize(
    "problem",
    [limits.dense(3), limits.dense(10), limits.sparse(4), limits.sparse(7)],
    ids=["dense 3", "dense 10", "sparse 4", "sparse 7"],
)
def test_the_simulation_ends_in_the_exact_limit(problem, convention):
    cells = {"beta1": np.array([[0.5], [0.9]]), "beta2": np.array([0.5, 0.8, 0.9])}
    exact = limits.drift(problem, convention, eps=1e-12, **cells)
    h = Hyper(**cells, eps=1e-12, axis=())
    # A forgets at (1 - β2)/10 per nonzero gradient: e^-17 is left after 1800 of them.
    n_periods = 1800 // np.count_nonzero(problem.gradients()) + 1
    stream = np.tile(problem.gradients(), n_periods)[:, None, None]
    _, ds = run(convention, np.broadcast_to(stream, (len(stream), 2, 3)), h)
    last = ds[-problem.P :]
    simulated = np.sum(last, axis=0) / np.sum(np.abs(last), axis=0)
    np.testing.assert_allclose(simulated, exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("beta2", [0.1, 0.9])
def test_the_exact_limit_holds_where_float64_cancels(beta2):
    """At β1 = 0.1, P = 60 the residual -m - 1 is 1e-60: float64 sees 0 or rounding."""
    P, beta1 = 60, 0.1
    logs = limits.log_denominators(
        limits.dense(P), PAPER, beta1=beta1, beta2=beta2, eps=0.0
    )
    with mpmath.workdps(200):
        m = s = mpmath.mpf(0)
        for g in np.tile(limits.dense(P).gradients(), 20):
            m = m * mpmath.mpf(beta1) + (1 - mpmath.mpf(beta1)) * int(g)
            s = s * mpmath.mpf(beta2) + (1 - mpmath.mpf(beta2)) * (int(g) - m) ** 2
        assert logs[0] == pytest.approx(float(mpmath.log(s) / 2), abs=1e-9)


# Hazards


@pytest.mark.parametrize("name", HAZARDS)
def test_no_quiet_past_makes_a_step_beyond_100_lr(name):
    hazard = hazards.hazards()[name]
    assert hazards.worst_step_scalar(GUARD, hazard) <= 100
    assert hazards.worst_step_tensor(GUARD, hazard) <= 100


@pytest.mark.slow
def test_a_real_silence_of_1e5_steps_does_no_harm():
    """The closed form of the silence is used everywhere else."""
    stream = np.concatenate([[1.0], np.zeros(100_000), np.ones(30)])[:, None]
    _, ds = run(GUARDED, stream)
    assert np.max(np.abs(ds)) == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize("variant", ablation.VARIANTS, ids=lambda v: v.name)
def test_the_closed_form_of_a_silence_is_the_silence(variant):
    h = variant.hyper()
    state = State()
    for g in (1.0, -2.0, 0.5):
        state, _ = variant.advance(state, np.array([g]), h)
    at_once = variant.rest(state, 300, h)
    for _ in range(300):
        state, _ = variant.advance(state, np.zeros(1), h)
    _, d = variant.advance(state, np.ones(1), h)
    _, d_at_once = variant.advance(at_once, np.ones(1), h)
    np.testing.assert_allclose(d_at_once, d, rtol=1e-9)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_convention_leaps_after_a_silent_start(name):
    """The hazard is real: at its default ε each one steps 1e6·lr or more."""
    variant = hazards.Variant(name, PUBLISHED[name])
    hazard = hazards.hazards()["silent start"]
    assert hazards.worst_step_scalar(variant, hazard) > 1e6


def test_without_a_past_the_guard_stands_still():
    state, d = step(ACPROP, GUARDED, State(), np.array([3.0, -4.0]), Hyper())
    assert not np.any(d)
    assert state.n == 1


def test_a_tensor_without_gradients_keeps_its_scale():
    seen, _ = run(GUARDED, np.array([[1.0], [2.0]]))
    silent, _ = run(GUARDED, np.array([[1.0], [2.0], *[[0.0]] * 50]))
    assert (silent.n, silent.A, silent.B) == (seen.n, seen.A, seen.B)


def test_zero_rows_do_not_dilute_the_scale():
    """An embedding of which one row in a thousand is seen."""
    g = np.zeros(1000)
    g[7] = 3.0
    state, _ = run(GUARDED, np.array([g]))
    assert state.A == 9


def test_the_prior_calms_the_second_step():
    """One observed residual is small by chance for some elements of a tensor."""
    gradients = np.random.default_rng(2).standard_normal((2, 1000))
    _, ds = run(GUARDED, gradients)
    _, hasty = run(replace(GUARDED, n0=0.0), gradients)
    assert np.sqrt(np.mean(ds[1] ** 2)) < 1.2
    assert np.sqrt(np.mean(hasty[1] ** 2)) > 2


# Scale, spikes, bias


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scaling_the_loss_changes_no_step(scale):
    gradients = np.random.default_rng(0).standard_normal((200, 5))
    _, ds = run(GUARDED, gradients)
    _, scaled = run(GUARDED, scale * gradients)
    np.testing.assert_allclose(scaled, ds, rtol=1e-9)


def test_a_first_step_of_sgd_would_depend_on_the_scale():
    convention = replace(GUARDED, first_step="sgd")
    _, ds = run(convention, 1e8 * np.ones((1, 1)))
    assert ds[0] == 1e8


def final_loss(convention, spike_at, eps=None):
    variant = hazards.Variant("", convention, eps=eps)
    lrs = (problems.SPIKE_LR,)
    losses = problems.final_losses(variant, problems.noisy_quadratic(), lrs, spike_at)
    return np.mean(losses)


def test_one_gradient_ten_thousand_times_too_large_is_survived():
    calm = final_loss(GUARDED, None)
    spiked = final_loss(GUARDED, problems.SPIKE_AT)
    assert spiked < 10 * calm


@pytest.mark.parametrize(
    ("convention", "eps"),
    [(replace(GUARDED, clamp=inf), None), (PAPER, 1e-8), (AUTHORS, 1e-8)],
    ids=["guarded without clamp", "paper", "authors"],
)
def test_without_the_clamp_it_is_not(convention, eps):
    guarded = final_loss(GUARDED, problems.SPIKE_AT)
    assert final_loss(convention, problems.SPIKE_AT, eps) > 1e4 * guarded


def test_given_the_past_the_step_is_linear_up_to_the_clamp():
    """Lemma 3.3 needs E[g_t/den | past] = E[g_t | past]/den."""
    state, _ = run(GUARDED, np.random.default_rng(1).standard_normal((20, 4)))
    g = np.array([0.5, -0.25, 0.125, -1.0]) * state.B
    h = Hyper()
    _, d = step(ACPROP, GUARDED, state, g, h)
    for factor in (2.0**-20, 0.5, 2.0):
        assert np.array_equal(
            step(ACPROP, GUARDED, state, factor * g, h)[1], factor * d
        )
    _, beyond = step(ACPROP, GUARDED, state, 1024 * g, h)
    np.testing.assert_allclose(beyond, 2 * state.B * np.sign(g) * (d / g), rtol=1e-15)


sizes = st.floats(min_value=1e-3, max_value=1e3)
signs = st.sampled_from([-1.0, 1.0])


@given(st.lists(st.tuples(sizes, sizes, signs, signs), min_size=1, max_size=80))
def test_the_clamp_binds_at_most_log2_of_the_range_often(rows):
    """|g| ≤ M: each time it binds the record doubles, so the bias dies out."""
    gradients = np.array([[a * p, b * q] for a, b, p, q in rows])
    peaks = np.max(np.abs(gradients), axis=1)
    state, n_bound = State(), 0
    for g, peak in zip(gradients, peaks, strict=True):
        n_bound += bool(state.n > 0 and peak > 2 * state.B)
        state, _ = step(ACPROP, GUARDED, state, g, Hyper())
    assert n_bound <= log2(np.max(peaks) / peaks[0])


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
    assert np.linalg.norm(x - 1) < 1e-3


# The record


@pytest.fixture(scope="module")
def record():
    return json.loads(ablation.RECORD.read_text("utf-8"))


def test_the_page_shows_the_record(record):
    page = (ROOT / "docs" / "guard.md").read_text("utf-8")
    assert ablation.hazard_table(record) in page
    assert ablation.training_table(record) in page


def test_the_record_is_about_these_variants(record):
    """A changed κ, n0 or clamp needs a new record."""
    rows = {row["variant"]: row["settings"] for row in record["rows"]}
    assert list(rows) == [v.name for v in ablation.VARIANTS]
    assert rows["guarded"]["convention"] == asdict(GUARDED)


@pytest.mark.parametrize("name", ["zero first", "silent start", "silent later", "tiny"])
def test_the_record_can_be_measured_again(record, name):
    recorded = record["rows"][0]["worst_step"][name][0]
    measured = hazards.worst_step_scalar(GUARD, hazards.hazards()[name])
    assert measured == pytest.approx(recorded, rel=1e-9)
