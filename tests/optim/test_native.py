"""The C kernel: the same steps as the loop, at any split, and never at an old address.

The native kernel is compared with itself to the last bit, and so with the loop if that
has an exact root: torch does not round its own correctly.
"""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import acprop
from acprop import native
from acprop.optim.kernels import loop
from acprop.rule import CONVENTIONS

from .walks import exactly, leaf, plain_params, snapshot, up_to_rounding, walk

pytestmark = pytest.mark.skipif(native.load() is None, reason=str(native.why_not()))

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
# Large enough for several bins, and for a last vector that is not full.
SIZES = (70_001, 40_000, 17, 1, 0)


def large_params(dtype=torch.float32):
    torch.manual_seed(0)
    return [leaf(torch.randn(size).to(dtype)) for size in SIZES]


@pytest.fixture
def _two_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
    native.load().acprop_use_isa(-1)


def options_of(convention):
    return {"convention": convention, "eps": 1e-3, "weight_decay": 0.1}


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_neither_threads_nor_instruction_sets_change_a_bit(convention, dtype):
    runs = []
    for n_threads, isa in ((1, 2), (2, 2), (2, 1), (1, 0)):
        torch.set_num_threads(n_threads)
        native.load().acprop_use_isa(isa)
        opt = acprop.ACProp(large_params(dtype), **options_of(convention))
        runs.append(snapshot(walk(opt, 4)))
    for run in runs[1:]:
        exactly(run, runs[0])


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_tensor_cut_in_two_takes_the_same_steps(convention):
    torch.manual_seed(0)
    values, gradients = torch.randn(50_000), torch.randn(4, 50_000)
    whole = leaf(values)
    pieces = [leaf(part) for part in values.split([20_001, 29_999])]
    opts = [acprop.ACProp(p, **options_of(convention)) for p in ([whole], pieces)]
    for g in gradients:
        whole.grad = g.clone()
        for piece, part in zip(pieces, g.split([20_001, 29_999]), strict=True):
            piece.grad = part.clone()
        for opt in opts:
            opt.step()
    assert torch.equal(torch.cat([p.detach() for p in pieces]), whole.detach())


RULES = [
    {},
    {"average": None},
    {"average": "before", "nesterov": True},
    {"average": "after", "center": "m"},
    {"average": "after", "center": None, "amsgrad": True},
    {"average": "after", "center": "average", "nesterov": True},
    {"decoupled_weight_decay": False, "maximize": True},
]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_with_an_exact_root_every_number_has_the_bits_of_the_loop(
    convention, dtype, rule, monkeypatch
):
    """C's √ is correctly rounded, as numpy's is; torch's is not, on any processor.

    All else is one rounding for each operation, in the same order.
    """

    def exact(radicand, _):
        return torch.from_numpy(np.sqrt(radicand.numpy()))

    monkeypatch.setattr(loop, "_root", exact)
    torch.manual_seed(0)
    values = torch.randn(1001).to(dtype)
    options = {**options_of(convention), **rule}
    ours, others = (
        walk(acprop.ACProp([leaf(values)], foreach=f, **options), 4)
        for f in (None, False)
    )
    exactly(snapshot(ours), snapshot(others))


# Rows of less than a block, of several and a short one, of one dimension, of channels
# that come last in memory; and what else draws random bits.
SMALL = {
    "short rows": (33, 27),
    "long rows": (40, 200),
    "a vector": (5000,),
    "channels": (9, 5, 3, 7),
    "volumes": (3, 4, 2, 3, 5),
}
LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}
ROUNDING = [{}, {"stochastic_rounding": 3, "kahan": False}, {"kahan": False}]


def walk_small(shape, dtype, layout, n_steps=6, **options):
    """One small tensor beside a bias, whose state stays wide."""
    torch.manual_seed(0)
    values = torch.randn(shape).to(dtype)
    if layout:
        values = values.to(memory_format=LAYOUTS.get(len(shape)))
    bias = leaf(torch.ones(7).to(dtype))
    opt = acprop.ACProp([bias, leaf(values)], lr=0.01, **options)
    return snapshot(walk(opt, n_steps))


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("shape", SMALL.values(), ids=SMALL)
def test_codes_have_the_bits_of_the_torch_path(shape, rule, monkeypatch):
    """Every number and every code, if the torch path has an exact root."""

    def exact(radicand, _):
        return torch.from_numpy(np.sqrt(radicand.numpy()))

    monkeypatch.setattr(loop, "_root", exact)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for rounding in ROUNDING[: 3 if dtype == torch.bfloat16 else 1]:
            options = {"small_state": True, "weight_decay": 0.1, **rule, **rounding}
            ours, others = (
                walk_small(shape, dtype, layout, fused=fused, **options)
                for fused, layout in ((True, True), (False, False))
            )
            exactly(ours, others)


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("rounding", ROUNDING, ids=str)
@pytest.mark.parametrize("bad", [float("inf"), -float("inf"), float("nan")])
def test_what_is_not_finite_is_seen_with_codes_too(bad, rounding):
    """In that element at once, on every instruction set, and in no other block."""
    dtype = torch.bfloat16 if rounding else torch.float32
    for isa in range(3):
        native.load().acprop_use_isa(isa)
        param = leaf(torch.ones(2, 128, dtype=dtype))
        opt = acprop.ACProp([param], small_state=True, fused=True, **rounding)
        for value in (1.0, bad):
            param.grad = torch.ones_like(param)
            param.grad[0, 70] = value
            opt.step()
        lost = param.detach().isnan()
        assert lost[0, 70]
        assert lost.sum() == 1
        opt.step()
        assert not param.detach()[:, :64].isnan().any()
        assert not param.detach()[1].isnan().any()


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("rounding", ROUNDING, ids=str)
def test_neither_threads_nor_instruction_sets_change_a_code(rule, rounding):
    """Large enough for several bins; these are cut between blocks."""
    runs = []
    for n_threads, isa in ((1, 2), (2, 2), (2, 1), (1, 0)):
        torch.set_num_threads(n_threads)
        native.load().acprop_use_isa(isa)
        options = {"small_state": True, "fused": True, **rule, **rounding}
        runs.append(walk_small((700, 131), torch.bfloat16, False, 4, **options))
    for run in runs[1:]:
        exactly(run, runs[0])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("average", [None, "before", "after"])
def test_what_no_root_enters_has_the_bits_of_the_loop(average, dtype):
    """m, and an s that is centered on it. M is a mean of quotients by a root."""
    options = {**options_of("guarded"), "average": average, "center": "m"}
    ours, others = (
        walk(acprop.ACProp(large_params(dtype), foreach=f, **options), 4)
        for f in (None, False)
    )
    for a, b in zip(snapshot(ours), snapshot(others), strict=True):
        exactly(a["exp_avg"], b["exp_avg"])
        exactly(a["exp_avg_sq"], b["exp_avg_sq"])
    up_to_rounding(snapshot(ours), snapshot(others))


def test_a_step_makes_no_tensor():
    """State is 8 bytes for a float32 parameter and the step; no scratch memory."""

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            raise AssertionError(f"{function} was called")

    opt = walk(acprop.ACProp(large_params()), 2)
    with Watch():
        opt.step()
    state = opt.state[opt.param_groups[0]["params"][0]]
    assert {k: v.numel() for k, v in state.items()} == {
        "step": 1,
        "momentum_buffer": SIZES[0],
        "exp_avg_sq": SIZES[0],
    }


def test_autograd_notices_that_a_saved_parameter_has_moved():
    param = leaf(torch.ones(3))
    opt = acprop.ACProp([param])
    for _ in range(2):
        saved = (param * param).sum()
        param.grad = torch.ones(3)
        opt.step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            saved.backward()


# What may happen to a model and its optimizer between two steps.


def reload(model, opt):
    opt.load_state_dict(opt.state_dict())


def grow(model, opt):
    extra = nn.Parameter(torch.ones(3))
    model.extra = extra
    opt.add_param_group({"params": [extra], "lr": 0.1})


def swap_data(model, opt):
    for p in model.parameters():
        p.data = p.data.clone() + 1


def to_double(model, opt):
    model.zero_grad()
    model.double()
    opt.load_state_dict(opt.state_dict())


def grads_in_place(model, opt):
    opt.zero_grad(set_to_none=False)


def grads_anew(model, opt):
    opt.zero_grad(set_to_none=True)


def new_state_tensor(model, opt):
    for state in opt.state.values():
        state["momentum_buffer"] = state["momentum_buffer"] * 2


def new_state_data(model, opt):
    for state in opt.state.values():
        state["exp_avg_sq"].data = state["exp_avg_sq"].data * 2


def new_state_dicts(model, opt):
    for param in list(opt.state):
        opt.state[param] = {k: v.clone() for k, v in opt.state[param].items()}


def forget(model, opt):
    opt.state.clear()


def freeze(model, opt):
    model[0].weight.requires_grad_(False)
    model[0].weight.grad = None


def thaw(model, opt):
    model[0].weight.requires_grad_(True)


def transpose_gradients(model, opt):
    for p in model.parameters():
        if p.ndim == 2:
            p.register_hook(lambda g: g.t().contiguous().t())


def other_options(model, opt):
    opt.param_groups[0].update(betas=(0.5, 0.9), weight_decay=0.3, lr=0.05)


def other_kernel_for_a_while(model, opt):
    opt.param_groups[0].update(delay=0, center="m")


def amsgrad_for_a_while(model, opt):
    for group in opt.param_groups:
        group["amsgrad"] = not group["amsgrad"]


def another_convention_for_a_while(model, opt):
    for group in opt.param_groups:
        other = {"guarded": "optax", "optax": "guarded"}
        group["convention"] = other[group["convention"]]


def another_average_for_a_while(model, opt):
    """In both directions: one mean is made of the other."""
    for group in opt.param_groups:
        after = group["average"] == "after"
        group.update(average="before" if after else "after", center="m")


def a_box_for_a_while(model, opt):
    """Which another kernel takes."""
    for group in opt.param_groups:
        group["constraint"] = None if group["constraint"] else acprop.Box(-0.5, 0.5)


HAPPENINGS = [
    amsgrad_for_a_while,
    another_convention_for_a_while,
    another_average_for_a_while,
    a_box_for_a_while,
    reload,
    grow,
    swap_data,
    to_double,
    grads_in_place,
    grads_anew,
    new_state_tensor,
    new_state_data,
    new_state_dicts,
    forget,
    freeze,
    thaw,
    transpose_gradients,
    other_options,
    other_kernel_for_a_while,
]


def live(happening, **kernel):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2))
    if happening is thaw:
        freeze(model, None)
    first, second = list(model[0].parameters()), list(model[2].parameters())
    groups = [{"params": first}, {"params": second, "lr": 0.02}]
    opt = acprop.ACProp(groups, lr=0.01, **kernel)
    for i in range(8):
        torch.manual_seed(i)
        if i in (3, 4):
            happening(model, opt)
        dtype = model[2].weight.dtype
        extra = getattr(model, "extra", torch.zeros(1)).sum()
        loss = model(torch.randn(4, 5, dtype=dtype)).square().mean() + extra**2
        loss.backward()
        opt.step()
    return [p.detach() for p in model.parameters()]


@pytest.mark.parametrize("happening", HAPPENINGS, ids=lambda h: h.__name__)
def test_no_address_is_used_that_is_no_longer_true(happening):
    """A plan that is not thrown away would write into freed or forgotten memory."""
    runs = live(happening), live(happening, foreach=False)
    torch.testing.assert_close(*runs, rtol=1e-5, atol=1e-6)


def stepped(n, **options):
    param = leaf(torch.zeros(n))
    param.grad = torch.ones(n)
    opt = acprop.ACProp([param], **options)
    opt.step()
    opt.step()
    return param, opt


def shorten_gradient(param, _):
    param.grad.data = torch.ones(10)


def grow_parameter(param, _):
    param.data = torch.zeros(2000)
    param.grad = torch.ones(2000)


def cut_parameter(param, _):
    """The rest of the parameter: at the same address, and shorter."""
    param.data = param.data[:10]
    param.grad = torch.ones(10)


def cut_state(param, opt):
    opt.state[param]["momentum_buffer"] = torch.zeros(10)


@pytest.mark.parametrize(
    "damage",
    [shorten_gradient, grow_parameter, cut_parameter, cut_state],
    ids=lambda d: d.__name__,
)
def test_no_length_is_trusted(damage):
    """C would read and write past the end; torch's own operations refuse."""
    param, opt = stepped(1000)
    damage(param, opt)
    before = param.detach().clone()
    with pytest.raises((RuntimeError, ValueError)):
        opt.step()
    exactly(param.detach(), before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_a_converted_model_does_not_have_its_old_state_misread(dtype):
    """m and s are still float32: what the loop makes of them is made of them here."""
    results = []
    for kernel in ({}, {"foreach": False}):
        param, opt = stepped(1000, **kernel)
        param.data = param.data.to(dtype)
        param.grad = torch.ones(1000, dtype=dtype)
        opt.step()
        results.append(param.detach())
    torch.testing.assert_close(*results)


def test_an_option_that_is_off_again_leaves_no_trace():
    """The maximum stays in the state, but nothing divides by it."""
    params = [leaf(torch.ones(3)), leaf(torch.ones(3))]
    opts = [acprop.ACProp([p], convention="authors") for p in params]
    for t in range(6):
        opts[0].param_groups[0]["amsgrad"] = t < 3
        for p in params:
            p.grad = torch.full((3,), 1.0 if t == 0 else 1e-3 * (-1) ** t)
        for opt in opts:
            opt.step()
        if t == 2:
            params[1].data.copy_(params[0].data)
    exactly(params[0].detach(), params[1].detach())


def test_every_group_keeps_its_own_plan_when_one_is_made_anew():
    params = plain_params()[:2]
    opt = acprop.ACProp([{"params": [p]} for p in params], lr=0.0, convention="authors")
    opt.param_groups[1]["lr"] = 1.0
    walk(opt, 2)
    params[0].data = params[0].data.clone()
    before = params[0].detach().clone()
    walk(opt, range(2, 5))
    assert torch.equal(params[0].detach(), before)


# fused=True is a demand.


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"delay": 2}, "its delay is 0 or 1, got 2"),
        ({"constraint": acprop.Box(0, 1)}, "it has no constraint, got Box"),
        ({"differentiable": True}, "it can be neither captured nor differentiated"),
        ({"capturable": True}, "it can be neither captured nor differentiated"),
    ],
    ids=str,
)
def test_what_the_native_kernel_lacks_is_said_at_the_first_step(options, reason):
    opt = acprop.ACProp(plain_params(), fused=True, **options)
    with pytest.raises(RuntimeError, match="fused must be None or False, got True; of"):
        walk(opt, 1)
    with pytest.raises(RuntimeError, match=reason):
        walk(opt, 1)


@pytest.mark.parametrize("named", [False, True])
def test_a_type_the_native_kernel_lacks_is_said_at_the_first_step(named):
    param = leaf(torch.ones(2, dtype=torch.complex64))
    opt = acprop.ACProp([("z", param)] if named else [param], fused=True)
    with pytest.raises(RuntimeError, match="real floating-point parameters, got torch"):
        walk(opt, 1)


def test_a_gradient_laid_out_otherwise_is_refused_only_if_fused_was_demanded():
    def run(**options):
        param = leaf(torch.ones(3, 2))
        opt = acprop.ACProp([param], **options)
        for _ in range(3):
            param.grad = torch.arange(6.0).reshape(2, 3).t()
            opt.step()
        return param.detach()

    exactly(run(), run(foreach=False))
    with pytest.raises(RuntimeError, match="gradient and state laid out alike"):
        run(fused=True)


@pytest.mark.parametrize("fused", [True, None, False])
def test_a_scaler_unscales_in_place_and_skips_overflows_whatever_the_kernel(fused):
    """torch.amp.GradScaler: afterwards p.grad is unscaled, as with torch.optim."""
    ours, peers = leaf(torch.ones(4)), leaf(torch.ones(4))
    half = leaf(torch.ones(3, 2).t())  # takes another kernel where it may
    layout = torch.arange(6.0).reshape(2, 3)
    opt = acprop.ACProp([{"params": [ours]}, {"params": [half], "fused": None}])
    opt.param_groups[0]["fused"] = fused
    peer = acprop.ACProp([peers], foreach=False)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1000)
    moved = half.detach().clone()
    for factor in (1.0, 2.0, float("inf"), 3.0):
        opt.zero_grad()
        scaler.scale((ours * factor).sum() + (half * layout).sum()).backward()
        scaler.step(opt)
        scaler.update()
        exactly(ours.grad, torch.full((4,), factor))
        exactly(half.grad, layout)
        if factor < float("inf"):
            peers.grad = torch.full_like(peers, factor)
            peer.step()
    up_to_rounding(snapshot(opt)[:1], snapshot(peer))
    assert opt.state[half]["step"] == 3
    assert not torch.equal(half.detach(), moved)


def test_a_whole_model_in_half_precision_stays_on_the_native_path():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).bfloat16()
    model = model.to(memory_format=torch.channels_last)
    opt = acprop.ACProp(model.parameters())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            images = torch.randn(2, 3, 8, 8, dtype=torch.bfloat16)
            model(
                images.to(memory_format=torch.channels_last)
            ).float().mean().backward()
            opt.step()
    assert len(opt._plans) == 1
