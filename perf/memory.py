"""How much memory does a training step of GPT-2 (124M) need, and what is it spent on?

Every candidate trains a network with GPT-2's shapes in a process of its own: three
steps of one short sequence, so that activations weigh little. Peak RSS is that of the
process less what it had before the parameters were made. bitsandbytes' 8-bit AdamW is
measured if it can be imported (no dependency of ours; put it on PYTHONPATH). Writes
results/perf/memory.json.
"""

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import time
from typing import Any

from gpt2 import SIZES, make
from measure import machine, save

LENGTH, STEPS = 64, 3
SMALL = {"small_state": True}
RANDOM = {"stochastic_rounding": 0, "kahan": False}
# Whose optimizer, its options, bfloat16 parameters, gradients that are freed at once.
CANDIDATES: dict[str, tuple[str, dict[str, Any], bool, bool]] = {
    "AdamW(fused=True)": ("AdamW", {"fused": True}, False, False),
    "ACProp()": ("ACProp", {}, False, False),
    "ACProp(), released": ("ACProp", {}, False, True),
    "ACProp(small_state=True)": ("ACProp", SMALL, False, False),
    "ACProp(small_state=True), released": ("ACProp", SMALL, False, True),
    "bfloat16: AdamW(fused=True)": ("AdamW", {"fused": True}, True, False),
    "bfloat16: ACProp()": ("ACProp", {}, True, False),
    "bfloat16: ACProp(small_state=True, stochastic_rounding=0)": (
        "ACProp",
        SMALL | RANDOM,
        True,
        False,
    ),
    "bfloat16: the same, released": ("ACProp", SMALL | RANDOM, True, True),
    "AdamW8bit (bitsandbytes)": ("AdamW8bit", {}, False, False),
}


def peak() -> float:
    """Bytes of memory that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def train(candidate: str, size: str) -> dict[str, float]:
    """What one candidate needs: bytes for each parameter, and seconds a step."""
    import torch

    import acprop

    name, options, half, released = CANDIDATES[candidate]
    if name == "AdamW8bit":
        from bitsandbytes.optim import AdamW8bit

        kind: Any = AdamW8bit
    else:
        kind = {"AdamW": torch.optim.AdamW, "ACProp": acprop.ACProp}[name]
    torch.manual_seed(0)
    # Threads, kernels and what else comes with a first step, before the count begins.
    small = torch.nn.Linear(64, 64)
    first = kind(small.parameters(), **options if not half else {})
    small(torch.ones(2, 64)).sum().backward()
    first.step()
    before = peak()
    model = make(size, torch.bfloat16 if half else torch.float32)
    n = sum(p.numel() for p in model.parameters())
    opt = kind(model.parameters(), lr=1e-4, **options)
    if released:
        acprop.release_gradients(opt)
    tokens = torch.randint(50257, (1, LENGTH + 1))
    seconds = []
    for _ in range(STEPS):
        start = time.perf_counter()
        loss = model(tokens)
        opt.zero_grad()
        loss.backward()
        opt.step()
        seconds.append(time.perf_counter() - start)
    used = peak() - before
    return {
        "bytes": used,
        "bytes_per_parameter": used / n,
        "seconds": min(seconds),
        "loss": loss.item(),
        "parameters": n,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="GPT-2", choices=SIZES)
    parser.add_argument("--patience", type=float, default=900, help="seconds for each")
    parser.add_argument("--once", choices=CANDIDATES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(train(options.once, options.size)))
        return
    rows: dict[str, Any] = {}
    for candidate, (name, *_) in CANDIDATES.items():
        if name == "AdamW8bit" and importlib.util.find_spec("bitsandbytes") is None:
            print(f"{candidate:60} not measured: bitsandbytes is not installed")
            continue
        command = [sys.executable, __file__, "--size", options.size]
        try:
            done = subprocess.run(
                [*command, "--once", candidate],
                check=name != "AdamW8bit",
                capture_output=True,
                text=True,
                timeout=options.patience,
            )
        except subprocess.TimeoutExpired:
            print(f"{candidate:60} no end within {options.patience} s")
            continue
        if done.returncode != 0:
            print(f"{candidate:60} failed: {done.stderr.splitlines()[-1]}")
            continue
        rows[candidate] = row = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{candidate:60}{row['bytes'] / 1e9:6.2f} GB{row['seconds']:7.2f} s"
            f"{row['bytes_per_parameter']:7.1f} bytes a parameter"
        )
    record = {"machine": machine(), "size": options.size, "length": LENGTH}
    print(f"written to {save('memory', {**record, 'rows': rows})}")


if __name__ == "__main__":
    main()
