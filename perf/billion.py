"""Can a model of 1.5 billion bfloat16 parameters be trained with 24 GB of memory?

GPT-2 XL's shapes, 8-bit state, random rounding instead of a compensation, gradients
that are freed inside the backward pass: ten steps on one text, whose loss has to fall.
Before it starts it looks whether there is room, and a limit of its own ends it rather
than let the machine swap. Writes results/perf/billion.json: loss and seconds of every
step, and the peak of the process's memory.
"""

import argparse
import resource
import statistics
import sys
import time
from pathlib import Path

import torch
from gpt2 import SIZES, make
from measure import machine, save

import acprop

STEPS, LENGTH = 10, 32
# Parameters 2, state 2.125, gradients of a layer, activations, and torch itself.
ROOM = 9e9


def available() -> float:
    """Bytes that a new process may have without swapping."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="GPT-2 XL", choices=SIZES)
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    if available() < ROOM:
        sys.exit(f"memory must have {ROOM / 1e9} GB to spare, got {available() / 1e9}")
    limit = int(ROOM * 1.5)  # of addresses, of which not all are used
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    torch.manual_seed(0)
    model = make(options.size, torch.bfloat16)
    n_parameters = sum(p.numel() for p in model.parameters())
    opt = acprop.ACProp(
        model.parameters(),
        lr=1e-5,
        small_state=True,
        stochastic_rounding=0,
        kahan=False,
    )
    acprop.release_gradients(opt)
    tokens = torch.randint(50257, (1, LENGTH + 1))
    losses, seconds = [], []
    for step in range(options.steps):
        start = time.perf_counter()
        loss = model(tokens)
        loss.backward()  # where the parameters are stepped
        opt.step()
        seconds.append(time.perf_counter() - start)
        losses.append(loss.item())
        print(
            f"step {step + 1}: loss {losses[-1]:.3f}, {seconds[-1]:.1f} s", flush=True
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    state = sum(
        t.numel() * t.element_size() for s in opt.state.values() for t in s.values()
    )
    print(
        f"{n_parameters / 1e9:.3f} billion parameters, {peak / 1e9:.2f} GB at most, "
        f"{state / n_parameters:.3f} bytes of state each"
    )
    if not losses[-1] < losses[0]:
        sys.exit(f"the loss must fall, got {losses}")
    record = {
        "machine": machine(),
        "size": options.size,
        "parameters": n_parameters,
        "length": LENGTH,
        "peak_bytes": peak,
        "state_bytes": state,
        "median_seconds": statistics.median(seconds),
        "seconds": seconds,
        "losses": losses,
    }
    print(f"written to {save('billion', record)}")


if __name__ == "__main__":
    main()
