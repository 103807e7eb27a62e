"""How long does the explorer take for a change, at 10⁴ steps, in a real browser?

One setting after another is changed forty times in Chromium, with the five optimizers
that are shown at first, then with twelve; the limits are 50 and 150 ms. "work" is what
the page computes, draws and lays out. "CPU" counts only the time the page's thread had
a core, on the average of all changes. β1 is the dearest, since all borders are computed
anew.
Writes results/perf/explorer.json. `--rounds 10` shortens it.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from measure import machine, save

from acprop.report.explorer import METHODS, write_explorer

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import browser

STEPS = 10_000
SHOWN = {"five": "", "twelve": f"&show={','.join(METHODS[:12])}"}
# Turns a knob once for each value, a frame or more apart; returns what was measured.
TURN = """
const [id, values, done] = arguments;
const field = document.getElementById(id);
performance.clearMeasures();
const measured = () =>
  performance.getEntriesByName("explorer-change").map((entry) => entry.duration);
const next = () => {
  if (values.length === 0) {
    setTimeout(() => done(measured()), 300);
    return;
  }
  field.value = values.shift();
  field.dispatchEvent(new Event("input"));
  setTimeout(next, 80);
};
next();
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    knobs = {
        "P": [5 + i for i in range(rounds)],
        "beta2": [0.5 + 0.4 * i / rounds for i in range(rounds)],
        "lr": [0.01 * (i + 1) for i in range(rounds)],
        "beta1": [0.5 + 0.4 * i / rounds for i in range(rounds)],
    }
    record = {"machine": machine(), "rounds": rounds, "steps": STEPS}
    with tempfile.TemporaryDirectory() as folder, browser.opened() as driver:
        page = write_explorer(Path(folder))
        record["browser"] = driver.capabilities["browserVersion"]
        driver.set_script_timeout(600)
        browser.look(driver)
        by_thread = {"timeDomain": "threadTicks"}
        driver.execute_cdp_cmd("Performance.enable", by_thread)
        record["milliseconds"] = {}
        for words, shown in SHOWN.items():
            print(f" {words} optimizers")
            driver.get("about:blank")
            driver.get(f"{page.as_uri()}#steps={STEPS}{shown}")
            browser.settle(driver)
            for name, values in knobs.items():  # a first round warms the compiler up
                driver.execute_async_script(TURN, name, values[:5])
            record["milliseconds"][words] = {
                name: measure(driver, name, values) for name, values in knobs.items()
            }
    print(f"\nwritten to {save('explorer', record)}")


def measure(driver, name: str, values: list[float]) -> dict[str, dict[str, float]]:
    """Median and quartiles of what one knob costs."""
    before = cpu_seconds(driver)
    times = driver.execute_async_script(TURN, name, values)
    cpu = 1e3 * (cpu_seconds(driver) - before) / len(times)
    low, middle, high = statistics.quantiles(times, n=4)
    print(f"  {name:6}CPU {cpu:7.1f} ms, work {middle:.1f} ms ({low:.1f}–{high:.1f})")
    work = {"median": middle, "low": low, "high": high}
    return {"CPU": {"mean": cpu}, "work": work}


def cpu_seconds(driver) -> float:
    """Of all tasks of the page's thread so far."""
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return {m["name"]: m["value"] for m in metrics}["TaskDuration"]


if __name__ == "__main__":
    main()
