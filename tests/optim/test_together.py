"""Muon for matrices, ACProp for the rest: who has what, and one face for both."""

import copy
import io

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

import acprop
from acprop.tasks.nets.gpt import GPT


def transformer():
    torch.manual_seed(0)
    return GPT(layers=2, width=8, heads=2, context=6, n_symbols=11)


def both(model, lr=1e-2):
    matrices, rest = acprop.split_matrices(model)
    muon = torch.optim.Muon(matrices, lr=lr, adjust_lr_fn="match_rms_adamw")
    return muon, acprop.ACProp(rest, lr=lr / 2)


def backward(model, step):
    draw = torch.Generator().manual_seed(step)
    symbols = torch.randint(11, (4, 7), generator=draw)
    logits = model(symbols[:, :-1])
    model.zero_grad()
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), symbols[:, 1:].flatten())
    loss.backward()
    return loss


def train(model, steps, *optimizers):
    for step in steps:
        backward(model, step)
        for one in optimizers:
            one.step()
    return [p.detach().clone() for p in model.parameters()]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_muon_gets_the_matrices_inside_a_transformer():
    matrices, rest = acprop.split_matrices(transformer())
    layers = ("queries_keys_values", "from_attention", "widen", "narrow")
    assert [name for name, _ in matrices] == [
        f"blocks.{i}.{layer}.weight" for i in (0, 1) for layer in layers
    ]
    names = {name for name, _ in rest}
    assert {"symbols.weight", "positions.weight", "head.weight"} <= names
    assert len(matrices) + len(rest) == len(list(transformer().parameters()))


def test_a_head_that_is_the_embedding_is_not_muons_either():
    model = transformer()
    model.head.weight = model.symbols.weight
    matrices, _ = acprop.split_matrices(model)
    assert len(matrices) == 8


def test_a_convolution_is_a_matrix_only_on_request_and_a_frozen_weight_is_nobodys():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Linear(4, 4), nn.Linear(4, 2))
    model[2].bias.requires_grad_(False)
    names = [[n for n, _ in part] for part in acprop.split_matrices(model)]
    assert names == [["1.weight"], ["0.weight", "0.bias", "1.bias", "2.weight"]]
    matrices, _ = acprop.split_matrices(model, convolutions=True)
    assert [n for n, _ in matrices] == ["0.weight", "1.weight"]


def test_a_model_without_matrices_leaves_muon_nothing():
    assert acprop.split_matrices(nn.LayerNorm(3))[0] == []


def test_together_they_step_as_they_do_alone():
    one, other = transformer(), transformer()
    assert same(
        train(one, range(4), acprop.Together(*both(one))),
        train(other, range(4), *both(other)),
    )


def test_together_they_learn():
    model = transformer()
    before = backward(model, 0).item()
    opt = acprop.Together(*both(model, lr=3e-2))
    train(model, [0] * 30, opt)
    assert backward(model, 0).item() < 0.5 * before


def test_a_checkpoint_has_the_form_of_one_optimizers_and_resumes_to_the_same_bits():
    model = transformer()
    opt = acprop.Together(*both(model))
    train(model, range(3), opt)
    file = io.BytesIO()
    torch.save([model.state_dict(), opt.state_dict()], file)
    file.seek(0)
    weights, saved = torch.load(file, weights_only=True)
    n = len(list(model.parameters()))
    assert [i for g in saved["param_groups"] for i in g["params"]] == list(range(n))
    assert saved["state"].keys() == set(range(n))
    other = transformer()
    resumed = acprop.Together(*both(other, lr=1.0))
    other.load_state_dict(weights)
    resumed.load_state_dict(saved)
    assert same(train(model, range(3, 6), opt), train(other, range(3, 6), resumed))


def test_a_checkpoint_of_other_parameters_is_refused_before_anything_changes():
    opt = acprop.Together(*both(transformer()))
    other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    saved = acprop.Together(*both(other, lr=0.5)).state_dict()
    with pytest.raises(
        ValueError, match=r"^state_dict must have groups of \[8, .* got"
    ):
        opt.load_state_dict(saved)
    assert [group["lr"] for group in opt.param_groups] == [1e-2, 5e-3]


def test_one_scheduler_scales_both_learning_rates_also_after_a_resume():
    model = transformer()
    opt = acprop.Together(*both(model))
    scheduler = LambdaLR(opt, lambda step: 0.5**step)
    opt.load_state_dict(opt.state_dict())
    train(model, [0], opt)
    scheduler.step()
    assert [one.param_groups[0]["lr"] for one in opt.optimizers] == [5e-3, 2.5e-3]


def test_the_state_is_that_of_both():
    model = transformer()
    opt = acprop.Together(*both(model))
    train(model, [0], opt)
    assert opt.state.keys() == set(model.parameters())


def test_a_closure_is_called_once():
    model, calls = transformer(), []
    opt = acprop.Together(*both(model))

    def closure():
        calls.append(torch.is_grad_enabled())
        return backward(model, 0)

    assert opt.step(closure).item() > 0
    assert calls == [True]


def test_a_copy_steps_by_itself():
    model = transformer()
    opt = acprop.Together(*both(model))
    train(model, [0], opt)
    model_too, opt_too = copy.deepcopy((model, opt))
    assert same(train(model, [1], opt), train(model_too, [1], opt_too))


def test_a_shared_parameter_and_a_group_for_nobody_are_refused():
    model = transformer()
    muon, rest = both(model)
    with pytest.raises(ValueError, match="more than one parameter group"):
        acprop.Together(muon, rest, torch.optim.SGD(model.named_parameters()))
    opt = acprop.Together(muon, rest)
    with pytest.raises(RuntimeError, match=r"^param_group must be added to one of"):
        opt.add_param_group({"params": [nn.Parameter(torch.zeros(1))]})
