"""How fast is a step whose state or parameters have fewer bytes?

Against `AdamW(fused=True)` on the same tensors, with two threads (wall time) and one
(CPU time), for each instruction set that the C kernel has here, and beside the memory's
own limit for the bytes that the kind moves. Prints tables and writes
results/perf/small_state.json. `--sets "MLP|GPT-2"`, `--kinds "8-bit state"`,
`--threads 2`, `--rounds 7` and `--isa 1` shorten it.
"""

import argparse
import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from measure import machine, ratio, save, take_turns
from shapes import SETS
from step import LEVELS

import acprop
from acprop import native

ADAMW = "AdamW(fused=True)"
# A convolution whose channels come last in memory, as convolutional networks run on
# the CPU: codes are in another order than the parameter there.
CHANNELS_LAST = "ResNet-50, channels_last"


class Kind(NamedTuple):
    """What is kept, and how many bytes of each element a step reads and writes."""

    dtype: torch.dtype
    options: dict[str, Any]
    read: int
    written: int
    scales: float = 0.0

    @property
    def n_bytes(self) -> float:
        return self.read + self.written + self.scales


# Two scales of 4 bytes for each block of 64, read and written.
SCALES = 2 * 2 * 4 / 64
CODED = {"small_state": True}
RANDOM = {"stochastic_rounding": 0, "kahan": False}
SINGLE, HALF = torch.float32, torch.bfloat16
KINDS = {
    "float32": Kind(SINGLE, {}, 16, 12),
    "bfloat16 state": Kind(SINGLE, {"state_dtype": HALF}, 12, 8),
    "8-bit state": Kind(SINGLE, CODED, 10, 6, SCALES),
    "bfloat16, Kahan": Kind(HALF, {}, 14, 12),
    "bfloat16, Kahan, 8-bit state": Kind(HALF, CODED, 8, 6, SCALES),
    "bfloat16, random, 8-bit state": Kind(HALF, {**CODED, **RANDOM}, 6, 4, SCALES),
}


def stream(folder: str) -> ctypes.CDLL:
    """Read so many bytes and write some of them again, with no arithmetic."""
    source, library = Path(folder) / "bytes.c", Path(folder) / "bytes.so"
    source.write_text("""
#include <stdint.h>
typedef void (*range)(int64_t, int64_t, void *);
typedef int32_t (*parallel)(int64_t, int64_t, int64_t, range, void *);
typedef struct { uint64_t *both, *read; int64_t n_both, n_read; } job;
enum { BINS = 64 };
static volatile uint64_t sink;
static void body(int64_t begin, int64_t end, void *context) {
    job *j = context;
    uint64_t *restrict both = j->both, *restrict read = j->read;
    int64_t bins = BINS * 16, sum = 0, n_both = j->n_both, n_read = j->n_read;
    for (int64_t b = begin * 16; b < end * 16; b++) { /* as a step has it */
        for (int64_t i = n_both * b / bins; i < n_both * (b + 1) / bins; i++)
            both[i] ^= 1;
        for (int64_t i = n_read * b / bins; i < n_read * (b + 1) / bins; i++)
            sum += read[i];
    }
    sink = sum;
}
void stream(void *both, void *read, int64_t n_both, int64_t n_read, parallel p) {
    job j = {both, read, n_both / 8, n_read / 8};
    if (n_both < 262144) body(0, BINS, &j); else p(0, BINS, 1, body, &j);
}
""")
    command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", str(source), "-o"]
    subprocess.run([*command, str(library)], check=True)
    return ctypes.CDLL(str(library))


def limit_of(kind: Kind, n: int, library: ctypes.CDLL) -> Callable[[], None]:
    parallel = ctypes.CDLL(torch._C.__file__).torch_parallel_for
    sizes = (kind.written + kind.scales / 2, kind.read - kind.written)
    # Ones: zeros that nobody wrote have no memory of their own.
    both, read = (torch.ones(int(size * n), dtype=torch.uint8) for size in sizes)
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (both, read)]
    lengths = [ctypes.c_int64(t.numel()) for t in (both, read)]

    def run(_: tuple[torch.Tensor, ...] = (both, read)) -> None:  # held
        library.stream(*pointers, *lengths, parallel)

    return run


def params_of(name: str, dtype: torch.dtype) -> list[torch.nn.Parameter]:
    torch.manual_seed(0)
    last = name == CHANNELS_LAST
    params = []
    for shape in SETS["ResNet-50" if last else name]():
        value = (torch.randn(shape) * 0.02).to(dtype)
        if last and len(shape) == 4:
            value = value.to(memory_format=torch.channels_last)
        params.append(torch.nn.Parameter(value))
        params[-1].grad = torch.randn_like(value) * 1e-3
    return params


def run_at(step: Callable[[], None], level: int) -> Callable[[], None]:
    library = native.load()

    def run() -> None:
        library.acprop_use_isa(level)
        step()

    return run


CLOCKS = {2: time.perf_counter, 1: time.thread_time}


def measure(
    name: str, kind: Kind, levels: list[int], options: Any, library: ctypes.CDLL
) -> dict[str, Any]:
    params = params_of(name, kind.dtype)
    ours = acprop.ACProp(params, lr=1e-9, fused=True, **kind.options)
    runs: dict[str, Callable[[], None]] = {
        ADAMW: torch.optim.AdamW(params, lr=1e-9, fused=True).step
    }
    runs |= {LEVELS[level]: run_at(ours.step, level) for level in levels}
    n = sum(p.numel() for p in params)
    runs["limit"] = limit_of(kind, n, library)
    entry: dict[str, Any] = {"bytes": kind.n_bytes}
    for threads in map(int, options.threads.split(",")):
        torch.set_num_threads(threads)
        samples = take_turns(runs, rounds=options.rounds, clock=CLOCKS[threads])
        entry[f"{threads} threads"] = {
            "ns_per_element": {k: min(v) / n * 1e9 for k, v in samples.items()},
            "ratios": {LEVELS[i]: ratio(samples, ADAMW, LEVELS[i]) for i in levels},
            "of_limit": {LEVELS[i]: ratio(samples, "limit", LEVELS[i]) for i in levels},
        }
    native.load().acprop_use_isa(-1)
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="|".join([*SETS, CHANNELS_LAST]))
    parser.add_argument("--kinds", default="|".join(KINDS))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", default="2,1")
    parser.add_argument("--isa", type=int, default=None, help="0, 1 or 2 alone")
    options = parser.parse_args()
    best = native.load().acprop_use_isa(-1)
    levels = [options.isa] if options.isa is not None else sorted({1, best} & {0, 1, 2})
    record: dict = {"machine": machine(), "sets": {}}
    with tempfile.TemporaryDirectory() as folder:
        library = stream(folder)
        for name in options.sets.split("|"):
            entry: dict = {"elements": sum(p.numel() for p in params_of(name, SINGLE))}
            print(f"\n{name}: {entry['elements']:,} elements; times {ADAMW}'s speed")
            for kind in options.kinds.split("|"):
                entry[kind] = measure(name, KINDS[kind], levels, options, library)
                show(kind, entry[kind])
            record["sets"][name] = entry
    print(f"written to {save('small_state', record)}")


def show(kind: str, entry: dict) -> None:
    print(f"  {kind}: {entry['bytes']:.2f} bytes of an element")
    for threads, found in list(entry.items())[1:]:
        for level, r in found["ratios"].items():
            limit = found["of_limit"][level]["median"]
            text = f"{r['median']:.2f} × ({r['low']:.2f}–{r['high']:.2f})"
            print(f"    {threads}, {level:8} {text}, {limit:.2f} of the limit")


if __name__ == "__main__":
    main()
