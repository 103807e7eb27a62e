"""`acprop.param_groups`: what is decayed, what is overridden, and who can use it."""

import re

import pytest
import torch
from torch import Tensor, nn

import acprop


class Model(nn.Module):
    """One of everything that has parameters with a reputation."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.scale = nn.Parameter(torch.ones(8))
        self.temperature = nn.Parameter(torch.tensor(1.0))
        self.attention = nn.MultiheadAttention(8, 2, add_bias_kv=True)
        self.norm = nn.LayerNorm(8)
        self.plane_norm = nn.LayerNorm((4, 8))  # its weight has two dimensions
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.batch_norm = nn.BatchNorm1d(8)
        self.group_norm = nn.GroupNorm(2, 8)
        self.rms_norm = nn.RMSNorm(8)
        self.conv = nn.Conv1d(8, 8, 3)
        self.head = nn.Linear(8, 11)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens) * self.scale * self.temperature
        x = x + self.attention(x, x, x)[0]
        return self.head(self.norm(x + self.mlp(x)))


DECAYED = {
    "embed.weight",
    "attention.in_proj_weight",
    "attention.out_proj.weight",
    "mlp.0.weight",
    "mlp.2.weight",
    "conv.weight",
    "head.weight",
}


@pytest.fixture
def model() -> Model:
    torch.manual_seed(0)
    return Model()


def options(groups: list[dict]) -> dict[str, dict]:
    """What each parameter gets, by name."""
    return {
        name: {key: value for key, value in group.items() if key != "params"}
        for group in groups
        for name, _ in group["params"]
    }


def test_matrices_are_decayed_and_nothing_else(model):
    """Biases, norms, scales: a decay of these shrinks nothing that needs shrinking."""
    by_name = options(acprop.param_groups(model, 0.05))
    decayed = {name for name, given in by_name.items() if given["weight_decay"] == 0.05}
    assert decayed == DECAYED
    assert all(
        by_name[name] == {"weight_decay": 0.0} for name in by_name.keys() - DECAYED
    )


def test_every_trainable_parameter_is_in_one_group_and_in_order(model):
    groups = acprop.param_groups(model, 0.05)
    found = [pair for group in groups for pair in group["params"]]
    assert len(groups) == 2
    assert dict(found) == dict(model.named_parameters())
    assert len(found) == len(list(model.parameters()))
    order = [name for name, _ in model.named_parameters()]
    for group in groups:
        assert [n for n, _ in group["params"]] == sorted(
            (n for n, _ in group["params"]), key=order.index
        )


def test_frozen_parameters_are_left_out(model):
    model.mlp.requires_grad_(False)
    by_name = options(acprop.param_groups(model, 0.05))
    assert not any(name.startswith("mlp.") for name in by_name)
    assert "head.weight" in by_name


def test_tied_weights_are_given_once(model):
    """Twice, and torch.optim refuses them."""
    model.head.weight = model.embed.weight
    by_name = options(acprop.param_groups(model, 0.05))
    assert "embed.weight" in by_name
    assert "head.weight" not in by_name


def test_one_decay_for_all_makes_one_group(model):
    assert len(acprop.param_groups(model, 0.0)) == 1


def test_parameters_of_the_model_itself_need_no_dot():
    norm = nn.LayerNorm((2, 3))
    by_name = options(acprop.param_groups(norm, 0.05))
    assert by_name == {"weight": {"weight_decay": 0.0}, "bias": {"weight_decay": 0.0}}


# Overrides


def test_a_pattern_adds_options(model):
    groups = acprop.param_groups(model, 0.05, overrides={"head.*": {"lr": 1e-4}})
    by_name = options(groups)
    assert by_name["head.weight"] == {"weight_decay": 0.05, "lr": 1e-4}
    assert by_name["head.bias"] == {"weight_decay": 0.0, "lr": 1e-4}
    assert by_name["embed.weight"] == {"weight_decay": 0.05}
    assert len(groups) == 4


def test_a_pattern_wins_over_the_rule_on_decay(model):
    overrides = {"embed.weight": {"weight_decay": 0.0}, "scale": {"weight_decay": 0.1}}
    by_name = options(acprop.param_groups(model, 0.05, overrides=overrides))
    assert by_name["embed.weight"] == {"weight_decay": 0.0}
    assert by_name["scale"] == {"weight_decay": 0.1}


def test_later_patterns_win_option_by_option(model):
    overrides = {
        "mlp.*": {"lr": 1.0, "betas": (0.5, 0.9)},
        "*.weight": {"lr": 2.0},
        "mlp.0.*": {"weight_decay": 7.0},
    }
    by_name = options(acprop.param_groups(model, 0.05, overrides=overrides))
    pair = (0.5, 0.9)
    assert by_name["mlp.0.weight"] == {"weight_decay": 7.0, "lr": 2.0, "betas": pair}
    assert by_name["mlp.0.bias"] == {"weight_decay": 7.0, "lr": 1.0, "betas": pair}
    assert by_name["mlp.2.bias"] == {"weight_decay": 0.0, "lr": 1.0, "betas": pair}
    assert by_name["head.weight"] == {"weight_decay": 0.05, "lr": 2.0}
    turned = dict(reversed(overrides.items()))
    by_name = options(acprop.param_groups(model, 0.05, overrides=turned))
    assert by_name["mlp.0.weight"]["lr"] == 1.0


def test_parameters_that_the_same_patterns_match_share_a_group(model):
    overrides = {"[he]*.weight": {"lr": 0.1}}
    assert len(acprop.param_groups(model, 0.05, overrides=overrides)) == 3
    assert len(acprop.param_groups(model, 0.0)) == 1


def test_large_tensors_that_print_alike_are_not_equal_options():
    """torch prints a tensor of more than 1000 elements abridged."""
    model = nn.Sequential(*(nn.Linear(50, 50, bias=False) for _ in range(2)))
    lo = torch.zeros(2, 50, 50)
    lo[1, 25, 25] = -1
    overrides = {f"{i}.*": {"constraint": acprop.Box(lo[i], 1.0)} for i in range(2)}
    by_name = options(acprop.param_groups(model, 0.0, overrides=overrides))
    for i in range(2):
        assert by_name[f"{i}.weight"]["constraint"] is overrides[f"{i}.*"]["constraint"]


@pytest.mark.parametrize("pattern", ["haed.*", "HEAD.*", "head", "conv.*"])
def test_a_pattern_that_matches_nothing_is_a_slip(model, pattern):
    """conv is frozen here: an override of it would never have an effect."""
    model.conv.requires_grad_(False)
    overrides = {"embed.*": {"lr": 1.0}, pattern: {"lr": 1.0}}
    message = (
        "overrides must match a trainable parameter each, got no match for "
        f"'{pattern}'; see model.named_parameters() for the names"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        acprop.param_groups(model, 0.05, overrides=overrides)


# Who can use it


@pytest.mark.parametrize("cls", [acprop.ACProp, acprop.Adam, torch.optim.AdamW])
def test_any_torch_optimizer_takes_the_groups_and_keeps_the_names(model, cls):
    overrides = {"head.*": {"lr": 1e-4}}
    opt = cls(acprop.param_groups(model, 0.05, overrides=overrides), lr=1e-2)
    names = [name for group in opt.param_groups for name in group["param_names"]]
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())
    named = dict(model.named_parameters())
    for group in opt.param_groups:
        pairs = zip(group["param_names"], group["params"], strict=True)
        assert all(named[name] is param for name, param in pairs)
    tokens = torch.arange(10).reshape(5, 2) % 11
    losses = []
    for _ in range(30):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.ravel())
        loss.backward()
        opt.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_the_groups_do_what_they_say():
    """With no gradient only the decay moves: matrices shrink, the rest stays."""
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    opt = acprop.ACProp(acprop.param_groups(model, 0.5), lr=0.1)
    for param in model.parameters():
        param.grad = torch.zeros_like(param)
    opt.step()
    shrink = {"0.weight": 0.95}
    for name, param in model.named_parameters():
        expected = before[name] * shrink.get(name, 1.0)
        torch.testing.assert_close(param.detach(), expected)
