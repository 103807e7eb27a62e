"""What a rank measures: a training in ranks beside the same training in one process.

Every rank computes on the same batch, so that the mean of the ranks' gradients is the
gradient of one process, to the bit as long as their number is a power of two.
"""

import copy
from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor.debug import CommDebugMode
from torch.utils._python_dispatch import TorchDispatchMode

import acprop

STEPS = 4
OPTIONS = {"lr": 1e-2, "weight_decay": 0.1}
KINDS = {"acprop": acprop.ACProp, "adamw": torch.optim.AdamW}


class Net(nn.Module):
    """Sizes that do not divide: of logit and token only one rank has anything."""

    def __init__(self) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.full((1, 4), 0.5))
        self.up = nn.Linear(4, 6)
        self.down = nn.Linear(6, 3)
        self.head = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.up(x + self.cls_token))
        return self.head(torch.tanh(self.down(h)))


class Collectives(TorchDispatchMode):
    """Counts what ranks have to wait for each other for."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        del types
        self.count += function.namespace in ("c10d", "_c10d_functional")
        return function(*args, **(kwargs or {}))


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor, however it is sharded."""
    full = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return full.detach().cpu().clone()


def batch(step: int, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(100 + step)
    return torch.randn(8, 4, generator=generator).to(dtype)


def gap(ones: list[Tensor], others: list[Tensor]) -> float:
    """The largest difference; shapes must agree."""
    pairs = list(zip(ones, others, strict=True))
    assert all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
    return max(float((a.double() - b.double()).abs().max()) for a, b in pairs)


class Run:
    """One model and its optimizer; what they do is remembered."""

    def __init__(self, model: nn.Module, opt: torch.optim.Optimizer) -> None:
        self.model, self.opt = model, opt
        self.forward: Callable[[Tensor], Tensor] = model
        self.before_step: Callable[[], Any] = lambda: None
        self.read: Callable[[], list[Tensor]] = lambda: [
            whole(p) for p in model.parameters()
        ]
        self.grads: list[list[Tensor]] = []
        self.in_step = self.in_backward = 0
        self.keeps_gradients = True

    def train(self, steps: range = range(STEPS), dtype: torch.dtype = torch.float32):
        for step in steps:
            self.opt.zero_grad()
            loss = self.forward(batch(step, dtype)).float().square().mean()
            with Collectives() as seen:
                loss.backward()
            self.in_backward += seen.count
            self.before_step()
            if self.keeps_gradients:
                self.grads.append([whole(p.grad) for p in self.model.parameters()])
            # Two counters: torch's own knows DTensor, ours every call of a group.
            with CommDebugMode() as known, Collectives() as seen:
                self.opt.step()
            self.in_step += max(seen.count, known.get_total_counts())
        return self


def replayed(start: nn.Module, run: Run, **options) -> float:
    """How far one process lands from a run that had the very same gradients."""
    params = [nn.Parameter(p.detach().clone()) for p in start.parameters()]
    opt = acprop.ACProp(params, **OPTIONS | options)
    for grads in run.grads:
        for param, grad in zip(params, grads, strict=True):
            param.grad = grad
        opt.step()
    return gap(run.read(), [p.detach() for p in params])


def same_bits(a: list[list[Tensor]], b: list[list[Tensor]]) -> bool:
    return all(map(torch.equal, chain(*a), chain(*b)))


def row(
    shard: Callable[[nn.Module, type], Run],
    *,
    dtype: torch.dtype = torch.float32,
    alone: Callable[[Run], Any] = lambda _: None,
) -> dict[str, Any]:
    """The same training in ranks and in one process, with ACProp and with AdamW.

    shard: makes the run of the ranks from a model and the class of an optimizer.
    alone: what the run in one process needs besides.
    """
    found: dict[str, Any] = {}
    for name, kind in KINDS.items():
        torch.manual_seed(0)
        start = Net().to(dtype)
        one_model = copy.deepcopy(start)
        one = Run(one_model, kind(one_model.parameters(), **OPTIONS))
        alone(one)
        one.train(dtype=dtype)
        run = shard(copy.deepcopy(start), kind).train(dtype=dtype)
        found[name] = gap(run.read(), one.read())
        if name == "acprop":
            found["moved"] = gap(run.read(), [p.detach() for p in start.parameters()])
            found["in_step"], found["in_backward"] = run.in_step, run.in_backward
            if run.keeps_gradients:
                found["replayed"] = replayed(start, run)
                found["same_gradients"] = same_bits(run.grads, one.grads)
            sizes = [_local_size(p) for p in run.model.parameters()]
            found["sizes"] = _from_all(sizes)
    return found


def _local_size(param: Tensor) -> int:
    return (param.to_local() if hasattr(param, "to_local") else param).numel()


def _from_all(value: Any) -> list[Any]:
    gathered: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, value)
    return gathered
