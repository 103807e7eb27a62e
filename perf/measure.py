"""Time several things in turns, so that what disturbs one disturbs all.

A machine that is shared or throttled makes seconds meaningless from one minute to the
next. Ratios within one run survive: the candidates take turns (A, B, C, A, B, C …), and
what is reported is the median over the rounds of each round's ratio, with its spread.
"""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from history import append

from acprop import files

RESULTS = Path(__file__).parent.parent / "results" / "perf"


def take_turns(
    candidates: dict[str, Callable[[], None]],
    *,
    rounds: int = 15,
    seconds: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds per call of each candidate, one number a round."""
    repeats: dict[str, int] = {}
    for name, run in candidates.items():
        run()
        run()
        start = time.perf_counter()
        run()
        once = time.perf_counter() - start
        repeats[name] = max(1, round(seconds / max(once, 1e-9)))
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = clock()
            for _ in range(repeats[name]):
                run()
            samples[name].append((clock() - start) / repeats[name])
    return samples


def ratio(samples: dict[str, list[float]], slow: str, fast: str) -> dict[str, float]:
    """How many times `fast` is faster than `slow`: median and quartiles."""
    ratios = sorted(a / b for a, b in zip(samples[slow], samples[fast], strict=True))
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {"median": middle, "low": low, "high": high}


def machine() -> dict[str, Any]:
    """What a reader needs to judge the figures."""
    import torch

    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        names = [line.split(":")[1].strip() for line in lines if "model name" in line]
        model = names[0] if names else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch_isa": torch.backends.cpu.get_cpu_capability(),
    }


def save(name: str, record: dict[str, Any]) -> Path:
    """Write results/perf/<name>.json, whole or not at all; note it in the history."""
    path = RESULTS / f"{name}.json"
    files.write(path, json.dumps(record, indent=1) + "\n")
    append(RESULTS / "history.jsonl", name, record)
    return path
