"""The speed table of the README, from results/perf/step.json: python perf/table.py"""

import json

from measure import RESULTS


def markdown() -> str:
    """How many times faster ACProp().step() is; two threads, wall time."""
    sets = json.loads((RESULTS / "step.json").read_text("utf-8"))["sets"]
    peers = list(next(iter(sets.values()))["2 threads"]["ratios"])
    rows = [["`ACProp().step()` against", *sets], ["---"] * (len(sets) + 1)]
    for peer in peers:
        ratios = (entry["2 threads"]["ratios"][peer] for entry in sets.values())
        rows.append([peer, *(f"{r['median']:.2f} ×" for r in ratios)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    print(markdown())
