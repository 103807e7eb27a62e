"""What does 8-bit state cost on the CPU, without torch.compile?

Prints a table and writes results/perf/small_state.json. `--rounds 5` shortens it.
"""

import argparse
import time

import torch
from measure import machine, ratio, save, take_turns
from shapes import SETS

import acprop

KERNELS = {"8 bits": {"small_state": True}, "float32": {}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    record: dict = {"machine": machine(), "sets": {}}
    for name in ("MLP", "ResNet-50"):
        torch.manual_seed(0)
        params = [torch.nn.Parameter(torch.randn(s) * 0.02) for s in SETS[name]()]
        for p in params:
            p.grad = torch.randn_like(p) * 1e-3
        runs = {
            kernel: acprop.ACProp(params, lr=1e-9, **choice).step
            for kernel, choice in KERNELS.items()
        }
        samples = take_turns(runs, rounds=options.rounds, clock=time.perf_counter)
        record["sets"][name] = r = ratio(samples, "8 bits", "float32")
        spread = f"({r['low']:.2f}–{r['high']:.2f})"
        print(f"{name:14} 8 bits take {r['median']:.1f} × {spread} the native step")
    print(f"written to {save('small_state', record)}")


if __name__ == "__main__":
    main()
