"""An optimizer by name: which class, which groups; and configurations."""

import io

import pytest
import torch
from torch import nn

import acprop


class Blocks(nn.Module):
    """A token, three blocks, a norm and a head, as a small vision transformer has."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 4))
        self.embed = nn.Linear(3, 4)
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.norm = nn.LayerNorm(4)
        self.head = nn.Linear(4, 1)

    def no_weight_decay(self):
        return {"token"}


def option_of(opt, option):
    """What each parameter, by name, has of an option."""
    return {n: g[option] for g in opt.param_groups for n in g["param_names"]}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("acprop", acprop.ACProp),
        ("ACProp", acprop.ACProp),
        ("adabelief", acprop.AdaBelief),
        ("adashift", acprop.AdaShift),
        ("adam", acprop.Adam),
        ("rmsprop", acprop.RMSprop),
    ],
)
def test_a_name_is_a_class_with_its_own_defaults(name, kind):
    opt = acprop.create(name, Blocks())
    assert type(opt) is kind
    default = kind([nn.Parameter(torch.zeros(1))]).param_groups[0]
    for option in ("lr", "betas", "eps", "convention"):
        assert opt.param_groups[0][option] == default[option]


def test_decay_spares_biases_norms_and_what_the_model_names():
    opt = acprop.create("acprop", Blocks(), lr=0.5, weight_decay=0.1)
    decay = option_of(opt, "weight_decay")
    spared = {name for name, value in decay.items() if value == 0}
    assert set(decay) - spared == {
        "embed.weight",
        "head.weight",
        *(f"blocks.{i}.weight" for i in range(3)),
    }
    assert set(option_of(opt, "lr").values()) == {0.5}


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"lr": -1.0}, ValueError, "lr must be finite and 0 or more, got -1.0"),
        (
            {"beta": 0.9},
            TypeError,
            "ACProp must be given options among .* got 'beta'; did you mean betas",
        ),
    ],
)
def test_a_wrong_option_is_refused_by_name(options, kind, message):
    with pytest.raises(kind, match=message):
        acprop.create("acprop", Blocks(), **options)


def test_an_unknown_name_and_a_list_of_parameters_are_refused():
    with pytest.raises(ValueError, match=r"name must be one of acprop, .* got 'sgd'"):
        acprop.create("sgd", Blocks())
    with pytest.raises(ValueError, match=r"got 'acpro'; did you mean acprop\?$"):
        acprop.create("acpro", Blocks())
    with pytest.raises(ValueError, match=r"name must be one of acprop, .* got 'None'"):
        acprop.create(None, Blocks())
    with pytest.raises(TypeError, match=r"model must be a torch.nn.Module, got list"):
        acprop.create("acprop", list(Blocks().parameters()))


# ---- Hydra and OmegaConf -------------------------------------------------------------

YAML = """
by_class:
  _target_: acprop.ACProp
  lr: 1e-3
  betas: [0.8, 0.99]
  constraint: {_target_: acprop.Box, lo: -1.0, hi: 1.0}
by_name:
  _target_: acprop.create
  name: adabelief
  lr: 0.5
  weight_decay: 0.1
  betas: [0.8, 0.99]
  overrides: {"head.*": {lr: 0.25, betas: [0.5, 0.75]}}
"""


@pytest.fixture
def config():
    reason = "needs hydra-core, see make test-trainers"
    omegaconf = pytest.importorskip("omegaconf", reason=reason)
    hydra = pytest.importorskip("hydra.utils", reason=reason)
    return omegaconf.OmegaConf.create(YAML), hydra.instantiate


def test_hydra_makes_an_optimizer_whose_checkpoint_is_plain(config):
    tree, instantiate = config
    net = Blocks()
    opt = instantiate(tree.by_class, params=list(net.parameters()))
    [group] = opt.param_groups
    assert (group["lr"], group["betas"]) == (1e-3, (0.8, 0.99))
    partial = instantiate(tree.by_class, _partial_=True)
    assert partial(net.parameters()).param_groups[0]["betas"] == (0.8, 0.99)
    for param in net.parameters():
        param.grad = torch.ones_like(param)
    opt.step()
    file = io.BytesIO()
    torch.save(opt.state_dict(), file)
    file.seek(0)
    torch.load(file, weights_only=True)


def test_hydra_makes_an_optimizer_by_name_for_a_model(config):
    tree, instantiate = config
    opt = instantiate(tree.by_name, model=Blocks())
    assert type(opt) is acprop.AdaBelief
    assert option_of(opt, "lr")["embed.weight"] == 0.5
    assert option_of(opt, "lr")["head.weight"] == 0.25
    assert option_of(opt, "betas")["head.bias"] == (0.5, 0.75)
    file = io.BytesIO()
    torch.save(opt.state_dict(), file)
    file.seek(0)
    torch.load(file, weights_only=True)
