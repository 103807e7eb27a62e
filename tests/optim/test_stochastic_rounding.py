"""bfloat16 parameters that are rounded at random: right on average, and repeatable."""

import copy
import io

import pytest
import torch

import acprop

RANDOM = {"stochastic_rounding": 0, "kahan": False}
KERNELS = {
    "loop": {"foreach": False},
    "foreach": {"foreach": True},
    "default": {},
    "small": {"small_state": True},
    "small in torch": {"small_state": True, "fused": False},
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def walk(param, opt, n_steps, gradient=None, seed=0):
    draw = torch.Generator().manual_seed(seed)
    for _ in range(n_steps):
        noise = torch.randn(param.shape, generator=draw)
        param.grad = (noise if gradient is None else gradient).to(param.dtype)
        opt.step()


def ones(*shape):
    return torch.ones(*shape, dtype=torch.bfloat16, requires_grad=True)


@each_kernel
def test_steps_below_the_resolution_happen_on_average(kernel):
    """200 steps of 5e-4 down from 1, where the next bfloat16 is 1 - 2⁻⁸.

    Each element takes about 26 jumps, so the mean of 1024 elements is off by about
    √26·2⁻⁸/32 = 6e-4; rounded to the nearest none would ever move.
    """
    param, gradient = ones(16, 64), torch.ones(16, 64)
    opt = acprop.ACProp([param], lr=5e-4, **RANDOM, **kernel)
    walk(param, opt, 200, gradient=gradient)
    wide = torch.ones(16, 64, requires_grad=True)
    walk(wide, acprop.ACProp([wide], lr=5e-4), 200, gradient=gradient)
    moved, expected = 1 - param.float().mean(), 1 - wide.mean()
    assert expected > 0.05
    assert abs(moved - expected) < 5 * 6e-4 + 0.02 * expected
    assert param.float().std() > 2**-8  # each for itself


def test_to_the_nearest_nothing_moves():
    param = ones(64, 64)
    opt = acprop.ACProp([param], lr=1e-4, kahan=False)
    walk(param, opt, 100, gradient=torch.ones(64, 64))
    assert torch.equal(param, torch.ones_like(param))


def test_one_rounding_is_right_on_average():
    """Of each of 7 values between two bfloat16: 2¹⁶ draws, 5 standard deviations."""
    n = 2**16
    for eighth in range(1, 8):
        param = ones(n)
        options = {"average": None, "maximize": True, **RANDOM}  # of lr exactly
        opt = acprop.ACProp([param], lr=eighth / 8 * 2**-7, **options)
        walk(param, opt, 1, gradient=torch.ones(n))
        share = (param > 1).float().mean().item()
        assert set(param.detach().float().unique().tolist()) == {1.0, 1 + 2**-7}
        deviation = (eighth / 8 * (1 - eighth / 8) / n) ** 0.5
        assert abs(share - eighth / 8) < 5 * deviation + 2**-16


def test_what_bfloat16_can_say_is_not_changed():
    param = torch.linspace(-3, 3, 77).bfloat16().requires_grad_()
    before = param.detach().clone()
    opt = acprop.ACProp([param], **RANDOM)
    walk(param, opt, 3, gradient=torch.zeros(77))
    assert torch.equal(param, before)


def test_infinity_stays_infinity_and_nan_nan():
    values = torch.tensor([float("inf"), -float("inf"), float("nan"), 1.0])
    param = values.bfloat16().requires_grad_()
    opt = acprop.ACProp([param], **RANDOM)
    walk(param, opt, 3, gradient=torch.zeros(4))
    torch.testing.assert_close(param.detach().float(), values, equal_nan=True)


def test_kernels_draw_the_same_bits():
    ends = []
    for name in ("loop", "foreach", "default"):
        param = ones(30, 10)
        opt = acprop.ACProp([param], lr=1e-3, **RANDOM, **KERNELS[name])
        walk(param, opt, 5)
        ends.append(param.detach())
    assert all(torch.equal(end, ends[0]) for end in ends)


@each_kernel
def test_a_resumed_run_draws_what_the_uninterrupted_one_does(kernel):
    param = ones(20, 20)
    opt = acprop.ACProp([ones(2, 2), param], **RANDOM, **kernel)
    walk(param, opt, 4)
    file = io.BytesIO()
    torch.save(opt.state_dict(), file)
    file.seek(0)
    twin = copy.deepcopy(param)
    other = acprop.ACProp([ones(2, 2), twin], **RANDOM, **kernel)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert other.state[twin]["stream"] == 1
    assert other.state[twin]["stream"].dtype == torch.int64
    walk(param, opt, 4, seed=1)
    walk(twin, other, 4, seed=1)
    assert torch.equal(param, twin)


def test_seeds_and_parameters_draw_other_bits():
    ends = []
    for seed in (0, 1):
        params = [ones(50), ones(50)]
        options = {**RANDOM, "stochastic_rounding": seed}
        opt = acprop.ACProp(params, lr=1e-3, **options)
        for p in params:
            p.grad = torch.ones_like(p)
        opt.step()
        ends += [p.detach() for p in params]
    different = {tuple(end.tolist()) for end in ends}
    assert len(different) == 4


def test_it_needs_no_buffer_and_leaves_other_types_alone():
    half, wide = ones(3), torch.ones(3, requires_grad=True)
    opt = acprop.ACProp([half, wide], **RANDOM)
    for p in (half, wide):
        p.grad = torch.ones_like(p)
    opt.step()
    assert set(opt.state[half]) == {"step", "momentum_buffer", "exp_avg_sq", "stream"}
    assert set(opt.state[wide]) == {"step", "momentum_buffer", "exp_avg_sq"}


def test_float16_is_refused_before_anything_moves():
    param = torch.ones(3, dtype=torch.float16, requires_grad=True)
    opt = acprop.ACProp([param], **RANDOM)
    param.grad = torch.ones_like(param)
    with pytest.raises(RuntimeError, match=r"^stochastic_rounding must be None for fl"):
        opt.step()
    assert torch.equal(param, torch.ones_like(param))


def test_a_seed_that_does_not_fit_is_refused_at_the_door():
    """It overflowed at the first step; only 32 bits of it ever counted."""
    with pytest.raises(ValueError, match=r"^stochastic_rounding must be below 2\*\*32"):
        acprop.ACProp([ones(2)], stochastic_rounding=2**70, kahan=False)
    param = ones(2, 64)
    opt = acprop.ACProp([param], stochastic_rounding=2**32 - 1, kahan=False)
    walk(param, opt, 1)
    assert param.isfinite().all()
