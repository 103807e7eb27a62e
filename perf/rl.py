"""How many moves does a DQN make in a second while it learns?

The four rooms with the task's own settings (32 copies, batches of 128), ACProp, one
thread. A move is one step of one copy; every step of the optimizer makes 32 of them.
CPU seconds count only the time the thread had a core. Writes results/perf/rl.json.
`--rounds 3` shortens it.
"""

import argparse
import statistics
import time

import torch
from measure import machine, save

from acprop.bench.optimizers import build
from acprop.tasks.rl import RLSettings, RLTask

STEPS = 300
CLOCKS = {"wall": time.perf_counter, "CPU": time.process_time}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    settings = RLSettings()
    session = RLTask(settings).begin(0, build("acprop", {"lr": 1e-3}))
    session.train_step()  # fills the memory
    samples = [measure(session) for _ in range(rounds)]
    record = {"machine": machine(), "rounds": rounds, "moves_per_second": {}}
    for clock in CLOCKS:
        speeds = [STEPS * settings.copies / seconds[clock] for seconds in samples]
        low, middle, high = statistics.quantiles(speeds, n=4)
        found = {"median": middle, "low": low, "high": high}
        record["moves_per_second"][clock] = found
        print(f"  {clock:5}{middle:10,.0f} moves/s ({low:,.0f}–{high:,.0f})")
    print(f"\nwritten to {save('rl', record)}")


def measure(session) -> dict[str, float]:
    """Seconds of so many steps, by each clock."""
    begun = {name: clock() for name, clock in CLOCKS.items()}
    for _ in range(STEPS):
        session.train_step()
    return {name: clock() - begun[name] for name, clock in CLOCKS.items()}


if __name__ == "__main__":
    main()
