"""How long does `torch.compile(opt.step)` take, next to AdamW's?

48 tensors of 48 shapes, on the CPU. Every compilation has a process and an empty cache
of its own; ACProp and AdamW take turns, without and with foreach=True. Seconds are
those of the first call less those of the second. CPU seconds, those of the C++
compiler included, suffer least from neighbours. Writes results/perf/compile.json:
ratios are ACProp's time over AdamW's, so small ones are good. `--rounds 2` shortens it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from measure import machine, ratio, save

US, PEER = "ACProp", "AdamW"
LAYERS = 24
FOREACH = (False, True)


def compile_once(name: str, foreach: bool) -> dict[str, float]:
    """Wall and CPU seconds of one compilation."""
    import torch

    import acprop

    torch.manual_seed(0)
    shapes = [s for i in range(LAYERS) for s in ((64, 32 + i), (64 + i,))]
    params = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    for param in params:
        param.grad = torch.randn_like(param)
    kinds: dict[str, Any] = {US: acprop.ACProp, PEER: torch.optim.AdamW}
    # What every first compilation of a process pays, whatever is compiled.
    torch.compile(torch.sin)(torch.ones(3))
    step = torch.compile(kinds[name](params, lr=1e-3, foreach=foreach).step)
    spent = []
    for _ in range(2):
        start = time.perf_counter(), cpu_seconds()
        step()
        spent.append((time.perf_counter() - start[0], cpu_seconds() - start[1]))
    (wall, cpu), again = spent
    return {"wall": wall - again[0], "cpu": cpu - again[1]}


def cpu_seconds() -> float:
    """Of this process and of those that it waited for."""
    times = os.times()
    return sum(times[:4])


def in_a_process(name: str, foreach: bool) -> dict[str, float]:
    """The same with a cache of its own."""
    with tempfile.TemporaryDirectory() as cache:
        # One compiler at a time, a child of this process whose CPU time is counted.
        own = {"TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        command = [sys.executable, __file__, "--once", name, str(int(foreach))]
        done = subprocess.run(
            command, env=os.environ | own, check=True, capture_output=True, text=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        name, foreach = options.once
        print(json.dumps(compile_once(name, foreach == "1")))
        return
    record: dict[str, Any] = {
        "machine": machine(),
        "tensors": 2 * LAYERS,
        "rounds": options.rounds,
    }
    for foreach in FOREACH:
        rounds = [
            {name: in_a_process(name, foreach) for name in (US, PEER)}
            for _ in range(options.rounds)
        ]
        entry: dict[str, Any] = {}
        for clock in ("wall", "cpu"):
            samples = {n: [turn[n][clock] for turn in rounds] for n in (US, PEER)}
            own = {n: statistics.median(found) for n, found in samples.items()}
            entry[clock] = {"seconds": own, "ratio": ratio(samples, US, PEER)}
            r = entry[clock]["ratio"]
            spread = f"({r['low']:.2f}–{r['high']:.2f})"
            print(
                f"foreach={foreach}, {clock}: {own[US]:.1f} s, "
                f"AdamW {own[PEER]:.1f} s, {r['median']:.2f} × {spread}"
            )
        record[f"foreach={foreach}"] = entry
    print(f"written to {save('compile', record)}")


if __name__ == "__main__":
    main()
