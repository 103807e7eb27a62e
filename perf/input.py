"""What does a training step spend outside the network?

VGG-11 with BatchNorm at a quarter of its width on CIFAR-10, batches of 128, one thread:
the input pipeline (shuffle, crop, flip, normalise), the optimizer (ACProp), and the
forward and backward pass. Writes results/perf/input.json. `--rounds 3` shortens it.
"""

import argparse
import statistics
import time

import torch
from measure import machine, save

from acprop.bench.optimizers import build
from acprop.tasks.data import fetch
from acprop.tasks.vision import VisionSettings, VisionTask, measure

PARTS = ("input", "forward and backward", "optimizer")
WARM, STEPS = 3, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    fetch("cifar10")
    settings = VisionSettings("cifar10", "vgg11-bn", width=0.25, channels_last=True)
    task = VisionTask(settings)
    session = task.begin(0, build("acprop", {"lr": 1e-3, "weight_decay": 5e-4}))
    profile(session, WARM)
    samples = [profile(session, STEPS) for _ in range(rounds)]
    record = {"machine": machine(), "rounds": rounds, "milliseconds": {}, "shares": {}}
    for i, part in enumerate(PARTS):
        per_step = sorted(round_[i] for round_ in samples)
        shares = sorted(round_[i] / sum(round_) for round_ in samples)
        record["milliseconds"][part] = statistics.median(per_step) * 1e3
        low, middle, high = statistics.quantiles(shares, n=4)
        record["shares"][part] = {"median": middle, "low": low, "high": high}
        print(
            f"  {part:22}{record['milliseconds'][part]:8.2f} ms  "
            f"{middle:6.1%} ({low:.1%}–{high:.1%})"
        )
    outside = [(r[0] + r[2]) / sum(r) for r in samples]
    record["input and optimizer"] = statistics.median(outside)
    print(f"  input and optimizer together: {record['input and optimizer']:.1%}")
    images = settings.batch / (record["milliseconds"]["input"] / 1e3)
    record["images_per_second"] = images
    print(f"  the pipeline alone: {images:,.0f} images/s")
    print(f"\nwritten to {save('input', record)}")


def profile(session, steps: int) -> tuple[float, float, float]:
    """Mean seconds of each part; the parts of `train_step`, called one by one."""
    spent = [0.0, 0.0, 0.0]
    session.model.train()
    for _ in range(steps):
        started = time.perf_counter()
        x, y = session.batch()
        ready = time.perf_counter()
        session.optimizer.zero_grad(set_to_none=True)
        session._backward(x, y, measure)
        learnt = time.perf_counter()
        session.optimizer.step()
        session.n_steps += 1
        ended = time.perf_counter()
        for i, part in enumerate((ready - started, learnt - ready, ended - learnt)):
            spent[i] += part / steps
    return spent[0], spent[1], spent[2]


if __name__ == "__main__":
    main()
