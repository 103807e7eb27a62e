"""How many images a second go through the network of FD-lite0?

CIFAR-10's test images through `acprop.tasks.features`, with everything that an
evaluation does to them: enlarged to 64×64, made ready, 1280 features each; and the same
for the 80 features of an earlier stage. The two take turns. On two threads by the wall
clock, on one by CPU time, which counts only when the thread had a core. Writes
results/perf/features.json. `--rounds 3` shortens it.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from measure import machine, save, take_turns

from acprop.tasks.data import fetch
from acprop.tasks.data.images import load
from acprop.tasks.features import features

N = 256
NAMES = ("lite0", "lite0_80")
CLOCKS: dict[str, tuple[int, Callable[[], float]]] = {
    "wall, 2 threads": (2, time.perf_counter),
    "CPU, 1 thread": (1, time.process_time),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    fetch("cifar10")
    images = load("cifar10").test_x[:N]
    asked = {name: features(name) for name in NAMES}
    calls = {name: lambda f=f: f(images) for name, f in asked.items()}
    record = {"machine": machine(), "rounds": rounds, "images_per_second": {}}
    for words, (threads, clock) in CLOCKS.items():
        torch.set_num_threads(threads)
        samples = take_turns(calls, rounds=rounds, clock=clock)
        for name, seconds in samples.items():
            speeds = [N / s for s in seconds]
            low, middle, high = statistics.quantiles(speeds, n=4)
            found = {"median": middle, "low": low, "high": high}
            record["images_per_second"][f"{name} / {words}"] = found
            print(f"  {name:10}{words:18}{middle:8,.0f} ({low:,.0f}–{high:,.0f})")
    print(f"\nwritten to {save('features', record)}")


if __name__ == "__main__":
    main()
