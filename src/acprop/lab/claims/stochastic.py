"""The appendix's stochastic counterexample: two lemmas and what their proof says."""

import numpy as np

from acprop.lab.claims.claim import Finding, claim, formula
from acprop.lab.methods import advance, method
from acprop.lab.simulate import Sweep, distances
from acprop.lab.stochastic import (
    LO,
    X0,
    Drift,
    Stochastic,
    averaged_bound,
    drift,
    expected_move,
    last_iterate_bound,
    states,
    trajectories,
)
from acprop.rule import PAPER

_LEMMA_ADAM = "Appendix A, lemma on Adam with stochastic gradients"
_LEMMA_ACPROP = "Appendix A, lemma on ACProp with stochastic gradients"

# (β1, β2, P, δ) with β1 < √β2; the closer β2 is to 1, the rarer P must be
_ADAM_FAILS = (
    (0.0, 0.1, 50, 0.1),
    (0.1, 0.5, 50, 0.1),
    (0.9, 0.9, 50, 0.1),
    (0.9, 0.99, 50, 0.1),
    (0.9, 0.999, 500, 0.01),
)
_BETAS = ((0.1, 0.1), (0.1, 0.999), (0.5, 0.5), (0.9, 0.1), (0.9, 0.999))
_ACPROP = (method("acprop-paper"),)


def _adams_drift(P: int, delta: float, beta1: float, beta2: float) -> Drift:
    """At β2 = 0.999 v is not yet full-grown, which scales d but does not turn it."""
    adam = Sweep((method("adam"),), beta1, (beta2,), (1.0,), steps=5_000, tail=2_500)
    return drift(Stochastic(P, delta, seeds=256), adam)


def _short(beta1: float, beta2: float, steps: int) -> Sweep:
    return Sweep(_ACPROP, beta1, (beta2,), (1.0,), steps=steps, tail=1)


@claim("stochastic-adam-fails", "paper", "central", _LEMMA_ADAM)
def _adam_fails() -> Finding:
    """“For any constant β1, β2 ∈ [0, 1) such that β1 < √β2”, there are a P and a δ with
    which Adam does not converge on the stochastic problem
    """
    # As α_t → 0 only the sign of the mean direction counts: 5 standard errors.
    scores: list[float] = []
    for beta1, beta2, P, delta in _ADAM_FAILS:
        found = _adams_drift(P, delta, beta1, beta2)
        scores.append(float(found.mean[0] / found.error[0]))
    return Finding.of(
        min(scores) > 5,
        f"for {len(scores)} pairs of betas up to (0.9, 0.999) Adam drifts away from x* "
        f"by at least {min(scores):.0f} standard errors",
        {"settings": [list(row) for row in _ADAM_FAILS], "standard_errors": scores},
    )


@claim("stochastic-example-needs-a-large-period", "ours", "constant", _LEMMA_ADAM)
def _example_needs_a_large_period() -> Finding:
    """It takes a P large and a δ small enough, depending on the betas; 0 < δ < P must
    hold
    """
    near = _adams_drift(3, 1.0, 0.9, 0.99)
    away = _adams_drift(50, 0.1, 0.9, 0.99)
    towards, wrong = float(near.mean[0]), float(away.mean[0])
    return Finding.of(
        towards < -5 * near.error[0] and wrong > 5 * away.error[0],
        f"at betas (0.9, 0.99) Adam's mean move per α is {towards:+.3f} for P = 3, "
        f"δ = 1 and {wrong:+.3f} for P = 50, δ = 0.1",
        {"P=3": towards, "P=50": wrong},
    )


@claim("stochastic-acprop-converges", "paper", "central", _LEMMA_ACPROP)
def _acprop_converges() -> Finding:
    """ACProp converges to the optimum of the stochastic problem for all betas"""
    problem, T, eps = Stochastic(5, 1.0, seeds=32), 4_000, 1.0
    worst = 0.0
    for beta1, beta2 in _BETAS:
        sweep = Sweep(_ACPROP, beta1, (beta2,), (0.1, 1.0), eps=eps, steps=T)
        t, x = trajectories(problem, sweep)
        weights = np.sqrt(1 / t)
        before = np.concatenate([np.full_like(x[:1], X0), x[:-1]])
        far = np.tensordot(weights, before - LO, 1).mean(axis=(1, 2)) / weights.sum()
        for alpha0, seen in zip(sweep.alpha0, far, strict=True):
            bound = averaged_bound(problem, alpha0, T, eps=eps, beta1=beta1)
            worst = max(worst, float(seen) / bound)
    horizons = 10.0 ** np.arange(2, 60)
    bounds = [averaged_bound(problem, 1e-5, T, eps=1e-16, beta1=0.9) for T in horizons]
    vanishes = bounds[-1] < 1e-10 and bool(np.all(np.diff(bounds[2:]) < 0))
    from_step = float(horizons[np.argmax(np.array(bounds) < 0.01)])
    return Finding.of(
        worst <= 1 and vanishes,
        f"in the limit: the weighted mean distance is at most {worst:.2f} of a bound "
        f"that vanishes for all betas, but at ε = 1e-16 it is small from "
        f"{from_step:.0e} steps on only",
        {"worst_share_of_bound": worst, "steps_for_0.01": from_step},
    )


@claim("stochastic-last-iterate", "ours", "central", _LEMMA_ACPROP)
@formula(
    r"\mathbb E|x_t-x^*|\;\le\;\frac1{\sqrt t}\,\max\Big(2\sqrt{3\tau},\ \frac{"
    r"\alpha_0}{\lambda}\ln\big(2+\tfrac2\kappa\big)\Big),\qquad \tau=\Big\lceil\Big("
    r"\frac{4D}{\alpha_0\,\delta}\Big)^2\Big\rceil"
)
def _last_iterate() -> Finding:
    """The last iterate converges at O(1/√t), without averaging and without a
    logarithm
    """
    problem, eps = Stochastic(5, 1.0, seeds=128), 1.0
    worst, growth = 0.0, 0.0
    for beta1, beta2 in _BETAS:
        sweep = Sweep(_ACPROP, beta1, (beta2,), (0.3, 1.0), eps=eps, steps=6_400)
        t, x = trajectories(problem, sweep)
        far = (x - LO).mean(axis=(2, 3))
        for k, alpha0 in enumerate(sweep.alpha0):
            bound = last_iterate_bound(problem, alpha0, 1, eps=eps, beta1=beta1)
            scaled = np.sqrt(t) * far[:, k]
            worst = max(worst, float(scaled.max()) / bound)
            early, late = scaled[400:1600].mean(), scaled[1600:].mean()
            growth = max(growth, float(late / early))
    return Finding.of(
        worst <= 1 and growth < 1.1,
        f"in {2 * len(_BETAS)} settings √t times the mean distance of 128 runs is at "
        f"most {worst:.3f} of its bound, and between steps 400-1600 and 1600-6400 it "
        f"changes by a factor of {growth:.2f} at most: no logarithm",
        {"worst_share_of_bound": worst, "growth": growth},
    )


def _signs() -> tuple[float, dict[float, float]]:
    """How many expected moves are to the left before clipping; wrong after it, by x."""
    problem, sweep = Stochastic(50, 1.0, seeds=64), _short(0.1, 0.1, 1_000)
    last = states(problem, sweep)[-1]
    free = expected_move(problem, sweep, last, 1e-3)
    moves = {x: expected_move(problem, sweep, last, 1e-3, x=x) for x in (-1.0, 0.0)}
    wrong = {x: float(np.mean(move > 0)) for x, move in moves.items()}  # pyright: ignore
    return float(np.mean(free < 0)), wrong  # pyright: ignore


@claim(
    "stochastic-drift-to-convergence",
    "paper",
    "proof step",
    _LEMMA_ACPROP + ", last sentence of the proof",
)
def _expected_to_move() -> Finding:
    """“for every step, ACProp is expected to move in the negative direction …, whenever
    x < -1 we can always clip it to -1, hence ACProp will drift x to -1”
    """
    # Incomplete, not false: the premise is true, and so is the conclusion.
    left, wrong = _signs()
    return Finding.of(
        left == 1,
        f"P = 50, betas (0.1, 0.1), α = 1e-3: before clipping the expected move is "
        f"negative in {left:.0%} of the runs, and x does converge "
        f"to -1 (stochastic-last-iterate); the proof is incomplete, as after clipping "
        f"the move is positive in {wrong[-1.0]:.0%} of the runs at x = -1",
        {"to_the_left_before_clipping": left},
    )


@claim("stochastic-drift-is-not-enough", "ours", "proof step", _LEMMA_ACPROP)
@formula(r"\mathbb E[x_t\mid\text{past}]=-1+2\,\frac{P-\delta}{P+1}")
def _drift_is_not_enough() -> Finding:
    """That sentence is incomplete: -α_t·δ/den_t is the move before projection; at x*
    the projected one is wrong on average, and if α_t ≥ 2·den_t x lands at -1 + 2(P -
    δ)/(P + 1), near the wrong end
    """
    _, wrong = _signs()
    off, saturated = 0.0, 0.0
    for beta1, beta2 in _BETAS:
        problem, sweep = Stochastic(7, 0.5, seeds=8), _short(beta1, beta2, 200)
        for state in states(problem, sweep):
            den = np.sqrt(state.s + PAPER.eps)
            drifts = expected_move(problem, sweep, state, 0.1) * den
            off = max(off, float(np.max(np.abs(drifts / (-0.1 * 0.5) - 1))))
            leap = expected_move(problem, sweep, state, 2 * float(den.max()), x=0.3)
            lands = LO + 2 * (7 - 0.5) / 8
            saturated = max(saturated, float(np.max(np.abs(0.3 + leap - lands))))
    return Finding.of(
        max(off, saturated) < 1e-12 and wrong[-1.0] == 1 and wrong[0.0] > 0.5,
        f"both outcomes enumerated on {200 * 8 * len(_BETAS)} states: the drift is "
        f"-αδ/den up to {off:.0e}, and -1 + 2(P - δ)/(P + 1) up to {saturated:.0e} is "
        f"where x lands on average once α ≥ 2·den; at P = 50, betas (0.1, 0.1) and "
        f"α = 1e-3 the projected move is wrong on average in {wrong[-1.0]:.0%} of the "
        f"runs at x = -1 and in {wrong[0.0]:.0%} at x = 0",
        {"inside": off, "saturated": saturated, "wrong at -1": wrong[-1.0]},
    )


@claim("stochastic-projection-saturates", "ours", "central", _LEMMA_ACPROP)
def _saturates() -> Finding:
    """With small betas, large P and tiny ε ACProp is far from x* after 10⁴ steps for
    every learning rate of the grid
    """
    sweep = Sweep(_ACPROP, 0.1, (0.1, 0.9))
    far = distances(Stochastic(50, 1.0).runs(sweep.steps), sweep)[0]
    stuck, there = map(float, far.mean(axis=1).min(axis=0))
    return Finding.of(
        stuck > 0.5 and there < 0.01,
        f"P = 50, δ = 1, best of six α0 after 10⁴ steps: {stuck:.2f} from x* at betas "
        f"(0.1, 0.1), {there:.4f} at (0.1, 0.9)",
        {"beta2=0.1": stuck, "beta2=0.9": there},
    )


def _largest_s() -> tuple[float, float]:
    """max s over (P + 1)² and over β1²(P + 1)²: random runs, and many -1 before a P."""
    loose = sharp = 0.0
    P = 7
    for beta1, beta2 in (*_BETAS, (0.9, 0.01)):
        sweep = _short(beta1, beta2, 500)
        *_, state = seen = states(Stochastic(P, 1.0, seeds=8), sweep)
        for g in [-1.0] * 400 + [float(P)]:
            gradient = np.full_like(state.s, g)
            state, _ = advance(_ACPROP[0], PAPER, state, gradient, sweep.settings)
        top = max(float(one.s.max()) for one in (*seen, state)) / (P + 1) ** 2
        loose, sharp = max(loose, top), max(sharp, top / beta1**2)
    return loose, sharp


@claim("stochastic-second-moment", "paper", "proof step", _LEMMA_ACPROP)
def _s_is_bounded() -> Finding:
    """S_t ≤ (P + 1)²"""
    share, _ = _largest_s()
    return Finding.of(
        share <= 1,
        f"the largest S seen is {share:.3f}·(P + 1)²",
        {"share": share},
    )


@claim("stochastic-second-moment-sharp", "ours", "constant", _LEMMA_ACPROP)
@formula(r"s_t\le\beta_1^2\,(P+1)^2")
def _s_is_bounded_sharply() -> Finding:
    """S_t ≤ β1²(P + 1)², which is sharp as β2 → 0"""
    _, share = _largest_s()
    return Finding.of(
        0.98 < share <= 1,
        f"the largest S seen is {share:.3f}·β1²(P + 1)², at β2 = 0.01 after many -1",
        {"share": share},
    )
