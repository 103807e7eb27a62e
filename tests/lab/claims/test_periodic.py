"""The claims about the periodic problems: each can fail."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest

from acprop.lab import figures
from acprop.lab.claims import (
    averaging,
    clip,
    dense,
    dense_figures,
    family,
    forms,
    grids,
    lemma34,
    sparse_figures,
    verify,
)
from acprop.lab.methods import METHODS, Method
from acprop.lab.problems import periodic
from acprop.lab.regions import regions
from acprop.rule import GUARDED

# Each break makes a false claim true or a true one false: the checks look.


def test_lemma_3_3_would_fail_for_a_synchronous_method(monkeypatch):
    monkeypatch.setattr(dense, "ASYNC", ("adam",))
    assert verify("lemma-3.3").verdict == "fails"


def _with_another_drift(monkeypatch, change):
    """β1 = 0.9 only, and the drift of every cell as `change` has it."""
    move = dense_figures.drifts
    dense_figures.first_wrong.cache_clear()
    monkeypatch.setattr(dense_figures, "THRESHOLD_BETA1", (0.9,))

    def changed(kind, method, periods, *betas):
        found = move(kind, method, periods, *betas)
        return np.array([change(P, d) for P, d in zip(periods, found, strict=True)])

    monkeypatch.setattr(dense_figures, "drifts", changed)


def test_a_hole_beyond_the_threshold_would_be_seen(monkeypatch):
    """One large period at which every method drifts rightly."""
    _with_another_drift(monkeypatch, lambda P, d: np.where(P == 250, 1.0, d))
    found = verify("sync-threshold").verdict
    dense_figures.first_wrong.cache_clear()
    assert found == "fails"


def test_a_threshold_that_falls_near_one_would_be_seen(monkeypatch):
    """P = 3 drifts wrongly where β2 > 0.99, and so β1 < √β2."""
    large = dense_figures.THRESHOLD_BETA2 > 0.99
    _with_another_drift(monkeypatch, lambda P, d: np.where(large & (P == 3), -1.0, d))
    found = verify("sync-threshold-folds").verdict
    dense_figures.first_wrong.cache_clear()
    assert found == "fails"


def test_lemma_3_4_would_fail_the_other_way_round(monkeypatch):
    turned = {"acprop-paper": "adashift", "adashift": "acprop-paper"}
    right = lemma34.right
    monkeypatch.setattr(lemma34, "right", lambda kind, name: right(kind, turned[name]))
    assert verify("lemma-3.4").verdict == "fails"


def test_lemma_3_4_would_fail_for_a_margin_of_the_other_sign_near_the_border(
    monkeypatch,
):
    """Sums that are off by 1e-14 turn the sign where β1 = 1e-7."""
    exact = lemma34.residual_sums

    def off(*cell):
        N, W = exact(*cell)
        return N, W * (1 - mpmath.mpf("1e-14"))

    monkeypatch.setattr(lemma34, "residual_sums", off)
    assert verify("lemma-3.4").verdict == "fails"
    assert verify("sparse-criterion").verdict == "holds"
    monkeypatch.setattr(lemma34, "residual_sums", lambda *c: exact(*c)[::-1])
    assert verify("sparse-criterion").verdict == "fails"


def test_with_the_gradient_for_its_surprise_the_criterion_is_adashifts_border():
    """At the border both sides are equal."""
    for P in (7, 12, 50):
        Q, b2 = P**2 / 4, float(lemma34.from_the_border(P)[0])
        left = (1 - Q * b2 ** (P - 3)) * b2**2
        assert left == pytest.approx((Q - b2**3) * Q * b2 ** (P - 4), rel=1e-12)


def test_the_minimum_of_s_would_be_missed_at_another_phase(monkeypatch):
    shifted = dense.log_centered
    monkeypatch.setattr(dense, "log_centered", lambda *a: np.roll(shifted(*a), 1, 0))
    assert verify("lemma-3.3-minimum").verdict == "fails"


def test_the_closed_forms_would_fail_if_they_were_off_by_a_little(monkeypatch):
    exact = forms.recursion

    def off(*a):
        table = exact(*a)
        return table | {"s": [s * (1 + 1e-10) for s in table["s"]]}

    monkeypatch.setattr(forms, "recursion", off)
    assert verify("closed-forms").verdict == "fails"
    assert forms.worst_error(periodic("dense", 5), 0.5, 0.5) > 1e-12


def test_the_first_step_claim_would_fail_if_it_were_taken(monkeypatch):
    shares = dense_figures.shares
    monkeypatch.setattr(
        dense_figures,
        "shares",
        lambda kind, sweep, P: shares(kind, replace(sweep, takes_first_step=True), P),
    )
    assert verify("dense-first-step").verdict == "fails"


@pytest.mark.parametrize("claim", ["clip-falls-silent", "clip-keeps-the-limit"])
def test_a_bound_that_does_not_grow_would_never_fall_silent(claim, monkeypatch):
    monkeypatch.setattr(clip, "GUARDED", replace(GUARDED, clip=1.0))
    assert verify(claim).verdict == "fails"


def test_without_a_bound_there_would_be_no_price(monkeypatch):
    monkeypatch.setattr(clip, "GUARDED", clip.UNBOUND)
    assert verify("clip-price").verdict == "fails"


def test_a_smaller_right_side_would_be_too_small(monkeypatch):
    monkeypatch.setattr(clip, "theorem_41_clipped", lambda _, h: 1e-3 * h.steps**-0.5)
    assert verify("theorem-4.1-clipped").verdict == "fails"


def test_the_promise_would_fail_if_the_default_averaged_first(monkeypatch):
    """As it did in the second edition."""
    before = METHODS["acprop-before"].rule
    monkeypatch.setattr(averaging, "choose", lambda _: before)
    monkeypatch.setitem(METHODS, "acprop", Method("acprop", before))
    monkeypatch.setattr(averaging, "PERIODS", (20,))
    monkeypatch.setattr(averaging, "HORIZONS", (400, 1600))
    averaging.right.cache_clear()
    found = verify("default-promise")
    averaging.right.cache_clear()
    averaging.stall.cache_clear()
    assert found.verdict == "fails"
    assert found.numbers["bias"] > 0.01
    assert found.numbers["lost"]


def test_the_promise_is_about_what_the_library_does(monkeypatch):
    other = Method("acprop", METHODS["acprop-after"].rule)
    monkeypatch.setitem(METHODS, "acprop", other)
    monkeypatch.setattr(averaging, "right", lambda *_: np.ones((1, 1, 1), bool))
    monkeypatch.setattr(
        averaging,
        "stall",
        lambda m: averaging.Stall(1, 0.1 if m.name == "acprop" else 1),
    )
    assert verify("default-promise").verdict == "fails"
    monkeypatch.setitem(METHODS, "acprop", averaging.default())
    assert verify("default-promise").verdict == "holds"


def test_an_average_before_would_not_keep_the_drift(monkeypatch):
    monkeypatch.setitem(METHODS, "acprop-after", METHODS["acprop-before"])
    assert verify("average-after-keeps-the-drift").verdict == "fails"


def test_without_the_limit_nothing_would_be_left_to_show(monkeypatch):
    monkeypatch.setattr(averaging, "overflows", lambda *_: 3)
    assert verify("default-needs-the-limit-of-one").verdict == "fails"


def test_the_twin_would_gain_nothing_if_it_were_asynchronous_too(monkeypatch):
    exact, ones = lemma34.right, np.ones((2, 2), bool)
    monkeypatch.setattr(
        lemma34, "right", lambda kind, m: ones if kind == "dense" else exact(kind, m)
    )
    assert verify("weaker-than-its-twin").verdict == "fails"
    assert verify("weaker-than-sync").verdict == "fails"


@pytest.mark.parametrize(("even", "verdict"), [(0.9, "holds"), (0.1, "fails")])
def test_an_area_is_much_larger_on_both_grids_or_on_none(monkeypatch, even, verdict):
    """The shares of ACProp, and of AdaShift: a half, on either grid."""
    shares = {"acprop-paper": even, "adashift": 0.5}
    monkeypatch.setattr(sparse_figures, "right_share", lambda name, _: shares[name])
    assert verify("sparse-area-much-larger").verdict == verdict


def test_a_method_that_always_converges_would_be_seen_on_problem_2(monkeypatch):
    right = np.ones((len(grids.SPARSE_PERIODS), 2), bool)
    monkeypatch.setattr(sparse_figures, "right", lambda *_: right)
    assert verify("sparse-not-always").verdict == "fails"


def test_a_delay_that_never_hurts_would_be_seen(monkeypatch):
    monkeypatch.setattr(grids, "drift", lambda *_, **__: 1.0)
    assert verify("acprop-long-delay").verdict == "fails"
    assert verify("adashift-long-delay").verdict == "fails"
    assert verify("async-for-any-setting").verdict == "holds"


def test_printed_sums_that_were_right_would_be_seen(monkeypatch):
    """Off by the other residual's factor only."""
    compare = forms.compare

    def mended(*a, factor=0):
        found = compare(*a, factor=factor)
        return dict.fromkeys(found, 0.0) if factor else found

    monkeypatch.setattr(forms, "compare", mended)
    assert verify("dense-s").verdict == "holds"


def test_trajectories_that_ended_elsewhere_would_be_seen(monkeypatch):
    """Fig. 2's curves on Fig. 4's problem: Adam is at x* there."""
    for module, kind in ((dense_figures, "sparse"), (sparse_figures, "dense")):
        draw = module.paper_trajectories
        monkeypatch.setattr(
            module,
            "paper_trajectories",
            lambda _, draw=draw, kind=kind, **options: draw(kind, **options),
        )
    assert verify("dense-trajectories").verdict == "fails"
    assert verify("sparse-trajectories").verdict == "fails"


def test_a_run_that_has_not_settled_would_not_be_periodic(monkeypatch):
    run = dense_figures.trajectory

    def drawn_out(*a, **kw):
        found = run(*a, **kw)
        return replace(found, s=found.s * np.linspace(1, 2, len(found.s)))

    monkeypatch.setattr(dense_figures, "trajectory", drawn_out)
    assert verify("dense-periods").verdict == "fails"


@pytest.mark.parametrize(("shift", "verdict"), [(-99.0, "holds"), (99.0, "fails")])
def test_the_sign_of_the_difference_is_looked_at(monkeypatch, shift, verdict):
    ratios = sparse_figures.log_ratios

    def shifted(*a):
        s, v = ratios(*a)
        return s + shift, v

    monkeypatch.setattr(sparse_figures, "log_ratios", shifted)
    assert verify("sparse-ratio-plots").verdict == verdict


def test_a_mean_that_vanished_would_be_seen_between_the_gradients(monkeypatch):
    exact = sparse_figures.limits
    monkeypatch.setattr(
        sparse_figures, "limits", lambda *a: replace(exact(*a), m=0 * exact(*a).m)
    )
    assert verify("sparse-zero-gradients").verdict == "fails"


def test_with_momentum_adam_would_not_be_rmsprop(monkeypatch):
    settings = family.Settings
    monkeypatch.setattr(
        family, "Settings", lambda beta1, *rest: settings(max(beta1, 0.5), *rest)
    )
    assert verify("adam-without-momentum").verdict == "fails"


def test_sgd_would_not_be_scale_invariant_either(monkeypatch):
    monkeypatch.setattr(family, "FAMILY", ("sgd",))
    assert verify("avagrad-is-not-scale-invariant").verdict == "fails"


@pytest.mark.parametrize("claim", ["lemma-3.1-adabelief", "lemma-3.2-adam"])
def test_the_lemmas_on_sync_would_fail_with_the_drift_turned(claim, monkeypatch):
    """For a method that is always right, and for one that is always wrong."""
    border = dense.boundary

    def turned(*a, **kw):
        found = border(*a, **kw)
        word = {"converges": "diverges", "diverges": "converges"}
        crossings = [replace(c, lowest=word[c.lowest]) for c in found.crossings]
        return replace(found, crossings=tuple(crossings))

    monkeypatch.setattr(dense, "boundary", turned)
    monkeypatch.setattr(dense, "drift", lambda *_, **__: 1.0)
    assert verify(claim).verdict == "fails"


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_figure_is_drawn_at_the_eps_of_its_caption_and_of_its_claim(
    monkeypatch, kind
):
    """Else the badge "everywhere" may stand over a panel of 98.1 %."""
    drawn, checked = [], []
    seen = regions(kind, [5], grids.protocol("adashift", "acprop-paper", beta1=0.9))
    for module, kept in ((figures, drawn), (grids, checked)):

        def noted(_, __, sweep, kept=kept):
            kept.append(sweep.eps or sweep.convention.eps)
            return seen

        monkeypatch.setattr(module, "regions", noted)
    monkeypatch.setattr(figures, "boundary", lambda *_, **kw: drawn.append(kw["eps"]))
    figures.areas(kind, 0.9)
    verify(f"{kind}-area-0.9")
    assert {*drawn} == {*checked} == {grids.EPS[kind]}
    caption = figures.FIGURES[f"area-{kind}-0.9"].caption
    assert f"ε = {grids.EPS[kind]:g}" in caption
