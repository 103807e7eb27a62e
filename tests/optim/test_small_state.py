"""`small_state=True`: a quarter of the bytes, the same training, checkpoints."""

import copy
import io

import pytest
import torch
from torch import Tensor, nn

import acprop

CODED = {
    "step",
    "stream",
    "momentum_buffer_code",
    "momentum_buffer_scale",
    "exp_avg_sq_code",
    "exp_avg_sq_scale",
}


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8))


def train(net: nn.Module, opt, n_steps: int = 20, seed: int = 1) -> float:
    draw = torch.Generator().manual_seed(seed)
    teacher = torch.randn(32, 8, generator=torch.Generator().manual_seed(7))
    loss = torch.zeros(())
    for _ in range(n_steps):
        opt.zero_grad()
        inputs = torch.randn(64, 32, generator=draw).to(next(net.parameters()).dtype)
        targets = (inputs.float() @ teacher).argmax(1)
        loss = nn.functional.cross_entropy(net(inputs).float(), targets)
        loss.backward()
        opt.step()
    return loss.item()


def params_of(net: nn.Module) -> list[Tensor]:
    return [p.detach().clone() for p in net.parameters()]


def assert_equal(a: list[Tensor], b: list[Tensor]) -> None:
    assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def n_bytes(opt, param: Tensor) -> int:
    return sum(
        value.numel() * value.element_size()
        for name, value in opt.state[param].items()
        if name not in ("step", "stream")
    )


# 1. How small, how good


def test_the_state_of_a_matrix_takes_two_bytes_and_a_scale():
    """8 bytes per parameter become 2 + 2·4/64 = 2.125."""
    param = torch.zeros(512, 256, requires_grad=True)
    param.grad = torch.ones_like(param)
    sizes = {}
    for small in (False, True):
        opt = acprop.ACProp([param], small_state=small)
        opt.step()
        sizes[small] = n_bytes(opt, param) / param.numel()
    assert sizes == {False: 8.0, True: 2.125}


def test_biases_keep_their_numbers():
    net = model()
    opt = acprop.ACProp(net.parameters(), small_state=True)
    train(net, opt, 1)
    assert set(opt.state[net[0].weight]) == CODED
    assert set(opt.state[net[0].bias]) == {"step", "momentum_buffer", "exp_avg_sq"}


def test_a_network_trains_as_with_float32_state():
    """200 steps; the studies in results/small-state say it of real tasks."""
    losses = {}
    for small in (False, True):
        net = model()
        opt = acprop.ACProp(net.parameters(), lr=3e-3, small_state=small)
        losses[small] = train(net, opt, 200)
    assert losses[True] < 1.02 * losses[False]


def test_s_follows_noise_that_grows_and_falls():
    """Its change per step is 1/50 of the distance of two codes.

    Rounded to the nearest it is off by 12 % (results/small-state/codes.json); here,
    in the mean over 8192 elements, by less than 1 % of √s.
    """
    both = [torch.zeros(128, 64, requires_grad=True) for _ in range(2)]
    exact, coded = (
        acprop.ACProp([p], small_state=small)
        for p, small in zip(both, (False, True), strict=True)
    )
    draw = torch.Generator().manual_seed(0)
    for scale in (1.0, 0.1):
        for _ in range(300):
            g = scale * torch.randn(128, 64, generator=draw)
            for p, opt in zip(both, (exact, coded), strict=True):
                p.grad = g
                opt.step()
        saved = acprop.ACProp([both[1]])
        saved.load_state_dict(coded.state_dict())
        s = saved.state[both[1]]["exp_avg_sq"]
        ratio = (s / exact.state[both[0]]["exp_avg_sq"]).sqrt()
        assert abs(ratio.mean() - 1) < 0.02
        assert ratio.std() < 0.15


def far_beside(times: float, small: bool, **options) -> float:
    """How far elements move in 500 steps beside one with `times` their gradient."""
    param = torch.zeros(32, 64, requires_grad=True)
    opt = acprop.ACProp([param], lr=1.0, small_state=small, **options)
    draw = torch.Generator().manual_seed(0)
    far = 0.0
    for t in range(800):
        param.grad = torch.randn(32, 64, generator=draw)
        param.grad[:, 0] *= times
        before = param.detach()[:, 1:].clone()
        opt.step()
        far += (param.detach()[:, 1:] - before).abs().mean().item() * (t >= 300)
    return far


@pytest.mark.parametrize("times", [1e2, 1e4, 1e6, 1e8])
def test_a_huge_neighbour_does_not_change_the_others_steps_much(times):
    """√s of two neighbouring codes differ by 1.04, 1.2, 1.6 and 4 times there."""
    ratio = far_beside(times, small=True) / far_beside(times, small=False)
    assert abs(ratio - 1) < {1e2: 0.04}.get(times, 0.16)


def test_of_rules_that_keep_m_a_huge_neighbour_shortens_the_steps():
    """docs/small-state.md: what rounds m of the others at random is noise in g - m."""
    options = {"average": None, "center": "m"}
    ratio = far_beside(1e6, small=True, **options) / far_beside(
        1e6, small=False, **options
    )
    assert 0.3 < ratio < 0.6


def test_a_silent_element_is_as_safe_as_in_float32():
    """The hazard: 500 zeros in one element, noise in its block, then a gradient."""
    param = torch.zeros(1, 64, requires_grad=True)
    opt = acprop.ACProp([param], lr=1.0, small_state=True)
    draw = torch.Generator().manual_seed(0)
    for _ in range(500):
        param.grad = torch.randn(1, 64, generator=draw)
        param.grad[0, 3] = 0
        opt.step()
    before = param.detach().clone()
    param.grad = torch.ones(1, 64)
    opt.step()
    assert (param - before).abs().max() <= 501**0.25 * 1.001


# 2. Kernels, layouts, types


OPTIONS = [
    {},
    {"convention": "authors", "weight_decay": 0.1},
    {"amsgrad": True, "average": "after", "center": "m"},
    {"amsgrad": True, "average": "before", "nesterov": True},
    {"average": None},
    {"delay": 0, "average": "before"},
    {"capturable": True, "foreach": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_pieces_of_a_tensor_are_its_whole(options, monkeypatch):
    """A few rows at a time, so that no second copy of the state is ever made."""
    from acprop.optim.kernels import small

    ends = []
    for n_elements in (2**16, 200):
        monkeypatch.setattr(small, "_ELEMENTS", n_elements)
        net = model()
        opt = acprop.ACProp(net.parameters(), small_state=True, **options)
        train(net, opt, 5)
        ends.append(params_of(net))
    assert_equal(*ends)


def test_a_long_vector_is_cut_into_blocks(monkeypatch):
    """What flattens parameters, as FSDP1 does, makes vectors of matrices."""
    from acprop.optim.kernels import small

    ends = []
    for n_elements in (2**16, 256):
        monkeypatch.setattr(small, "_ELEMENTS", n_elements)
        param = torch.zeros(5000, requires_grad=True)
        opt = acprop.ACProp([param], small_state=True)
        draw = torch.Generator().manual_seed(0)
        for _ in range(5):
            param.grad = torch.randn(5000, generator=draw)
            opt.step()
        ends.append([param.detach()])
        assert opt.state[param]["momentum_buffer_scale"].shape == (1, 79)
    assert_equal(*ends)


def test_a_channels_last_tensor_takes_the_same_steps():
    ends = []
    for layout in (torch.contiguous_format, torch.channels_last):
        param = torch.zeros(4, 8, 3, 3).to(memory_format=layout).requires_grad_()
        opt = acprop.ACProp([param], small_state=True)
        draw = torch.Generator().manual_seed(0)
        for _ in range(5):
            g = torch.randn(4, 8, 3, 3, generator=draw)
            param.grad = g.to(memory_format=layout)
            opt.step()
        ends.append([param.detach().contiguous()])
    assert_equal(*ends)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
def test_other_types_have_it_too(dtype):
    net = model().to(dtype)
    opt = acprop.ACProp(net.parameters(), lr=3e-3, small_state=True)
    first = train(net, opt, 1)
    assert train(net, opt, 100) < first
    state = opt.state[net[0].weight]
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    assert state["momentum_buffer_scale"].dtype == wide


@pytest.mark.parametrize(
    "options",
    [
        {"delay": 2},
        {"constraint": acprop.Box(-1, 1)},
        {"differentiable": True},
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(options):
    with pytest.raises(ValueError, match=r"^small_state must be False with "):
        acprop.ACProp([torch.zeros(2, requires_grad=True)], small_state=True, **options)


@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (acprop.ACProp, {"delay": 3}),
        (acprop.ACProp, {"constraint": acprop.Box(-3.0, 3.0)}),
        (acprop.AdaShift, {"reduction": "max"}),
    ],
    ids=str,
)
def test_nor_does_it_go_together_by_hand_or_by_a_checkpoint(cls, options):
    """A delay took wrong steps, a box was left, a reduction was an IndexError."""
    net, twin = model(), model()
    opt = cls(net.parameters(), **options)
    train(net, opt, 3)
    ours = cls(twin.parameters(), small_state=True)
    train(twin, ours, 3)
    before, state = params_of(net), copy.deepcopy(ours.state_dict()["state"])
    (name,) = options
    message = rf"^small_state must be False with {name}=.* got True$"
    with pytest.raises(ValueError, match=message):
        ours.load_state_dict(saved(opt))
    torch.testing.assert_close(ours.state_dict()["state"], state, rtol=0, atol=0)
    opt.param_groups[0]["small_state"] = True
    with pytest.raises(ValueError, match=message):
        train(net, opt, 1)
    assert_equal(params_of(net), before)


# 3. Checkpoints


def saved(opt) -> dict:
    file = io.BytesIO()
    torch.save(opt.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_checkpoint_continues_bit_for_bit(dtype):
    net = model().to(dtype)
    opt = acprop.ACProp(net.parameters(), small_state=True)
    train(net, opt, 5)
    twin = copy.deepcopy(net)
    other = acprop.ACProp(twin.parameters(), small_state=True)
    other.load_state_dict(saved(opt))
    for p, q in zip(net.parameters(), twin.parameters(), strict=True):
        for name, value in opt.state[p].items():
            assert other.state[q][name].dtype == value.dtype
            assert torch.equal(other.state[q][name], value)
    train(net, opt, 5, seed=2)
    train(twin, other, 5, seed=2)
    assert_equal(params_of(net), params_of(twin))


@pytest.mark.parametrize("small", [True, False])
def test_a_checkpoint_of_the_other_kind_is_converted(small):
    """How state is kept is the optimizer's own, and not the checkpoint's to say."""
    net = model()
    opt = acprop.ACProp(net.parameters(), small_state=not small)
    train(net, opt, 30)
    other = acprop.ACProp(net.parameters(), lr=0.5, small_state=small)
    other.load_state_dict(saved(opt))
    weight = net[0].weight
    assert other.param_groups[0]["small_state"] is small
    assert other.param_groups[0]["lr"] == opt.param_groups[0]["lr"]
    assert ("momentum_buffer_code" in other.state[weight]) is small
    assert ("momentum_buffer" in other.state[weight]) is not small
    wide, coded = (opt, other) if small else (other, opt)
    back = acprop.ACProp(net.parameters())
    back.load_state_dict(coded.state_dict())
    for name in ("momentum_buffer", "exp_avg_sq"):
        a, b = back.state[weight][name], wide.state[weight][name]
        assert (a - b).norm() < 0.05 * b.norm()
    train(net, other, 3)


def test_an_older_checkpoint_without_the_option_is_read():
    net = model()
    opt = acprop.ACProp(net.parameters())
    train(net, opt, 3)
    old = saved(opt)
    for group in old["param_groups"]:
        del group["small_state"], group["stochastic_rounding"]
    other = acprop.ACProp(net.parameters(), small_state=True)
    other.load_state_dict(old)
    assert set(other.state[net[0].weight]) == CODED
    train(net, other, 3)


def test_the_option_may_change_between_steps():
    net = model()
    opt = acprop.ACProp(net.parameters())
    for small in (True, False, True):
        opt.param_groups[0]["small_state"] = small
        train(net, opt, 2)
        assert ("momentum_buffer_code" in opt.state[net[0].weight]) is small
        assert ("momentum_buffer" in opt.state[net[0].weight]) is not small


def test_a_copy_takes_the_same_steps():
    net = model()
    opt = acprop.ACProp(net.parameters(), small_state=True)
    train(net, opt, 3)
    twin, other = copy.deepcopy((net, opt))
    train(net, opt, 3)
    train(twin, other, 3)
    assert_equal(params_of(net), params_of(twin))
