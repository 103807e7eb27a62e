"""How fast is `ACProp().step()`, next to what one would use instead?

Prints one table for two threads (wall time) and one for one thread (CPU time), and
writes results/perf/step.json. `--sets MLP,GPT-2` and `--rounds 7` shorten it.
"""

import argparse
import ctypes
import math
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytorch_optimizer
import torch
from measure import machine, ratio, save, take_turns
from shapes import SETS, Shape, n_elements

import acprop
from acprop import native

US = "ACProp"
# What the default needs: read x, g, M and s, write x, M and s, 4 bytes each.
BYTES = 28
LEVELS = ("baseline", "AVX2", "AVX-512")
ALIGNED = 16  # floats in a cache line


def stream(folder: str) -> ctypes.CDLL:
    """The same traffic as a step, but next to no arithmetic: the machine's limit."""
    source, library = Path(folder) / "stream.c", Path(folder) / "stream.so"
    source.write_text("""
#include <stdint.h>
typedef void (*range)(int64_t, int64_t, void *);
typedef int32_t (*parallel)(int64_t, int64_t, int64_t, range, void *);
typedef struct { float *x, *g, *m, *s; int64_t n; } job;
enum { BINS = 64 };
static void body(int64_t begin, int64_t end, void *context) {
    job *j = context;
    float *restrict x = j->x, *restrict g = j->g;
    float *restrict m = j->m, *restrict s = j->s;
    for (int64_t i = j->n * begin / BINS; i < j->n * end / BINS; i++) {
        x[i] -= 1e-9f * g[i];
        m[i] += 1e-9f * g[i];
        s[i] += 1e-9f * g[i];
    }
}
void stream(float *x, float *g, float *m, float *s, int64_t n, parallel p) {
    job j = {x, g, m, s, n};
    if (n < 32768) body(0, BINS, &j); else p(0, BINS, 1, body, &j);
}
""")
    command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", str(source), "-o"]
    subprocess.run([*command, str(library)], check=True)
    return ctypes.CDLL(str(library))


def candidates(
    shapes: list[Shape], library: ctypes.CDLL
) -> dict[str, Callable[[], None]]:
    """One step of each, all on the same memory.

    Where its pages happen to lie makes identical code up to twice as slow, so
    parameters, gradients and both moments are cut from four buffers that everybody
    shares, the stream included.
    """
    torch.manual_seed(0)
    flat = [torch.zeros(_padded(shapes)) for _ in range(4)]
    flat[0].normal_().mul_(0.02)
    flat[1].normal_().mul_(1e-3)
    flat[3].fill_(1e-6)
    x, g, m, s = (_cut(buffer, shapes) for buffer in flat)
    params = [torch.nn.Parameter(view) for view in x]
    for p, grad in zip(params, g, strict=True):
        p.grad = grad
    optimizers = {
        US: acprop.ACProp(params, lr=1e-9),
        "AdamW(fused=True)": torch.optim.AdamW(params, lr=1e-9, fused=True),
        "AdamW()": torch.optim.AdamW(params, lr=1e-9),
        "AdaBelief (pytorch_optimizer)": pytorch_optimizer.AdaBelief(params, lr=1e-9),
        "ADOPT (pytorch_optimizer)": pytorch_optimizer.ADOPT(params, lr=1e-9),
    }
    for optimizer in optimizers.values():
        optimizer.step()
        for i, p in enumerate(params):
            state = optimizer.state[p]
            second = "exp_avg_sq" if "exp_avg_sq" in state else "exp_avg_var"
            state["exp_avg"], state[second] = m[i], s[i]
    runs: dict[str, Callable[[], None]] = {k: o.step for k, o in optimizers.items()}
    parallel = ctypes.CDLL(torch._C.__file__).torch_parallel_for
    addresses = [ctypes.c_void_p(t.data_ptr()) for t in flat]
    n = ctypes.c_int64(n_elements(shapes))

    def limit() -> None:
        library.stream(*addresses, n, parallel)

    return {**runs, "stream limit": limit}


def level() -> str:
    """The instruction sets that our kernel and torch's use here."""
    library = native.load()
    ours = "none" if library is None else LEVELS[library.acprop_use_isa(-1)]
    return f"ours {ours}, torch {torch.backends.cpu.get_cpu_capability()}"


def _padded(shapes: list[Shape]) -> int:
    return sum(-(-math.prod(shape) // ALIGNED) * ALIGNED for shape in shapes)


def _cut(buffer: torch.Tensor, shapes: list[Shape]) -> list[torch.Tensor]:
    """A view for each shape, each at the start of a cache line as torch allocates."""
    views, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        views.append(buffer[start : start + size].view(shape))
        start += -(-size // ALIGNED) * ALIGNED
    return views


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    if native.load() is None:
        print(f"without the native kernel: {native.why_not()}")
    record: dict = {
        "machine": machine(),
        "level": level(),
        "bytes_per_element": BYTES,
        "sets": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        library = stream(folder)
        for name in options.sets.split(","):
            shapes = SETS[name]()
            runs = candidates(shapes, library)
            entry: dict = {"tensors": len(shapes), "elements": n_elements(shapes)}
            for threads, clock in ((2, time.perf_counter), (1, time.thread_time)):
                torch.set_num_threads(threads)
                samples = take_turns(runs, rounds=options.rounds, clock=clock)
                entry[f"{threads} threads"] = {
                    "us": min(samples[US]) * 1e6,
                    "ratios": {k: ratio(samples, k, US) for k in runs if k != US},
                }
            record["sets"][name] = entry
            show(name, entry)
    print(f"written to {save('step', record)}")


def show(name: str, entry: dict) -> None:
    print(f"\n{name}: {entry['tensors']} tensors, {entry['elements']:,} elements")
    columns = f"{'2 threads, wall':>24}{'1 thread, CPU':>24}"
    print(f"  {'ACProp() is faster than …':32}{columns}")
    for peer in entry["2 threads"]["ratios"]:
        cells = ""
        for threads in ("2 threads", "1 threads"):
            r = entry[threads]["ratios"][peer]
            text = f"{r['median']:.2f} × ({r['low']:.2f}–{r['high']:.2f})"
            cells += f"{text:>24}"
        print(f"  {peer:32}{cells}")


if __name__ == "__main__":
    main()
