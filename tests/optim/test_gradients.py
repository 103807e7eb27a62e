"""What a gradient does to a parameter, and what is never done to a gradient."""

import pytest
import torch

import acprop

from .infos import (
    CASES_ON_EVERY_KERNEL,
    each_case_on_every_kernel,
    each_class,
    each_kernel,
)
from .walks import exactly, feed, leaf, plain_params, snapshot, typed_params, walk


def bits(tensor):
    """The memory of a tensor: unlike ==, it tells -0 from 0 and knows a NaN again."""
    return bytes(tensor.detach().resolve_conj().flatten().view(torch.uint8).tolist())


@each_case_on_every_kernel
def test_a_parameter_without_a_gradient_stays_and_has_no_state(case):
    optimizer = case.make(typed_params())
    before = snapshot(optimizer)
    optimizer.step()
    exactly(snapshot(optimizer), before)
    assert all(not state for state in optimizer.state.values())


@each_case_on_every_kernel
def test_only_parameters_with_a_gradient_move(case):
    one, other = plain_params()[:2]
    optimizer = case.make([one, other])
    before = other.detach().clone()
    for t in range(3):
        feed(optimizer, t)
        other.grad = None
        optimizer.step()
    exactly(other.detach(), before)
    assert other not in optimizer.state
    assert optimizer.state[one]["step"] == 3


UNDECAYED = [
    case
    for case in CASES_ON_EVERY_KERNEL
    # A decay moves without a gradient, and so does a projection.
    if not {"weight_decay", "constraint"} & set(case.kwargs)
]


@pytest.mark.parametrize("case", UNDECAYED, ids=str)
def test_zero_gradients_move_nothing(case):
    """Nothing is divided by nothing, whatever stands under the root."""
    optimizer = case.make(typed_params())
    before = [entry["param"] for entry in snapshot(optimizer)]
    for _ in range(3):
        for param in optimizer.param_groups[0]["params"]:
            param.grad = torch.zeros_like(param)
        optimizer.step()
    exactly([entry["param"] for entry in snapshot(optimizer)], before)


@each_case_on_every_kernel
def test_gradients_are_read_and_never_written(case):
    """Also where they are negated, decayed, clipped, conjugated or half as precise."""
    optimizer = case.make(typed_params())
    for t in range(4):
        feed(optimizer, t)
        grads = [p.grad for p in optimizer.param_groups[0]["params"]]
        for grad in grads:
            grad.mul_(100.0**t)  # so that the bound is felt
        before = [(grad._version, bits(grad)) for grad in grads]
        optimizer.step()
        after = [p.grad for p in optimizer.param_groups[0]["params"]]
        assert all(a is g for a, g in zip(after, grads, strict=True))
        assert [(grad._version, bits(grad)) for grad in after] == before


@pytest.mark.parametrize("convention", ["guarded", "paper", "authors", "optax"])
def test_a_bounded_step_leaves_the_gradient_to_m_and_s(convention):
    """The list operations clipped p.grad in place, and m and s were fed that."""
    states = []
    for foreach in (False, True):
        param = leaf(torch.tensor([1.0, -2.0, 0.5]))
        optimizer = acprop.ACProp(
            [param], convention=convention, average=None, clip=1.0, foreach=foreach
        )
        given = torch.tensor([5.0, -7.0, 0.25])
        param.grad = given.clone()
        for _ in range(2):
            optimizer.step()
            exactly(param.grad, given)
        states.append(optimizer.state[param])
    for name, value in states[0].items():
        torch.testing.assert_close(states[1][name], value)


@each_case_on_every_kernel
def test_to_maximize_is_to_minimize_with_the_gradient_turned_round(case):
    up = case.make(typed_params(), maximize=True)
    down = case.make(typed_params(), maximize=False)
    for t in range(3):
        feed(up, t)
        feed(down, t)
        for param in down.param_groups[0]["params"]:
            param.grad.neg_()
        up.step()
        down.step()
    exactly(snapshot(up), snapshot(down))


@each_kernel
@each_class
def test_a_closure_is_called_once_with_autograd_on_and_its_loss_returned(cls, foreach):
    params = plain_params()
    optimizer, losses = cls(params, foreach=foreach), []

    def closure():
        assert torch.is_grad_enabled()
        optimizer.zero_grad()
        losses.append(sum(p.square().sum() for p in params))
        losses[-1].backward()
        return losses[-1]

    with torch.no_grad():
        assert optimizer.step(closure) is losses[0]
        assert not torch.is_grad_enabled()
    assert optimizer.step(closure) is losses[1]
    assert len(losses) == 2
    assert [optimizer.state[p]["step"].item() for p in params] == [2.0] * 3


@each_class
def test_without_a_closure_a_step_returns_nothing(cls):
    optimizer = cls(plain_params())
    assert optimizer.step() is None


@each_kernel
@each_class
def test_a_grad_scaler_unscales_what_it_hands_over(cls, foreach):
    scaled, plain = (cls(plain_params(), foreach=foreach) for _ in range(2))
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    scaler.scale(torch.zeros(()))  # makes its tensors, as scaling the loss would
    for t in range(3):
        feed(scaled, t)
        for param in scaled.param_groups[0]["params"]:
            param.grad.mul_(scaler.get_scale())
        scaler.step(scaled)
        scaler.update()
    exactly(snapshot(scaled), snapshot(walk(plain, 3)))


@each_kernel
@each_class
def test_a_grad_scaler_skips_a_step_that_overflowed(cls, foreach):
    optimizer = walk(cls(plain_params(), foreach=foreach), 2)
    before = snapshot(optimizer)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    scaler.scale(torch.zeros(()))
    feed(optimizer, 2)
    optimizer.param_groups[0]["params"][1].grad[0] = float("inf")
    scaler.step(optimizer)
    scaler.update()
    exactly(snapshot(optimizer), before)
    assert scaler.get_scale() == 2.0**9


@each_class
def test_zero_grad_drops_or_clears_the_gradients(cls):
    optimizer = cls(plain_params())
    feed(optimizer, 0)
    optimizer.zero_grad(set_to_none=False)
    grads = [p.grad for p in optimizer.param_groups[0]["params"]]
    exactly(grads, [torch.zeros_like(grad) for grad in grads])
    optimizer.zero_grad()
    assert all(p.grad is None for p in optimizer.param_groups[0]["params"])


@each_class
def test_a_step_moves_the_tensor_that_was_given(cls):
    """In place: a module holds the same tensor, and so does every view of it."""
    param = leaf(torch.ones(3))
    view, address = param.detach(), param.data_ptr()
    walk(cls([param]), 3)
    assert param.data_ptr() == address
    assert (view != 1).all()
    assert param.requires_grad
    assert param.grad_fn is None
