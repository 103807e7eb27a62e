"""Every run of a script, one line each: results/perf/history.jsonl, only appended to.

    python perf/history.py step                 the medians of every run
    python perf/history.py step 'GPT-2'         only those whose name holds this

A line has the date, the commit, the processor with the instruction set in use, and all
medians of the record. Compare lines of the same processor; the others say how far the
machine matters.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acprop.bench.conditions import commit


def medians(record: Any, *place: str) -> Iterator[tuple[str, float]]:
    """Every ratio of a record by its place in it."""
    if not isinstance(record, dict):
        return
    if "median" in record:
        yield " / ".join(place), float(f"{record['median']:.4g}")
        return
    for name, part in record.items():
        yield from medians(part, *place, name)


def append(file: Path, script: str, record: dict[str, Any]) -> None:
    """Note what a script has measured just now."""
    machine = record["machine"]
    line = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "script": script,
        "cpu": machine["cpu"],
        "isa": machine["torch_isa"],
        "torch": machine["torch"],
        "medians": dict(medians(record)),
    }
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def markdown(file: Path, script: str, part: str = "") -> str:
    """The runs of a script, oldest first, as a table."""
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    runs = [line for line in lines if line["script"] == script]
    names = dict.fromkeys(n for run in runs for n in run["medians"] if part in n)
    rows = [["", *(f"{run['date']} {run['commit'][:7]}" for run in runs)]]
    rows.append(["---"] * (len(runs) + 1))
    rows.append(["processor", *(f"{run['cpu']}, {run['isa']}" for run in runs)])
    for name in names:
        found = (run["medians"].get(name) for run in runs)
        rows.append([name, *("" if n is None else f"{n:.2f}" for n in found)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    from measure import RESULTS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script")
    parser.add_argument("part", nargs="?", default="")
    options = parser.parse_args()
    print(markdown(RESULTS / "history.jsonl", options.script, options.part))
