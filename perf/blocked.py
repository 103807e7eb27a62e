"""Without the C library: do blocks that fit a cache pay, against the plain loop?

Prints a table and writes results/perf/blocked.json. `--rounds 5` shortens it.
"""

import argparse
import time

import torch
from measure import machine, ratio, save, take_turns
from shapes import SETS

import acprop

KERNELS = {"blocked": {"fused": False}, "loop": {"foreach": False}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    record: dict = {"machine": machine(), "sets": {}}
    for name in ("DenseNet-121", "ResNet-50", "64M"):
        torch.manual_seed(0)
        params = [torch.nn.Parameter(torch.randn(s) * 0.02) for s in SETS[name]()]
        for p in params:
            p.grad = torch.randn_like(p) * 1e-3
        runs = {
            kernel: acprop.ACProp(params, lr=1e-9, **choice).step
            for kernel, choice in KERNELS.items()
        }
        samples = take_turns(runs, rounds=options.rounds, clock=time.perf_counter)
        record["sets"][name] = r = ratio(samples, "loop", "blocked")
        spread = f"({r['low']:.2f}–{r['high']:.2f})"
        print(f"{name:14} blocks are {r['median']:.2f} × {spread} faster than the loop")
    print(f"written to {save('blocked', record)}")


if __name__ == "__main__":
    main()
