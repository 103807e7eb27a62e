"""`state_dtype=torch.bfloat16`: half the bytes, rounded at random, in every kernel."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import acprop
from acprop import native
from acprop.optim.kernels import loop

from .walks import exactly, leaf, snapshot, through_a_file, walk

HALF = {"state_dtype": torch.bfloat16}
RULES = [
    {},
    {"weight_decay": 0.1, "decoupled_weight_decay": False},
    {"average": "before", "amsgrad": True},
    {"average": "after", "center": "m"},
    {"delay": 0, "average": "before"},
]
KERNELS = {"C": {"fused": True}, "loop": {"foreach": False}}


def params(dtype=torch.float32, layout=torch.contiguous_format):
    torch.manual_seed(0)
    weight = torch.randn(9, 5, 3, 7).to(dtype).to(memory_format=layout)
    return [leaf(torch.randn(7).to(dtype)), leaf(weight)]


def model(dtype=torch.float32):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8)).to(dtype)


def train(net, opt, n_steps=20, seed=1):
    draw = torch.Generator().manual_seed(seed)
    teacher = torch.randn(32, 8, generator=torch.Generator().manual_seed(7))
    loss = torch.zeros(())
    for _ in range(n_steps):
        opt.zero_grad()
        inputs = torch.randn(64, 32, generator=draw)
        targets = (inputs @ teacher).argmax(1)
        out = net(inputs.to(next(net.parameters()).dtype)).float()
        loss = nn.functional.cross_entropy(out, targets)
        loss.backward()
        opt.step()
    return loss.item()


def test_the_state_takes_four_bytes_of_every_parameter():
    opt = walk(acprop.ACProp(params(), **HALF), 1)
    for state in opt.state.values():
        assert state["exp_avg_sq"].dtype == torch.bfloat16
        assert state["momentum_buffer"].dtype == torch.bfloat16
        assert set(state) == {"step", "stream", "momentum_buffer", "exp_avg_sq"}


def test_float64_and_complex_parameters_keep_their_own_type():
    both = [leaf(torch.ones(3, dtype=t)) for t in (torch.float64, torch.complex64)]
    opt = walk(acprop.ACProp(both, **HALF), 2)
    kinds = [opt.state[p]["exp_avg_sq"].dtype for p in both]
    assert kinds == [torch.float64, torch.float32]


def test_a_network_trains_as_with_float32_state():
    losses = {}
    for dtype in (None, torch.bfloat16):
        net = model()
        opt = acprop.ACProp(net.parameters(), lr=3e-3, state_dtype=dtype)
        losses[dtype] = train(net, opt, 200)
    assert losses[torch.bfloat16] < 1.02 * losses[None]


def test_s_goes_on_moving():
    """β2 = 0.999 is 1 to the nearest: s would never fall. At random it does.

    In the mean over 8192 elements √s is that of float32 within 1 %.
    """
    both = [torch.zeros(128, 64, requires_grad=True) for _ in range(2)]
    opts = [
        acprop.ACProp([p], state_dtype=dtype)
        for p, dtype in zip(both, (None, torch.bfloat16), strict=True)
    ]
    draw = torch.Generator().manual_seed(0)
    for scale in (1.0, 0.1):
        for _ in range(300):
            g = scale * torch.randn(128, 64, generator=draw)
            for p, opt in zip(both, opts, strict=True):
                p.grad = g
                opt.step()
        s, half = (o.state[p]["exp_avg_sq"] for o, p in zip(opts, both, strict=True))
        ratio = (half.float() / s).sqrt()
        assert abs(ratio.mean() - 1) < 0.01
        assert ratio.std() < 0.06


@pytest.mark.skipif(native.load() is None, reason=str(native.why_not()))
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_kernels_and_layouts_have_the_same_bits(rule, monkeypatch):
    """With an exact root, which torch has not; C, loop, and channels that come last."""

    def exact(radicand, _):
        return torch.from_numpy(np.sqrt(radicand.numpy()))

    monkeypatch.setattr(loop, "_root", exact)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        runs = [
            snapshot(walk(acprop.ACProp(params(dtype, layout), **HALF, **rule, **k), 5))
            for k in KERNELS.values()
            for layout in (torch.contiguous_format, torch.channels_last)
        ]
        for run in runs[1:]:
            exactly(run, runs[0])


@pytest.mark.skipif(native.load() is None, reason=str(native.why_not()))
def test_neither_threads_nor_instruction_sets_change_a_bit():
    runs, before = [], torch.get_num_threads()
    try:
        for n_threads, isa in ((1, 2), (2, 2), (2, 1), (1, 0)):
            torch.set_num_threads(n_threads)
            native.load().acprop_use_isa(isa)
            torch.manual_seed(0)
            large = leaf(torch.randn(700, 131))
            opt = acprop.ACProp([large], fused=True, **HALF)
            runs.append(snapshot(walk(opt, 4)))
    finally:
        torch.set_num_threads(before)
        native.load().acprop_use_isa(-1)
    for run in runs[1:]:
        exactly(run, runs[0])


def test_list_operations_take_the_same_steps():
    ends = []
    for foreach in (False, True):
        net = model()
        opt = acprop.ACProp(net.parameters(), foreach=foreach, **HALF)
        train(net, opt, 10)
        ends.append([p.detach() for p in net.parameters()])
    torch.testing.assert_close(*ends, rtol=1e-4, atol=1e-5)


def test_a_compiled_step_is_the_step():
    net, twin = model(), model()
    opt = acprop.ACProp(net.parameters(), **HALF)
    other = acprop.ACProp(twin.parameters(), **HALF)
    train(net, opt, 3)
    torch._dynamo.reset()
    other.step = torch.compile(other.step, backend="aot_eager")
    train(twin, other, 3)
    torch._dynamo.reset()
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_checkpoint_continues_bit_for_bit(dtype):
    net = model(dtype)
    opt = acprop.ACProp(net.parameters(), **HALF)
    train(net, opt, 5)
    twin = copy.deepcopy(net)
    other = acprop.ACProp(twin.parameters(), **HALF)
    other.load_state_dict(through_a_file(opt.state_dict()))
    exactly(snapshot(other), snapshot(opt))
    train(net, opt, 5, seed=2)
    train(twin, other, 5, seed=2)
    exactly(snapshot(other), snapshot(opt))


@pytest.mark.parametrize("ours", [{}, HALF, {"small_state": True}], ids=str)
@pytest.mark.parametrize("theirs", [{}, HALF, {"small_state": True}], ids=str)
def test_a_checkpoint_of_another_kind_is_converted(ours, theirs):
    """How state is kept is the optimizer's own; so it is if the option is changed."""
    net = model()
    opt = acprop.ACProp(net.parameters(), **theirs)
    train(net, opt, 30)
    other = acprop.ACProp(net.parameters(), **ours)
    other.load_state_dict(through_a_file(opt.state_dict()))
    wide = [acprop.ACProp(net.parameters()) for _ in range(2)]
    for into, source in zip(wide, (opt, other), strict=True):
        into.load_state_dict(source.state_dict())
    weight = net[0].weight
    for name in ("momentum_buffer", "exp_avg_sq"):
        a, b = (w.state[weight][name] for w in wide)
        assert a.dtype == torch.float32
        assert (a - b).norm() < 0.06 * b.norm()
    train(net, other, 3)


def test_the_option_may_change_between_steps():
    net = model()
    opt = acprop.ACProp(net.parameters())
    for dtype in (torch.bfloat16, None, torch.bfloat16):
        opt.param_groups[0]["state_dtype"] = dtype
        train(net, opt, 2)
        kept = opt.state[net[0].weight]["exp_avg_sq"].dtype
        assert kept == (dtype or torch.float32)
        assert opt.param_groups[0]["state_dtype"] == ("bfloat16" if dtype else None)


def test_adamw_reads_what_it_saved():
    net = model()
    opt = acprop.ACProp(net.parameters(), **HALF)
    train(net, opt, 5)
    other = torch.optim.AdamW(net.parameters())
    other.load_state_dict(acprop.to_adamw(opt.state_dict()))
    assert other.state[net[0].weight]["exp_avg"].dtype == torch.float32
    train(net, other, 2)


@pytest.mark.parametrize("bad", [torch.float16, torch.float32, "float8", 16], ids=str)
def test_another_type_is_refused(bad):
    with pytest.raises(ValueError, match=r"^state_dtype must be None or torch.bfloat1"):
        acprop.ACProp([leaf(torch.ones(2))], state_dtype=bad)


@pytest.mark.parametrize(
    "options",
    [
        {"delay": 2},
        {"constraint": acprop.Box(-1, 1)},
        {"differentiable": True},
        {"small_state": True},
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(options):
    with pytest.raises(ValueError, match=r"^state_dtype must be None with "):
        acprop.ACProp([leaf(torch.ones(2))], **HALF, **options)
