"""Write the tables of the documents that come from records.

    python scripts/default_table.py            write them
    python scripts/default_table.py --check    say what is not as the records have it

Between `<!-- table: NAME -->` and `<!-- end -->`; NAME is default (results/default),
roads (results/guard/training.json), hazards (results/guard/ablation.json), rooms
(results/rl), gans (results/gan), translations (results/nmt), small or codes
(results/small-state).
"""

import argparse
import json
import re
import sys
from math import isfinite
from pathlib import Path
from typing import Any

from acprop.lab.guard.ablation import STEPS
from acprop.records import RunRecord, read
from acprop.report.statistics import Arm, arms_of, compare, over_seeds
from acprop.report.style import display
from acprop.report.tables import Table, markdown

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/bench.md", "docs/guard.md", "docs/small-state.md")
# Study, heading, metric, factor.
TASKS = (
    ("mnist-mlp", "MNIST, MLP: accuracy", "test_accuracy", 100),
    (
        "vgg-batchnorm",
        "CIFAR-10, VGG-11 with BatchNorm: accuracy",
        "test_accuracy",
        100,
    ),
    ("vgg-plain", "CIFAR-10, VGG-11 without: accuracy", "test_accuracy", 100),
    ("gpt-bytes", "Moby-Dick, GPT: loss in nats", "test_loss", 1),
)
ROWS = {
    "AdamW": ("adamw", {}),
    "ADOPT": ("adopt", {}),
    "AdaBelief": ("adabelief", {}),
    "SGD, momentum 0.9": ("sgd", {}),
    "ACProp, the authors' convention": ("acprop", {"convention": "authors"}),
    "**ACProp**": ("acprop", {"convention": "guarded", "numerator": "m"}),
    'ACProp, `numerator="g"`': (
        "acprop",
        {"convention": "guarded", "numerator": "g", "momentum": 0.0},
    ),
    "ACProp, `momentum=0.9`": ("acprop", {"convention": "guarded", "momentum": 0.9}),
}


def table(columns: list[str], rows: list[list[str]]) -> str:
    return markdown(Table(tuple(columns), tuple(map(tuple, rows))))


def default() -> str:
    """Each at its own best learning rate; marks where it differs from AdamW."""
    columns: list[dict[str, str]] = []
    for name, _, metric, factor in TASKS:
        path = ROOT / "results" / "default" / f"{name}-small.jsonl"
        runs = [r for r in read(path) if isinstance(r, RunRecord)]
        arms = {row: _find(arms_of(runs), *wanted) for row, wanted in ROWS.items()}
        columns.append(
            {
                row: _cell(arm, arms["AdamW"], metric, factor)
                for row, arm in arms.items()
            }
        )
    rows = [[row, *(column[row] for column in columns)] for row in ROWS]
    return table(["", *(heading for _, heading, *_ in TASKS)], rows)


def _find(arms: list[Arm], optimizer: str, settings: dict[str, Any]) -> Arm:
    (arm,) = [
        arm
        for arm in arms
        if arm.runs[0].optimizer == optimizer
        and all(arm.runs[0].spec["settings"][k] == v for k, v in settings.items())
    ]
    return arm


def _cell(arm: Arm, reference: Arm, metric: str, factor: float) -> str:
    """Mean ± std; ▲ better, ▼ worse than AdamW beyond the paired interval."""
    found = over_seeds(arm, metric)
    text = f"{factor * found.mean:.4g} ± {factor * found.std:.2g}"
    if len(arm.done) < len(arm.runs):
        text += f" ({len(arm.runs) - len(arm.done)} lost)"
    if arm is not reference:
        words = compare(arm, reference, metric).words
        text += {"better": " ▲", "worse": " ▼"}.get(words, "")
    return f"{text}, lr {arm.runs[0].spec['settings']['lr']:g}"


def roads() -> str:
    """The roads not taken, seed 0, at one learning rate; – is not run."""
    record = json.loads((ROOT / "results" / "guard" / "training.json").read_text())
    gpt, vgg = record.get("default/gpt-bytes", {}), record["default/vgg-plain"]
    rows = [
        [name, _only(vgg.get(name), "val_accuracy"), _only(gpt.get(name), "val_loss")]
        for name in vgg
    ]
    return table(["", "VGG-11, validation accuracy", "GPT, validation loss"], rows)


def _only(runs: dict[str, dict[str, float]] | None, metric: str) -> str:
    if not runs:
        return "–"
    ((_, run),) = runs.items()
    if not isfinite(run[metric]):
        return "diverged"
    return (
        f"{run[metric]:.3f}" if metric == "val_loss" else f"{100 * run[metric]:.1f} %"
    )


HAZARDS = (
    "zero first",
    "silent start",
    "silent later",
    "β1 = 0",
    "constant",
    "embedding",
)


def hazards() -> str:
    """Worst step/lr, and the share of the planes with the right drift."""
    record = json.loads((ROOT / "results" / "guard" / "ablation.json").read_text())
    head = ["", *HAZARDS, "dense, 10⁴ / 10⁶ / limit", "sparse, limit"]
    rows = [
        [
            row["variant"],
            *(f"{row['worst_step'][name]:.3g}" for name in HAZARDS),
            " / ".join(f"{row['right_drift']['dense'][t][-1]:.2f}" for t in STEPS),
            f"{row['right_drift']['sparse']['limit'][-1]:.2f}",
        ]
        for row in record["rows"]
    ]
    return table(head, rows)


def rooms() -> str:
    """The four rooms: how fast, and how well in the end; differences are to Adam."""
    arms = _arms("rl", "dqn-four-rooms-small")
    (adam,) = [arm for arm in arms if arm.optimizer == "adam"]
    rows: list[list[str]] = []
    for arm in sorted(arms, key=lambda a: -over_seeds(a, "mean_return").mean):
        row = [_in_the_rooms(arm), f"{len(arm.done)} of {len(arm.runs)}"]
        for metric in ("mean_return", "train_return", "test_return"):
            seen = over_seeds(arm, metric)
            row.append(f"{seen.mean:.3f} ± {seen.std:.3f}" if seen.n else "–")
        found = compare(arm, adam, "mean_return")
        ends = f"{found.spread.low:+.3f}, {found.spread.high:+.3f}".replace("-", "−")
        is_other = arm is not adam and found.spread.n > 1
        rows.append([*row, f"[{ends}]: {found.words}" if is_other else "–"])
    head = ["", "finished", "all episodes", "last 100 steps", "greedy, test"]
    return table([*head, "all episodes, against Adam"], rows)


def _in_the_rooms(arm: Arm) -> str:
    written = {k: v for k, v in arm.written.items() if k in ("lr", "eps")}
    parts = [display(arm.optimizer), *(f"{k} {v:g}" for k, v in written.items())]
    return ", ".join(parts)


def gans() -> str:
    """Table 4's networks at smoke scale: distances after the first and last epoch."""
    metric = "test_fd_lite0_80"
    rows = [
        [
            kind,
            display(arm.optimizer),
            f"{len(arm.done)} of {len(arm.runs)}",
            *(_mean([run.history[i][metric] for run in arm.done]) for i in (0, -1)),
        ]
        for kind in ("DCGAN", "RLGAN", "SNGAN", "SAGAN")
        for arm in _arms("gan", f"{kind.lower()}-smoke")
    ]
    return table(
        ["", "optimizer", "finished", "after the first epoch", "at the end"], rows
    )


def translations() -> str:
    """Table 3's pairs at smoke scale: BLEU beside that of copying the source."""
    rows: list[list[str]] = []
    for pair in ("de-en", "en-vi", "ja-en", "ro-en"):
        arms = _arms("nmt", f"{pair}-smoke")
        copying = arms[0].runs[0].data["bleu"]["copying"]["test"]
        found = {display(arm.optimizer): over_seeds(arm, "test_bleu") for arm in arms}
        scores = [f"{name} {seen.mean:.1f}" for name, seen in found.items()]
        rows.append([pair.upper(), f"{copying:.1f}", "; ".join(scores)])
    return table(["", "copying the source", "translated, by optimizer"], rows)


def small() -> str:
    """8-bit state beside float32 state, at one learning rate."""
    rows: list[list[str]] = []
    for name, heading, metric, factor in (TASKS[0], TASKS[3]):
        arms = _arms("small-state", f"{name}-small")
        wide, coded = (_find(arms, "acprop", {"small_state": b}) for b in (False, True))
        seen = [over_seeds(arm, metric) for arm in (wide, coded)]
        cells = [f"{factor * s.mean:.4g} ± {factor * s.std:.2g}" for s in seen]
        found = compare(coded, wide, metric)
        ends = (found.spread.low, found.spread.high)
        low, high = (f"{factor * end:+.2g}".replace("-", "−") for end in ends)
        rows.append([heading, *cells, f"[{low}, {high}]: {found.words}"])
    return table(["", "float32", "8 bits", "8 bits against float32"], rows)


def codes() -> str:
    """How far √s is from float32, for blocks of more and more different elements."""
    record = json.loads((ROOT / "results" / "small-state" / "codes.json").read_text())
    spreads = sorted({row["spread"] for row in record["rows"]})
    cells: dict[str, list[str]] = {}
    for row in record["rows"]:
        text = f"{100 * row['bias']:+.1f} ± {100 * row['deviation']:.0f} %"
        text += f", {row['zeros']} zeros" if row["zeros"] else ""
        cells.setdefault(row["code"], []).append(text.replace("-", "−"))
    rows = [[name, *found] for name, found in cells.items()]
    return table(["", *(f"spread {spread:g}" for spread in spreads)], rows)


def _arms(folder: str, name: str) -> list[Arm]:
    path = ROOT / "results" / folder / f"{name}.jsonl"
    return arms_of([r for r in read(path) if isinstance(r, RunRecord)])


def _mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.0f}" if values else "–"


TABLES = {
    "default": default,
    "roads": roads,
    "hazards": hazards,
    "rooms": rooms,
    "gans": gans,
    "translations": translations,
    "small": small,
    "codes": codes,
}
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.S)


def filled(text: str) -> str:
    """A page with its tables as the records have them."""
    return MARKED.sub(lambda m: f"{m[1]}{TABLES[m[2]]()}{m[3]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    check = parser.parse_args().check
    for page in (ROOT / name for name in PAGES):
        text = page.read_text("utf-8")
        if check and filled(text) != text:
            sys.exit(f"{page.name} differs from its records; run {Path(__file__).name}")
        if not check:
            page.write_text(filled(text), "utf-8")


if __name__ == "__main__":
    main()
