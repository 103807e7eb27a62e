"""What decides a run's bits besides its spec, and is no part of it.

threads     torch adds in another order with another number of them
kernel      "native" (our C) or "torch", whose √ is not correctly rounded
capability  the instruction set that torch uses, which decides its order as well
torch, device, processor, ranks

Two runs of one spec that share all of these end in the same state; others need not.
"""

import os
import platform
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from acprop import checks, native
from acprop.plain import Plain

FIELDS = ("threads", "kernel", "capability", "torch", "device", "processor", "ranks")


@contextmanager
def threads(n: int) -> Generator[None]:
    """So many threads of torch's, and afterwards as many as before."""
    import torch

    checks.integer("threads", n)
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def machine(device: str = "cpu") -> Plain:
    """Where a run is made: its conditions, and what its wall time depends on."""
    import torch

    from acprop import ranks

    kind = device.partition(":")[0]
    is_native = kind == "cpu" and native.load() is not None
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "kernel": "native" if is_native else "torch",
        "capability": torch.backends.cpu.get_cpu_capability(),
        "device": kind,
        "ranks": ranks.world(),
    }


def conditions(machine: Mapping[str, Any]) -> Plain:
    """Of a machine; what an older acprop did not record is unknown."""
    return {name: machine.get(name, "unknown") for name in FIELDS}


def ran_under(known: Plain) -> list[Plain]:
    """All conditions of a run, by its run.json, each once."""
    attempts: list[Plain] = known.get("attempts") or [{}]
    first, *later = attempts
    found: list[Plain] = [first.get("under") or conditions(known.get("machine", {}))]
    found += [attempt.get("under") or conditions({}) for attempt in later]
    return [one for i, one in enumerate(found) if one not in found[:i]]


def in_words(*those: Mapping[str, Any]) -> str:
    """Conditions, one after the other, for a person."""
    each = (", ".join(f"{name} {value}" for name, value in c.items()) for c in those)
    return "; then ".join(each)


@cache
def commit(package: Path = Path(__file__).parents[1]) -> str:
    """The commit of the checkout that a package runs from, if it is one.

    "-dirty" at its end: files of the package are not as the commit has them. What else
    is changed does not count: a study that writes to results/ must not spoil the next.
    """

    def git(*words: str) -> str:
        found = subprocess.run(
            ["git", *words],
            cwd=package,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return found.stdout.strip()

    try:
        name = git("describe", "--always", "--abbrev=12")
        return f"{name}-dirty" if git("status", "--porcelain", ".") else name
    except (OSError, subprocess.SubprocessError):
        return ""
