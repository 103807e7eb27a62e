"""How fast is the laboratory: the paper's Fig. 1, natively and in numpy?

5 optimizers × 6 learning rates × 40 periods × 40 β2, 10,000 steps each. Prints the
ratios, how the time grows, and what a loop over torch.optim would take; writes
results/perf/sweep.json. `--rounds 3` shortens it.
"""

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from measure import machine, ratio, save, take_turns

from acprop import native
from acprop.lab.methods import method
from acprop.lab.problems import dense
from acprop.lab.regions import regions
from acprop.lab.simulate import Sweep, distances

COMPARED = ("adam", "rmsprop", "adabelief", "adashift", "acprop-paper")
PROBLEMS = [dense(P) for P in range(3, 43)]
ONE, ALL, NUMPY = "native, 1 core", f"native, {os.cpu_count()} cores", "numpy"


def fig1(*, n_beta2: int = 40, steps: int = 10_000) -> Sweep:
    beta2 = tuple(1 - np.geomspace(0.9, 1e-4, n_beta2))
    return Sweep(tuple(map(method, COMPARED)), beta1=0.9, beta2=beta2, steps=steps)


def lane_steps(sweep: Sweep) -> int:
    """Steps of all the runs that a loop would do one after the other."""
    lanes = len(sweep.methods) * len(sweep.alpha0) * len(PROBLEMS) * len(sweep.beta2)
    return lanes * sweep.steps


def natively(sweep: Sweep, threads: int | None = None) -> Callable[[], None]:
    def run() -> None:
        distances(PROBLEMS, sweep, engine="native", threads=threads)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    if native.load() is None:
        raise SystemExit(
            f"the native engine must be there, got none: {native.why_not()}"
        )
    n = lane_steps(fig1())
    print(f"Fig. 1: {n:.1e} lane-steps")
    engines = compare_engines(rounds, n)
    growth = measure_growth(rounds)
    plane = measure_plane(rounds)
    memory = measure_memory()
    loop = measure_loop(rounds, n)
    record = {
        "machine": machine(),
        "lane_steps": n,
        "engines": engines,
        "growth": growth,
        "plane": plane,
        "memory": memory,
        "torch.optim loop": loop,
    }
    print(f"\nwritten to {save('sweep', record)}")


def compare_engines(rounds: int, n: int) -> dict:
    """One core against numpy in CPU time, all cores against one in wall time."""
    runs = {ONE: natively(fig1(), threads=1), ALL: natively(fig1())}
    wall = take_turns(runs, rounds=rounds)
    # numpy takes long, so it runs once, with the native engine on both sides of it.
    alone = {ONE: runs[ONE]}
    before = take_turns(alone, rounds=rounds, clock=time.process_time)[ONE]
    start = time.process_time()
    distances(PROBLEMS, fig1(), engine="numpy")
    numpy_seconds = time.process_time() - start
    after = take_turns(alone, rounds=rounds, clock=time.process_time)[ONE]
    cpu = {ONE: before + after}
    cpu[NUMPY] = [numpy_seconds] * len(cpu[ONE])
    ratios = {
        f"{NUMPY} / {ONE}, CPU": ratio(cpu, NUMPY, ONE),
        f"{ONE} / {ALL}, wall": ratio(wall, ONE, ALL),
    }
    seconds = {f"{k}, CPU": statistics.median(v) for k, v in cpu.items()}
    seconds |= {f"{k}, wall": statistics.median(v) for k, v in wall.items()}
    for name, s in seconds.items():
        print(f"  {name:24}{s:9.3f} s{n / s:12.2e} lane-steps/s")
    for name, r in ratios.items():
        print(f"  {name}: {r['median']:.2f} ({r['low']:.2f}–{r['high']:.2f})")
    speeds = {name: n / s for name, s in seconds.items()}
    return {"seconds": seconds, "lane_steps_per_second": speeds, "ratios": ratios}


def measure_growth(rounds: int) -> dict:
    """CPU time on one core: twice the steps or the β2 should take twice as long."""
    # The tail grows along: steps whose distance counts cost a little more.
    steps = {
        f"{k:,} steps": replace(fig1(), steps=k, tail=k // 10)
        for k in (2_500, 5_000, 10_000, 20_000)
    }
    widths = {f"{k} β2": fig1(n_beta2=k) for k in (10, 20, 40, 80, 160)}
    table = {}
    print(f"\n  {'one core, CPU':16}{'× the first':>12}{'':18}{'lane-steps/s':>14}")
    for sweeps in (steps, widths):
        runs = {name: natively(sweep, threads=1) for name, sweep in sweeps.items()}
        samples = take_turns(runs, rounds=rounds, clock=time.process_time)
        first = next(iter(sweeps))
        for name, sweep in sweeps.items():
            r = ratio(samples, name, first)
            speed = lane_steps(sweep) / statistics.median(samples[name])
            table[name] = {"times_the_first": r, "lane_steps_per_second": speed}
            spread = f"({r['low']:.2f}–{r['high']:.2f})"
            print(f"  {name:16}{r['median']:12.2f}{spread:>18}{speed:14.2e}")
    return table


def measure_plane(rounds: int) -> dict:
    """Wall time of a 400 × 400 region, exact drift included, all cores."""
    sweep = Sweep(
        (method("acprop-paper"),), 0.9, tuple(1 - np.geomspace(0.9, 1e-4, 400))
    )

    def run() -> None:
        regions("dense", range(3, 403), sweep)

    samples = take_turns({"plane": run}, rounds=max(3, rounds // 2))["plane"]
    seconds = statistics.median(samples)
    print(f"\n  a 400 × 400 plane of one optimizer: {seconds:.2f} s")
    return {"seconds": seconds, "low": min(samples), "high": max(samples)}


def measure_memory() -> dict:
    """The largest memory of the process so far, after longer and longer runs."""
    peak = {}
    for steps in (1_000, 10_000, 100_000):
        natively(fig1(steps=steps))()
        peak[f"{steps:,} steps"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    listed = ", ".join(f"{k} {v / 1024:.1f} MB" for k, v in peak.items())
    print(f"  largest memory of the process after {listed}")
    return {"kilobytes": peak}


def measure_loop(rounds: int, n: int) -> dict:
    """torch.optim.Adam on one scalar, projected after each step; the rest is scaled."""
    torch.set_num_threads(1)
    cycle = [torch.tensor(c) for c in dense(10).cycle]
    x = torch.nn.Parameter(torch.tensor(0.0, dtype=torch.float64))
    adam = torch.optim.Adam([x], lr=0.01)
    n_steps = 200

    def loop() -> None:
        for t in range(1, n_steps + 1):
            adam.param_groups[0]["lr"] = 0.01 * t**-0.5
            x.grad = cycle[t % 10]
            adam.step()
            with torch.no_grad():
                x.clamp_(-1, 1)

    seconds = statistics.median(take_turns({"loop": loop}, rounds=rounds)["loop"])
    hours = seconds / n_steps * n / 3600
    print(
        f"\n  one projected step of torch.optim.Adam: {seconds / n_steps * 1e6:.1f} µs"
    )
    print(
        "  a loop over torch.optim would take about "
        f"{hours:.1f} hours ({hours / 24:.2f} days)"
    )
    return {"us_per_step": seconds / n_steps * 1e6, "hours_extrapolated": hours}


if __name__ == "__main__":
    main()
