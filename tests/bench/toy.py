"""A task that takes microseconds: a vector walks down a noisy bowl."""

import torch
from torch import nn

from acprop.tasks.task import derive_seed


class Bowl:
    """explode_at: the step whose loss is NaN."""

    name = "toy/bowl"

    def __init__(self, per_epoch=5, explode_at=None):
        self.per_epoch, self.explode_at = per_epoch, explode_at

    def begin(self, seed, optimizer):
        return Session(self, seed, optimizer)


class Session:
    def __init__(self, task, seed, optimizer):
        self.task, self.seed = task, seed
        self.net = nn.Linear(4, 1, bias=False)
        draw = torch.Generator().manual_seed(derive_seed(seed, "weights"))
        self.net.weight.data.normal_(generator=draw)
        self.optimizer = optimizer(self.net)
        self.initial = [g["lr"] for g in self.optimizer.param_groups]
        self.steps_per_epoch = task.per_epoch
        self.step, self.factors, self.sums = 0, [], 0.0

    def scale_lr(self, factor):
        self.factors.append(factor)
        for group, lr in zip(self.optimizer.param_groups, self.initial, strict=True):
            group["lr"] = lr * factor

    def train_step(self):
        draw = torch.Generator().manual_seed(derive_seed(self.seed, "noise", self.step))
        noise = torch.randn(1, 4, generator=draw)
        self.optimizer.zero_grad()
        loss = (self.net.weight - noise).square().sum()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        value = loss.item()
        self.sums += value
        if self.step == self.task.explode_at:
            return {"loss": float("nan")}
        return {"loss": value}

    def evaluate(self):
        out = {"train_loss": self.sums, "val_accuracy": 0.5, "samples": 10.0}
        self.sums = 0.0
        return out

    def state_dict(self):
        return {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "sums": self.sums,
        }

    def load_state_dict(self, state):
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.sums = state["step"], state["sums"]
