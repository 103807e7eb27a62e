"""A run that changes its optimizer midway goes on where it was.

Between torch's AdamW and ours, and between the rules of ours: m, the mean of gradients,
and M, the mean of normalised gradients, are made of each other.
"""

import copy

import pytest
import torch
from torch import Tensor, nn

import acprop

from .walks import (
    copies,
    exactly,
    leaf,
    mixed_params,
    params_of,
    plain_params,
    snapshot,
    through_a_file,
    typed_params,
    walk,
)

LR, DECAY = 3e-3, 0.01


# 1. A network goes on without a jump of the loss


def network() -> nn.Module:
    torch.manual_seed(0)
    hidden = [nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh()]
    return nn.Sequential(*hidden, nn.Linear(64, 4))


def train(net: nn.Module, opt: torch.optim.Optimizer, steps: range) -> Tensor:
    """The loss of every step; its batch depends on the number of the step alone."""
    teacher = torch.randn(16, 4, generator=torch.Generator().manual_seed(7))
    dtype, losses = net[0].weight.dtype, []
    for t in steps:
        drawn = torch.randn(128, 16, generator=torch.Generator().manual_seed(1000 + t))
        opt.zero_grad()
        outputs = net(drawn.to(dtype)).float()
        loss = nn.functional.cross_entropy(outputs, (drawn @ teacher).argmax(1))
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def adamw(net: nn.Module, **options):
    return torch.optim.AdamW(net.parameters(), lr=LR, weight_decay=DECAY, **options)


def ours(net: nn.Module, **options):
    return acprop.ACProp(net.parameters(), lr=LR, weight_decay=DECAY, **options)


# Of any loss of the next 20 steps, and of their mean. If average and s started anew it
# would be 17 % of the mean at step 20.
JUMP, DRIFT = 0.1, 0.03


def assert_goes_on(switched: Tensor, unswitched: Tensor) -> None:
    assert (switched / unswitched - 1).abs().max() < JUMP
    assert abs(switched.mean() / unswitched.mean() - 1) < DRIFT


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("n_steps", [20, 100])
@pytest.mark.parametrize(
    ("make_first", "make_second", "convert"),
    [(adamw, ours, dict), (ours, adamw, acprop.to_adamw)],
    ids=["AdamW to ACProp", "ACProp to AdamW"],
)
def test_a_switched_run_goes_on_as_the_unswitched_one_does(
    make_first, make_second, convert, n_steps, amsgrad
):
    """Both ways, and the decay is written out: ours is 0 by default, AdamW's 0.01."""
    net = network()
    first = make_first(net, amsgrad=amsgrad)
    train(net, first, range(n_steps))
    twin = copy.deepcopy(net)
    second = make_second(twin, amsgrad=amsgrad)
    second.load_state_dict(convert(through_a_file(first.state_dict())))
    later = range(n_steps, n_steps + 20)
    assert_goes_on(train(twin, second, later), train(net, first, later))


def test_an_average_that_starts_anew_is_noticed():
    """The check above can fail."""
    net = network()
    first = adamw(net)
    train(net, first, range(20))
    twin = copy.deepcopy(net)
    later = range(20, 40)
    fresh, kept = train(twin, ours(twin), later), train(net, first, later)
    with pytest.raises(AssertionError):
        assert_goes_on(fresh, kept)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
def test_other_types_go_on_too(dtype):
    net = network().to(dtype)
    first = adamw(net)
    train(net, first, range(30))
    twin = copy.deepcopy(net)
    second = ours(twin)
    second.load_state_dict(through_a_file(first.state_dict()))
    state = second.state[twin[0].weight]
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    assert state["momentum_buffer"].dtype == state["exp_avg_sq"].dtype == wide
    before = copy.deepcopy(twin)
    there = train(twin, second, range(30, 50))
    assert_goes_on(there, train(net, first, range(30, 50)))
    back = adamw(before)
    back.load_state_dict(acprop.to_adamw(second.state_dict()))
    assert train(before, back, range(30, 31)).isfinite()


def test_adamws_state_may_be_read_into_8_bits():
    net = network()
    first = adamw(net)
    train(net, first, range(30))
    twin = copy.deepcopy(net)
    second = ours(twin, small_state=True)
    second.load_state_dict(through_a_file(first.state_dict()))
    assert "momentum_buffer_code" in second.state[twin[0].weight]
    later = range(30, 50)
    assert_goes_on(train(twin, second, later), train(net, first, later))


def test_8_bit_state_goes_to_adamw_by_way_of_numbers():
    net = network()
    small = ours(net, small_state=True)
    train(net, small, range(30))
    with pytest.raises(ValueError, match=r"^state_dict must have small_state=False"):
        acprop.to_adamw(small.state_dict())
    wide = ours(net)
    wide.load_state_dict(small.state_dict())
    twin = copy.deepcopy(net)
    second = adamw(twin)
    second.load_state_dict(acprop.to_adamw(wide.state_dict()))
    later = range(30, 50)
    assert_goes_on(train(twin, second, later), train(net, small, later))


# 2. What is made of what


@pytest.mark.parametrize("foreach", [False, True, None])
@pytest.mark.parametrize(
    "peer", [torch.optim.AdamW, torch.optim.Adam, torch.optim.NAdam]
)
def test_state_of_torch_is_read_for_tensors_of_every_kind(peer, foreach):
    """Complex moments become their real views, half-precision ones float32."""
    torchs = walk(peer(mixed_params(), lr=0.02, weight_decay=0.3), 3)
    opt = acprop.ACProp(copies(torchs), foreach=foreach)
    opt.load_state_dict(through_a_file(torchs.state_dict()))
    (group,) = opt.param_groups
    assert (group["lr"], group["weight_decay"], group["eps"]) == (0.02, 0.3, 1e-30)
    assert (group["average"], group["center"]) == ("after", "average")
    assert group["nesterov"] is True
    fresh = snapshot(walk(acprop.ACProp(mixed_params()), 1))
    for theirs, entry, own in zip(snapshot(torchs), snapshot(opt), fresh, strict=True):
        kept = entry["momentum_buffer"]
        m, v = (real(theirs[k]).to(kept.dtype) for k in ("exp_avg", "exp_avg_sq"))
        expected = (m / (v / (1 - 0.999**3)).sqrt()).clamp(-(3**0.25), 3**0.25)
        torch.testing.assert_close(kept, expected)
        exactly(entry["exp_avg_sq"], v)
        assert "exp_avg" not in entry
        assert kept.shape == own["momentum_buffer"].shape
    for entry in snapshot(walk(opt, range(3, 6))):
        assert entry["param"].isfinite().all()
        assert entry["step"] == 6


def real(value: Tensor) -> Tensor:
    return torch.view_as_real(value) if value.is_complex() else value


@pytest.mark.parametrize(
    "cls", [acprop.AdaBelief, acprop.Adam], ids=lambda c: c.__name__
)
def test_rules_that_keep_m_read_it_as_it_is(cls):
    torchs = walk(torch.optim.AdamW(plain_params(), lr=0.02), 3)
    opt = cls(copies(torchs))
    opt.load_state_dict(through_a_file(torchs.state_dict()))
    for theirs, entry in zip(snapshot(torchs), snapshot(opt), strict=True):
        exactly(entry["exp_avg"], theirs["exp_avg"])
        exactly(entry["exp_avg_sq"], theirs["exp_avg_sq"])


def test_a_silent_element_has_an_average_of_zero():
    """0/0 = 0, both ways."""
    param = leaf(torch.ones(2))
    torchs = torch.optim.AdamW([param])
    param.grad = torch.tensor([1.0, 0.0])
    torchs.step()
    opt = acprop.ACProp([param])
    opt.load_state_dict(torchs.state_dict())
    assert opt.state[param]["momentum_buffer"][1] == 0
    back = acprop.to_adamw(opt.state_dict())["state"][0]
    torch.testing.assert_close(back["exp_avg"], torchs.state[param]["exp_avg"])


def test_a_translated_average_keeps_within_the_bound():
    """After a constant gradient s, centered on m, is about 0: m/√s has no limit."""
    param = leaf(torch.ones(1))
    opt = acprop.ACProp([param], betas=(0.9, 0.9), average="before")
    for _ in range(300):
        param.grad = torch.ones(1)
        opt.step()
    state = opt.state[param]
    assert state["exp_avg"] / state["exp_avg_sq"].sqrt() > 50
    opt.param_groups[0].update(average="after", center="average", nesterov=True)
    before = param.detach().clone()
    opt.step()
    assert (param - before).abs() <= 1e-3 * 301**0.25
    assert state["momentum_buffer"] <= 301**0.25


@pytest.mark.parametrize("clip", [None, 0.125])
def test_the_bound_of_a_translated_average_is_the_groups_own(clip):
    torchs = walk(torch.optim.AdamW(plain_params()), 3)
    opt = acprop.ACProp(copies(torchs), clip=clip, eps=1e-8)
    opt.load_state_dict(torchs.state_dict())
    largest = max(e["momentum_buffer"].abs().max() for e in snapshot(opt))
    assert largest > 0.125 if clip is None else largest == 0.125


def test_the_largest_second_moment_is_corrected_on_the_way():
    """AdamW keeps the maximum of v, the guarded convention that of v/(1 - β2^t)."""
    torchs = walk(torch.optim.AdamW(plain_params(), amsgrad=True), 3)
    opt = acprop.ACProp(copies(torchs))
    opt.load_state_dict(through_a_file(torchs.state_dict()))
    seen = 1 - 0.999**3
    back = acprop.to_adamw(opt.state_dict())["state"]
    for i, theirs in enumerate(snapshot(torchs)):
        top = snapshot(opt)[i]["max_exp_avg_sq"]
        torch.testing.assert_close(top, theirs["max_exp_avg_sq"] / seen)
        torch.testing.assert_close(back[i]["max_exp_avg_sq"], theirs["max_exp_avg_sq"])
    authors = acprop.ACProp(copies(torchs), convention="authors")
    authors.load_state_dict(torchs.state_dict())
    exactly(
        snapshot(authors)[0]["max_exp_avg_sq"], snapshot(torchs)[0]["max_exp_avg_sq"]
    )


def test_there_and_back_is_where_it_was():
    opt = walk(acprop.ACProp(plain_params(torch.float64), weight_decay=0.1), 5)
    torchs = torch.optim.AdamW(copies(opt))
    torchs.load_state_dict(acprop.to_adamw(through_a_file(opt.state_dict())))
    again = acprop.ACProp(copies(opt))
    again.load_state_dict(through_a_file(torchs.state_dict()))
    for before, after in zip(snapshot(opt), snapshot(again), strict=True):
        torch.testing.assert_close(after, before)
    theirs, mine = again.param_groups[0], opt.param_groups[0]
    assert {k: theirs[k] for k in mine} == {**mine, "params": theirs["params"]}


# 3. What is handed over, what is refused


def test_adamw_gets_its_own_options_and_the_users_notes():
    """An ε of its own: ours would be far too small; and none of ours that mean more."""
    opt = acprop.ACProp([{"params": plain_params(), "note": "mine"}], lr=0.02)
    torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
    walk(opt, 3)
    torchs = torch.optim.AdamW(copies(opt))
    names = set(torchs.param_groups[0])
    torchs.load_state_dict(acprop.to_adamw(through_a_file(opt.state_dict())))
    (group,) = torchs.param_groups
    assert (group["lr"], group["eps"], group["weight_decay"]) == (0.02, 1e-8, 0.0)
    assert (group["note"], group["initial_lr"]) == ("mine", 0.02)
    assert set(group) == names | {"note", "initial_lr"}
    assert all(p.isfinite().all() for p in params_of(walk(torchs, range(3, 6))))


def test_to_convert_changes_nothing_that_was_given():
    opt = walk(acprop.ACProp(plain_params(), amsgrad=True), 3)
    saved = opt.state_dict()
    kept = copy.deepcopy(saved)
    acprop.to_adamw(saved)
    exactly(saved["state"], kept["state"])
    assert str(saved["param_groups"]) == str(kept["param_groups"])


@pytest.mark.parametrize("foreach", [False, True, None])
def test_adamw_refuses_our_checkpoint_as_it_is(foreach):
    """A mean of normalised gradients taken for one of gradients would be an explosion.

    It has another name, and AdamW looks for its own at the step.
    """
    opt = walk(acprop.ACProp(plain_params()), 3)
    torchs = torch.optim.AdamW(copies(opt), foreach=foreach)
    torchs.load_state_dict(opt.state_dict())
    with pytest.raises(KeyError, match="exp_avg"):
        walk(torchs, range(3, 4))


def test_adamw_refuses_the_state_of_complex_parameters():
    """Kept as real numbers, of which a checkpoint does not say that they are pairs."""
    opt = walk(acprop.ACProp(typed_params()), 3)
    torchs = torch.optim.AdamW(copies(opt))
    torchs.load_state_dict(acprop.to_adamw(opt.state_dict()))
    with pytest.raises(
        RuntimeError, match="view_as_real is only supported for complex"
    ):
        walk(torchs, range(3, 4))


@pytest.mark.parametrize("convention", ["guarded", "paper", "authors"])
def test_an_epsilon_of_a_convention_becomes_adamws_and_another_stays(convention):
    """A checkpoint of ours says what it is; only the one for AdamW differs."""
    for eps, theirs in ((None, 1e-8), (1e-6, 1e-6)):
        opt = walk(acprop.ACProp(plain_params(), eps=eps, convention=convention), 3)
        saved = through_a_file(opt.state_dict())
        assert saved["param_groups"][0]["eps"] == opt.param_groups[0]["eps"]
        assert acprop.to_adamw(saved)["param_groups"][0]["eps"] == theirs
        fresh = acprop.ACProp(copies(opt))
        fresh.load_state_dict(saved)
        assert repr(fresh) == repr(opt)


@pytest.mark.parametrize(
    "given",
    [
        {},
        None,
        {"state": {}, "param_groups": []},
        {"state.0.step": 1.0, "param_groups.0.lr": 0.1},
        torch.optim.SGD([leaf(torch.ones(1))]).state_dict(),
    ],
    ids=str,
)
def test_what_is_no_checkpoint_of_ours_is_refused_by_name(given):
    with pytest.raises(ValueError, match=r"^state_dict must be of an optimizer of acp"):
        acprop.to_adamw(given)


@pytest.mark.parametrize("centered", [False, True])
def test_the_momentum_of_rmsprop_is_a_sum_on_both_sides(centered):
    """Of AdamW's mean m it is m/√v̂/(1 - β1), and back."""
    torchs = walk(torch.optim.AdamW(plain_params(torch.float64)), 5)
    given = {"momentum": 0.9, "alpha": 0.999, "centered": centered}
    opt = acprop.RMSprop(copies(torchs), **given)
    opt.load_state_dict(through_a_file(torchs.state_dict()))
    for theirs, mine in zip(snapshot(torchs), snapshot(opt), strict=True):
        u = theirs["exp_avg"] / (theirs["exp_avg_sq"] / (1 - 0.999**5)).sqrt()
        torch.testing.assert_close(mine["momentum_buffer"], u / (1 - 0.9))
    back = acprop.to_adamw(opt.state_dict())["state"]
    for i, theirs in enumerate(snapshot(torchs)):
        torch.testing.assert_close(back[i]["exp_avg"], theirs["exp_avg"])


# 4. Options that change between two steps

AFTER = {"average": "after", "center": "average", "nesterov": True}
AFTER_ON_M = {"average": "after", "center": "m", "nesterov": False}
BEFORE = {"average": "before", "center": "m", "nesterov": False}


def rooted(state: dict[str, Tensor]) -> Tensor:
    return (state["exp_avg_sq"] / (1 - 0.999 ** state["step"].item())).sqrt()


@pytest.mark.parametrize("foreach", [False, True, None])
@pytest.mark.parametrize(
    ("first", "second"),
    [(AFTER, BEFORE), (BEFORE, AFTER), (BEFORE, AFTER_ON_M), (AFTER, AFTER_ON_M)],
    ids=str,
)
def test_a_mean_is_made_of_the_other_when_another_average_is_chosen(
    first, second, foreach
):
    opt = walk(acprop.ACProp(plain_params(), lr=0.0, foreach=foreach, **first), 30)
    before = snapshot(opt)
    opt.param_groups[0].update(second)
    for param in params_of(opt):
        param.grad = torch.zeros_like(param)  # so that a mean only fades
    opt.step()
    for old, new in zip(before, snapshot(opt), strict=True):
        assert new["step"] == 31
        kept = {"exp_avg"} if second["center"] == "m" else set()
        kept |= {"momentum_buffer"} if second["average"] == "after" else set()
        assert {"exp_avg", "momentum_buffer"} & new.keys() == kept
        both = {**old}
        both.setdefault("exp_avg", old.get("momentum_buffer", 0) * rooted(old))
        both.setdefault("momentum_buffer", both["exp_avg"] / rooted(old))
        for name in kept:
            torch.testing.assert_close(new[name], 0.9 * both[name])


@pytest.mark.parametrize("small_state", [False, True])
def test_a_mean_that_was_not_kept_for_a_while_does_not_come_back_as_it_was(small_state):
    """In the meantime all gradients have turned round."""
    torch.manual_seed(0)
    param = leaf(torch.zeros(8, 64))
    opt = acprop.ACProp([param], small_state=small_state, **AFTER_ON_M)

    def steps(mean: float, n: int) -> None:
        for _ in range(n):
            param.grad = mean + torch.randn(8, 64)
            opt.step()

    steps(1.0, 50)
    assert opt.state[param]["momentum_buffer"].mean() > 0.5
    opt.param_groups[0].update(BEFORE)
    steps(-1.0, 50)
    assert "momentum_buffer" not in opt.state[param]
    opt.param_groups[0].update(AFTER_ON_M)
    steps(-1.0, 1)
    assert opt.state[param]["momentum_buffer"].mean() < -0.5
