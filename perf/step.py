"""How fast is `ACProp().step()`, next to what one would use instead?

Prints one table for two threads (wall time) and one for one thread (CPU time), and
writes results/perf/step.json. `--sets MLP,GPT-2` and `--rounds 7` shorten it.
"""

import argparse
import ctypes
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
# What the default needs: read x, g, m and s, write x, m and s, 4 bytes each.
BYTES = 28


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
    """One step of each; the parameters and gradients are shared."""
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(s) * 0.02) for s in shapes]
    for p in params:
        p.grad = torch.randn_like(p) * 1e-3
    optimizers = {
        US: acprop.ACProp(params, lr=1e-9),
        "AdamW(fused=True)": torch.optim.AdamW(params, lr=1e-9, fused=True),
        "AdamW()": torch.optim.AdamW(params, lr=1e-9),
        "AdaBelief (pytorch_optimizer)": pytorch_optimizer.AdaBelief(params, lr=1e-9),
        "ADOPT (pytorch_optimizer)": pytorch_optimizer.ADOPT(params, lr=1e-9),
    }
    runs: dict[str, Callable[[], None]] = {k: o.step for k, o in optimizers.items()}
    # The tensors of one piece that the limit is measured on have the same total.
    flat = [torch.zeros(n_elements(shapes)) for _ in range(4)]
    parallel = ctypes.CDLL(torch._C.__file__).torch_parallel_for
    addresses = [ctypes.c_void_p(t.data_ptr()) for t in flat]
    n = ctypes.c_int64(flat[0].numel())

    def limit() -> None:
        library.stream(*addresses, n, parallel)
        return flat  # type: ignore[return-value]  # keeps the memory alive

    return {**runs, "stream limit": limit}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    if native.load() is None:
        print(f"without the native kernel: {native.why_not()}")
    record: dict = {"machine": machine(), "bytes_per_element": BYTES, "sets": {}}
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
