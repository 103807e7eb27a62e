"""Every optimizer by name: what it is said to be, and that a run with it can resume."""

import io
import json
import sys
import warnings
from dataclasses import asdict

import pytest
import torch
from torch import nn

from acprop import rule
from acprop.bench.optimizers import (
    ENTRIES,
    NOT_OFFERED,
    build,
    find,
    resolved,
    rows,
)

NAMES = list(ENTRIES)
EITHER = [name for name, entry in ENTRIES.items() if entry.decay == "either"]
# Lookahead decays as the optimizer inside does.
COUPLED = [name for name, entry in ENTRIES.items() if entry.decay != "decoupled"]
DECOUPLED = [n for n, e in ENTRIES.items() if e.decay != "coupled" and n != "lookahead"]


def network(seed=0, dtype=torch.float32):
    """A convolution with channels_last weights, its norm, and a linear layer."""
    torch.manual_seed(seed)
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, bias=False),  # the norm would hide a bias
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64, 3),
    )
    return net.to(dtype, memory_format=torch.channels_last)


def backward(net, step, graph=False):
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(8, 2, 4, 4, generator=generator)
    y = torch.randint(0, 3, (8,), generator=generator)
    x = x.to(net[0].weight.dtype).contiguous(memory_format=torch.channels_last)
    net.zero_grad(set_to_none=True)
    with warnings.catch_warnings():
        # torch warns of every create_graph=True, whatever is done about it.
        warnings.filterwarnings("ignore", "Using backward.*create_graph")
        nn.functional.cross_entropy(net(x), y).backward(create_graph=graph)


def train(net, optimizer, steps, factory):
    """As the loop does: set the scheduled rate, backward, step."""
    initial = [group["lr"] for group in factory(network()).param_groups]
    for step in steps:
        for group, lr in zip(optimizer.param_groups, initial, strict=True):
            group["lr"] = lr * (1.0 if step < 4 else 0.1)
        backward(net, step, factory.needs_graph)
        optimizer.step()
    return [param.detach().clone() for param in net.parameters()]


def trained(name, settings=None, n_steps=6, dtype=torch.float32):
    factory, net = build(name, settings), network(dtype=dtype)
    return train(net, factory(net), range(n_steps), factory)


def differ(one, other):
    return any(not torch.equal(a, b) for a, b in zip(one, other, strict=True))


def saved_and_loaded(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def resumed(factory):
    """Three steps, a checkpoint in and out of a file, three more elsewhere."""
    first = network()
    optimizer = factory(first)
    train(first, optimizer, range(3), factory)
    saved = saved_and_loaded([first.state_dict(), optimizer.state_dict()])
    second = network(seed=1)
    fresh = factory(second)
    second.load_state_dict(saved[0])
    fresh.load_state_dict(saved[1])
    torch.manual_seed(99)  # a new process has another global stream
    return train(second, fresh, range(3, 6), factory)


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_run_has_the_bits_of_an_unbroken_one(name):
    """channels_last, weight decay and a drop of the rate after the checkpoint."""
    factory = build(name, {"weight_decay": 5e-2})
    assert not differ(resumed(factory), trained(name, {"weight_decay": 5e-2}))


@pytest.mark.parametrize("name", NAMES)
def test_it_moves_every_parameter_and_says_nothing(name, capfd):
    before = list(network().parameters())
    after = trained(name)
    assert all(p.isfinite().all() for p in after)
    assert all(differ([a], [b]) for a, b in zip(before, after, strict=True))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", NAMES)
def test_gradients_and_memory_layout_are_left_as_they_were(name):
    factory, net = build(name, {"weight_decay": 0.1}), network()
    optimizer = factory(net)
    layout = [(p.stride(), p.data_ptr()) for p in net.parameters()]
    for step in range(2):
        backward(net, step, factory.needs_graph)
        before = [p.grad.detach().clone() for p in net.parameters()]
        optimizer.step()
        assert not differ(before, [p.grad for p in net.parameters()])
    assert layout == [(p.stride(), p.data_ptr()) for p in net.parameters()]


# Another value for every setting; where it shows only beside others, with those.
OTHER = {
    "lr": 3e-3,
    "beta1": 0.5,
    "beta2": 0.9,
    "eps": 1e-2,
    "weight_decay": 0.1,
    "decoupled": True,
    "convention": "paper",
    "amsgrad": True,
    "delay": 2,
    "average": "before",
    "center": None,
    "reduction": "max",
    "clip": 1e-2,
    "momentum": 0.5,
    "small_state": True,
    "state_dtype": "bfloat16",
    "nesterov": True,
    "ACProp nesterov": False,
    "SOAP lr": 1e-2,
    "momentum_decay": 0.1,
    "alpha": 0.9,
    "rho": 0.5,
    "lr_decay": 0.1,
    "partial": 0.25,
    "final_lr": 0.01,
    "gamma": 0.1,
    "initial_accumulator": 1e-2,
    "delta": 0.0,
    "wd_ratio": 0.5,
    "inner": "sgd",
    "k": 2,
    "slow_step": 0.25,
    "clipped": False,
    "rebound": "belief",
    "warmup_steps": 2,
    "init_lr": 1e-3,
    "hessian_power": 0.5,
    "num_samples": 2,
    "beta3": 0.9,
    "slow_weight": 1.0,
    "t_alpha_beta3": 10,
    "precondition_frequency": 2,
    "max_precondition_dim": 2,
    "muon_ratio": 0.5,
    "Corner centered": False,
    "Corner nesterov": False,
    "Corner delay": 0,
    "start": "first",
    "kappa": 0.5,
}
BESIDE = {
    "decoupled": {"weight_decay": 0.1},
    "wd_ratio": {"weight_decay": 0.1},
    "adashift beta1": {"delay": 2},
}
EVERY_SETTING = [
    (name, setting)
    for name in NAMES
    for setting in {
        **resolved(name),
        **find(name).settings,
    }
    if setting != "decoupled" or ENTRIES[name].decay == "either"
    if (name, setting) != ("lookahead", "decoupled")
]


@pytest.mark.parametrize(("name", "setting"), EVERY_SETTING)
def test_a_setting_changes_the_outcome(name, setting):
    beside = BESIDE.get(setting) or BESIDE.get(f"{name} {setting}", {})
    one = trained(name, beside)
    special = f"{find(name).kind} {setting}"
    other = OTHER[special if special in OTHER else setting]
    assert differ(one, trained(name, {**beside, setting: other}))


# Two ways to the same numbers round differently, by how much the CPU decides, and an
# adaptive step may enlarge it where a gradient is small. So in float64, with room.
WIDE, ROUNDED = torch.float64, 1e-10


@pytest.mark.parametrize("name", COUPLED)
def test_coupled_decay_is_the_parameter_added_to_the_gradient(name):
    """The paper's weight decay, L2; for AdaHessian the curvature is the loss's own."""
    ours = trained(name, {"weight_decay": 0.1}, n_steps=3, dtype=WIDE)
    factory, net = build(name), network(dtype=WIDE)
    optimizer = factory(net)

    def add(*_):
        for p in net.parameters():
            p.grad = p.grad.add(p.detach(), alpha=0.1)

    optimizer.register_step_pre_hook(add)
    theirs = train(net, optimizer, range(3), factory)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=ROUNDED)


@pytest.mark.parametrize("name", DECOUPLED)
def test_decoupled_decay_shrinks_by_lr_times_lambda_besides_the_step(name):
    """x - lr·λ·x - step; without AdamP's projection and Apollo's warm-up, see there.

    LaProp and SOAP shrink what the step has left, as their notes tell; SOAP's first
    does nothing.
    """
    n_steps = 2 if name == "soap" else 1
    own = {"adamp": {"delta": 0.0}, "apollo": {"warmup_steps": 0}}.get(name, {})
    settings = {**own, "lr": 1e-2, "decoupled": True}
    start = [p.detach().clone() for p in network(dtype=WIDE).parameters()]
    plain = trained(name, settings, n_steps, dtype=WIDE)
    decayed = trained(name, {**settings, "weight_decay": 0.5}, n_steps, dtype=WIDE)
    if name in ("laprop", "soap"):
        start = plain
    for x, a, b in zip(start, plain, decayed, strict=True):
        torch.testing.assert_close(b, a - 1e-2 * 0.5 * x, rtol=0, atol=ROUNDED)


@pytest.mark.parametrize("name", NAMES)
def test_resolved_settings_are_json_and_a_fixed_point(name):
    once = resolved(name, {"lr": 1})
    assert resolved(name, json.loads(json.dumps(once))) == once
    assert type(once["lr"]) is float


def test_table_1_is_whole():
    """Table 1 of the paper, all ten of it."""
    listed = {row.name: row.cell for row in rows()}
    table = {
        "synchronous, uncentered": ["adam", "radam", "adadelta", "rmsprop", "padam"],
        "synchronous, centered": ["rmsprop-centered", "sdprop", "adabelief"],
        "asynchronous, uncentered": ["adashift"],
        "asynchronous, centered": ["acprop"],
    }
    for cell, names in table.items():
        assert sorted(n for n, c in listed.items() if c == cell) == sorted(names)


def test_the_list_ends_with_what_is_not_offered_and_why():
    missing = [row for row in rows() if not row.library]
    assert [row.name for row in missing] == ["nosadam", "sadam", "adax"]
    assert all(row.note.startswith("not offered: no main") for row in missing)


def test_without_pytorch_optimizer_the_list_still_prints_and_the_error_helps(
    monkeypatch,
):
    monkeypatch.setitem(sys.modules, "pytorch_optimizer", None)
    assert len(rows()) == len(ENTRIES) + len(NOT_OFFERED)
    build("acprop")
    with pytest.raises(ImportError, match=r"pip install 'acprop\[bench\]'"):
        build("yogi")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("acprp", {}, r"optimizer must be one of acprop, .* got 'acprp'"),
        ("adax", {}, r"optimizer must be one on offer, got adax; no maintained"),
        ("adam", {"momentum": 0.9}, r"settings of adam must be among lr, .* momentum"),
        ("lookahead", {"momentum": 0.9}, r"settings of lookahead over adam must be"),
        ("lookahead", {"inner": "adahessian"}, r"inner must be one of acprop, .* got"),
        ("adam", {"lr": 0}, r"lr must be finite and above 0, got 0"),
        ("adam", {"lr": float("inf")}, r"lr must be finite and above 0, got inf"),
        ("adam", {"beta2": 1.0}, r"beta2 must be in \[0, 1\), got 1.0"),
        ("adam", {"betas": [0.9, 1.0]}, r"beta2 must be in \[0, 1\), got 1.0"),
        ("adam", {"betas": [0.9, 0.9], "beta1": 0.5}, r"betas must stand alone"),
        ("sgd", {"betas": [0.9, 0.9]}, r"settings of sgd must be among lr, .* beta1"),
        ("adam", {"eps": -1e-8}, r"eps must be finite and 0 or more, got -1e-08"),
        ("padam", {"partial": 0.6}, r"partial must be in \(0, 0.5\], got 0.6"),
        ("lookahead", {"k": 2.5}, r"k must be a whole number, got 2.5"),
        ("apollo", {"rebound": "x"}, r"rebound must be one of constant, belief, got"),
        ("acprop", {"convention": "x"}, r"convention must be one of .* got 'x'"),
        ("sgd-nesterov", {"momentum": 0}, r"must be what torch.optim accepts.*Nester"),
        ("sgd", {"decoupled": True}, r"decoupled must be False for sgd, .* coupled"),
        ("adam", {"decoupled": True}, r"decoupled must be False .*; use adamw"),
        ("adamw", {"decoupled": False}, r"decoupled must be True .*; use adam"),
        ("adamp", {"decoupled": False}, r"decoupled must be True .* pytorch_optimizer"),
    ],
)
def test_a_bad_value_is_refused_when_it_is_built(name, settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        build(name, settings)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("adam", {"lr": "1e-3"}, r"lr must be a number, got '1e-3'"),
        ("adam", {"lr": True}, r"lr must be a number, got True"),
        ("adam", {"eps": None}, r"eps must be a number, got None"),
        ("adam", {"betas": 0.9}, r"betas must be a pair of numbers, got 0.9"),
        ("sgd", {"nesterov": 1}, r"nesterov must be True or False, got 1"),
    ],
)
def test_a_bad_kind_of_value_is_refused_when_it_is_built(name, settings, message):
    with pytest.raises(TypeError, match=message):
        build(name, settings)


def test_betas_are_beta1_and_beta2():
    apart = resolved("acprop", {"beta1": 0.8, "beta2": 0.9})
    assert resolved("acprop", {"betas": [0.8, 0.9]}) == apart


def test_a_frozen_parameter_is_left_out():
    net = network()
    net[0].weight.requires_grad_(False)
    groups = build("acprop")(net).param_groups
    assert len(groups[0]["params"]) == len(list(net.parameters())) - 1


def test_groups_of_parameters_keep_their_own_options():
    net = network()
    groups = [{"params": net[0].parameters(), "lr": 0.5}, {"params": net[4].weight}]
    optimizer = build("adam", {"lr": 0.25})(groups)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.25]


def test_adahessian_alone_needs_the_graph_of_the_backward_pass():
    assert [name for name in NAMES if build(name).needs_graph] == ["adahessian"]


def test_adahessian_draws_its_probes_without_touching_the_global_stream():
    factory, net = build("adahessian"), network()
    optimizer = factory(net)
    backward(net, 0, graph=True)
    before = torch.get_rng_state()
    optimizer.step()
    assert torch.equal(before, torch.get_rng_state())


def test_adahessian_draws_other_probes_at_every_step():
    factory, net = build("adahessian"), network()
    optimizer = factory(net)
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.append(torch.initial_seed()))
    train(net, optimizer, range(3), factory)
    assert seen == [0, 1, 2]


def test_adahessian_is_refused_on_several_ranks(monkeypatch):
    factory = build("adahessian")
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    with pytest.raises(RuntimeError, match=r"must run in one process, got 2 ranks"):
        factory(network())


SWITCHES_AT_ONCE = {"eps": 1.0}  # SWATS takes ε as its tolerance too


def test_swats_goes_on_with_the_rate_it_found_as_the_library_alone_does():
    """The loop sets group["lr"] before every step, which must not undo the switch."""
    import pytorch_optimizer

    factory, net = build("swats", SWITCHES_AT_ONCE), network()
    optimizer = factory(net)
    alone = network()
    theirs = pytorch_optimizer.SWATS(alone.parameters(), eps=1.0, foreach=True)
    ours = train(net, optimizer, range(4), factory)
    for step in range(4):
        backward(alone, step)
        theirs.step()
    assert optimizer.param_groups[0]["phase"] == "sgd"
    assert theirs.param_groups[0]["lr"] != 1e-3
    assert optimizer.param_groups[0]["sgd_lr"] == theirs.param_groups[0]["lr"]
    assert not differ(ours, list(alone.parameters()))


def test_a_schedule_scales_the_rate_that_swats_found():
    moves = []
    for factor in (1.0, 0.5):
        factory, net = build("swats", SWITCHES_AT_ONCE), network(dtype=WIDE)
        optimizer = factory(net)
        before = train(net, optimizer, range(3), factory)
        backward(net, 3)
        optimizer.param_groups[0]["lr"] = 1e-3 * factor
        optimizer.step()
        moves.append(net[4].weight.detach() - before[3])
    torch.testing.assert_close(moves[1], 0.5 * moves[0], rtol=0, atol=ROUNDED)


def test_a_switched_swats_resumes_bit_for_bit():
    factory = build("swats", SWITCHES_AT_ONCE)
    assert not differ(resumed(factory), trained("swats", SWITCHES_AT_ONCE))


def test_lookahead_over_acprop_is_acprop_until_its_first_return():
    """ "ACProp could be combined with … LookAhead" (Section 5)."""
    settings = {"inner": "acprop", "k": 4, "convention": "authors"}
    alone = {"convention": "authors"}
    assert not differ(trained("lookahead", settings, 3), trained("acprop", alone, 3))
    assert differ(trained("lookahead", settings, 4), trained("acprop", alone, 4))


def test_an_entry_says_what_it_is():
    assert find("avagrad").library == "pytorch_optimizer"
    assert find("sgd").cell == "not adaptive"


@pytest.mark.parametrize("name", ["acprop", "adam", "adabelief", "yogi"])
def test_an_eps_that_underflows_is_refused_before_anything_begins(name):
    """1e-46 is a number to Python and 0 to every parameter that is trained."""
    message = r"^eps must not underflow, got 1e-46, which is 0 in float32; use 1\.4e-45"
    with pytest.raises(ValueError, match=message):
        resolved(name, {"eps": 1e-46})
    assert resolved(name, {"eps": 1e-45})["eps"] == 1e-45
    assert resolved(name, {"eps": 0.0})["eps"] == 0


@pytest.mark.parametrize("name", ["adam", "radam"])
def test_an_eps_that_underflows_in_half_precision_is_refused(name):
    """Where the library divides in the parameters' own precision."""
    half = [torch.nn.Parameter(torch.zeros(2, dtype=torch.float16))]
    with pytest.raises(ValueError, match=r"got 1e-16, which is 0 in float16; use 6"):
        build(name, {"eps": 1e-16})(half)
    build(name, {"eps": 1e-4})(half)
    build(name, {"eps": 1e-16})([torch.nn.Parameter(torch.zeros(2))])


def test_ours_keeps_a_small_eps_in_half_precision():
    """Its state and its division are float32."""
    half = [torch.nn.Parameter(torch.zeros(2, dtype=torch.float16))]
    made = build("acprop", {"convention": "authors", "eps": 1e-16})(half)
    assert made.param_groups[0]["eps"] == 1e-16


CORNER = {"average": "before", "center": None, "delay": 0, "nesterov": False}


def test_a_corner_of_the_family_can_be_named_by_its_fields():
    """Adam, by settings of our own class; the convention by its fields, too."""
    same = {"lr": 1e-3, "eps": 1e-8, "weight_decay": 0.1}
    plain = asdict(rule.convention("torch"))
    for convention in ("torch", plain):
        settings = {**same, **CORNER, "convention": convention, "clip": None}
        ours = trained("acprop", settings, dtype=WIDE)
        for a, b in zip(ours, trained("adam", same, dtype=WIDE), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=ROUNDED)
    uncorrected = {**plain, "bias_correction": False}
    settings = {**same, **CORNER, "convention": uncorrected, "clip": None}
    assert differ(ours, trained("acprop", settings, dtype=WIDE))


@pytest.mark.parametrize("scaled", [False, True])
def test_a_cautious_step_moves_no_element_against_its_gradient(scaled):
    """Liang et al. 2024: the rest moves as before, or makes up for what is left out."""
    name = "acprop-cautious-scaled" if scaled else "acprop-cautious"
    draw = torch.Generator().manual_seed(0)
    grads = torch.randn(4, 50, generator=draw, dtype=WIDE)
    moves = []
    for one in ("acprop", name):
        param = nn.Parameter(torch.ones(50, dtype=WIDE))
        optimizer = build(one, {"lr": 1e-2})([param])
        for grad in grads:
            before = param.detach().clone()
            param.grad = grad.clone()
            optimizer.step()
        moves.append(param.detach() - before)
    mask = (moves[0] * grads[-1] < 0).double()
    assert 0 < mask.mean() < 1
    factor = 1 / mask.mean() if scaled else 1.0
    wanted = moves[0] * mask * factor
    torch.testing.assert_close(moves[1], wanted, rtol=0, atol=ROUNDED)
