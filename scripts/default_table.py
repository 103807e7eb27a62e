"""Write the tables of the documents that come from records.

    python scripts/default_table.py            write them
    python scripts/default_table.py --check    say what is not as the records have it

Between `<!-- table: NAME -->` and `<!-- end -->`; NAME is default (results/default),
verdicts and betas (the same), hazards (results/guard/ablation.json), tuned
(results/vision), rooms (results/rl), gans (results/gan), translations (results/nmt),
small or codes (results/small-state). Who is better is decided by
`acprop.report.comparisons` alone, as docs/protocol.md has it; a † is explained below
its table. One long file, so that one command checks every number of the pages.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from acprop.lab.guard.ablation import STEPS
from acprop.metrics import metric_of
from acprop.records import RunRecord, StudyRecord, read
from acprop.report.comparisons import Comparison, compare_all, compare_pairs
from acprop.report.selection import best
from acprop.report.statistics import Arm, arms_of, over_seeds, unclean
from acprop.report.studies import gather
from acprop.report.style import display
from acprop.report.tables import TextTable, markdown, study_table

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/bench.md", "docs/guard.md", "docs/small-state.md")
# Study, heading, in a sentence, metric.
TASKS = (
    ("mnist-mlp", "MNIST, MLP: accuracy", "MNIST", "accuracy"),
    (
        "vgg-batchnorm",
        "CIFAR-10, VGG-11 with BatchNorm: accuracy",
        "VGG-11 with BatchNorm",
        "accuracy",
    ),
    (
        "vgg-plain",
        "CIFAR-10, VGG-11 without: accuracy",
        "VGG-11 without BatchNorm",
        "accuracy",
    ),
    ("gpt-bytes", "Moby-Dick, GPT: loss in nats", "the GPT", "loss"),
    ("ro-en", "Romanian to English: BLEU", "the translation", "bleu"),
    ("dcgan", "CIFAR-10, DCGAN: FD-lite0-80", "the GAN", "fd_lite0_80"),
)
DEFAULT = {"convention": "guarded", "average": "after", "nesterov": True}
ROWS = {
    "**ACProp (default)**": ("acprop", DEFAULT),
    "ACProp, `nesterov=False`": ("acprop", {**DEFAULT, "nesterov": False}),
    'ACProp, `average="before"`': ("acprop", {"average": "before"}),
    "ACProp, the authors' convention": ("acprop", {"convention": "authors"}),
    "AdamW": ("adamw", {}),
    "NAdamW": ("nadam", {"momentum_decay": 4e-3}),
    "NAdamW, `momentum_decay=0`": ("nadam", {"momentum_decay": 0.0}),
    "ADOPT": ("adopt", {}),
}


def table(columns: list[str], rows: list[list[str]], arms: Iterable[Arm] = ()) -> str:
    """In Markdown; below it, how many of these runs no commit holds."""
    text = markdown(TextTable(tuple(columns), tuple(map(tuple, rows))))
    note = unclean([run for arm in arms for run in arm.runs])
    return f"{text}\n{note}\n" if note else text


def default() -> str:
    """Each as search chose it; ▲ and ▼: better or worse than the default."""
    columns: list[dict[str, str]] = []
    head, shown = [""], list[Arm]()
    for name, heading, _, metric in TASKS:
        found = _compared(name, metric)
        cells = {
            row: _cell(arm, comparison, f"test_{metric}")
            for row, (arm, comparison) in found.items()
        }
        columns.append({row: cells.get(row, "–") for row in ROWS})
        shown += [arm for arm, _ in found.values()]
        head.append(heading + _mark(arm for arm, _ in found.values()))
    rows = [[row, *(column[row] for column in columns)] for row in ROWS]
    return table(head, rows, shown)


def verdicts() -> str:
    """The marks of the default's table in words."""
    found: dict[str, dict[str, list[str]]] = {row: {} for row in ROWS}
    for name, _, short, metric in TASKS:
        for row, (_, comparison) in _compared(name, metric).items():
            if comparison is not None:
                word = comparison.words if comparison.words in WORDS else WORDS[-1]
                found[row].setdefault(word, []).append(f"on {short}")
    lines: list[str] = []
    for row, words in found.items():
        parts = [f"{word} {_listed(words[word])}" for word in WORDS if word in words]
        lines += [f"- **{row}**: {'; '.join(parts)}.\n"] if parts else []
    return "".join(lines)


WORDS = ("better", "worse", "no difference shown")


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


@cache
def _compared(name: str, metric: str) -> dict[str, tuple[Arm, Comparison | None]]:
    """Every row that was run, beside the default, as one family."""
    arms = {row: _chosen(name, metric, *wanted) for row, wanted in ROWS.items()}
    there = {row: arm for row, arm in arms.items() if arm is not None}
    ours = next(iter(there.values()))
    found = compare_all(list(there.values()), ours, f"test_{metric}")
    return dict(zip(there, zip(there.values(), found, strict=True), strict=True))


def _mark(arms: Iterable[Arm]) -> str:
    return " †" if any(arm.mark for arm in arms) else ""


def betas() -> str:
    """The default with each β2, at the learning rate that search found best for it."""
    rows: list[list[str]] = []
    shown = list[Arm]()
    for name, heading, _, metric in TASKS[:4]:
        arms = [_chosen(name, metric, "acprop", {**DEFAULT, "beta2": b}) for b in BETA2]
        known = [arm for arm in arms if arm is not None]
        metric = f"test_{metric}"
        cells = [_cell(arm, None, metric) for arm in known]
        (found,) = compare_pairs([(known[0], known[1])], metric)
        shown += known
        rows.append([heading + _mark(known), *cells, _verdict(found, metric, "+.2g")])
    head = ["", *(f"β2 = {beta2}" for beta2 in BETA2)]
    return table([*head, f"{BETA2[0]} against {BETA2[1]}"], rows, shown)


BETA2 = (0.98, 0.999)


def _chosen(
    name: str, metric: str, optimizer: str, settings: dict[str, Any]
) -> Arm | None:
    """The arm whose settings were best on validation; None if it was not run."""
    searched = _those(_arms("default", f"{name}-search"), optimizer, settings)
    if not searched:
        return None
    winner = best(searched, f"val_{metric}")
    chosen = {k: winner.settings[k] for k in ("lr", "beta2")}
    (arm,) = _those(
        _arms("default", f"{name}-small"), optimizer, {**settings, **chosen}
    )
    return arm


def _those(arms: list[Arm], optimizer: str, settings: dict[str, Any]) -> list[Arm]:
    return [
        arm
        for arm in arms
        if arm.runs[0].optimizer == optimizer
        and all(arm.settings[k] == v for k, v in settings.items())
    ]


def _find(arms: list[Arm], optimizer: str, settings: dict[str, Any]) -> Arm:
    (arm,) = _those(arms, optimizer, settings)
    return arm


def _verdict(found: Comparison, metric: str, form: str) -> str:
    """The interval of a difference, and what it shows."""
    factor, seen = metric_of(metric).factor, found.difference
    ends = ", ".join(f"{factor * end:{form}}" for end in (seen.low, seen.high))
    return f"[{ends}]: {found.words}".replace("-", "−")


def _cell(arm: Arm, found: Comparison | None, metric: str) -> str:
    """Mean ± std, marked; the settings that search chose."""
    seen, factor = over_seeds(arm, metric), metric_of(metric).factor
    std = factor * seen.std
    text = f"{factor * seen.mean:.4g} ± {std:{'.0f' if std >= 10 else '.2g'}}"
    if len(arm.done) < len(arm.runs):
        text += f" ({len(arm.runs) - len(arm.done)} lost)"
    if found is not None:
        text += {"better": " ▲", "worse": " ▼"}.get(found.words, "")
    return f"{text}, lr {arm.settings['lr']:g}, β2 {arm.settings['beta2']:g}"


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
    """The four rooms: how fast, and how well in the end."""
    arms = _arms("rl", "dqn-four-rooms-small")
    arms.sort(key=lambda a: -over_seeds(a, "mean_return").mean)
    (ours,) = [arm for arm in arms if arm.optimizer == "acprop"]
    rows: list[list[str]] = []
    metric_name = "mean_return"
    compared = compare_all(arms, ours, metric_name)
    for arm, found in zip(arms, compared, strict=True):
        row = [_in_the_rooms(arm), f"{len(arm.done)} of {len(arm.runs)}"]
        for metric in ("mean_return", "train_return", "test_return"):
            seen = over_seeds(arm, metric)
            row.append(f"{seen.mean:.3f} ± {seen.std:.3f}" if seen.n else "–")
        is_compared = found is not None and found.difference.n > 1
        rows.append(
            [*row, _verdict(found, metric_name, "+.3f") if is_compared else "–"]
        )
    head = ["", "finished", "all episodes", "last 100 steps", "greedy, test"]
    return table([*head, "all episodes, against the default"], rows, arms)


def _in_the_rooms(arm: Arm) -> str:
    written = {k: v for k, v in arm.written.items() if k in ("lr", "eps")}
    parts = [display(arm.optimizer), *(f"{k} {v:g}" for k, v in written.items())]
    return ", ".join(parts) + arm.mark


def gans() -> str:
    """Table 4's networks at smoke scale: distances after the first and last epoch."""
    metric = "test_fd_lite0_80"
    kinds = ("DCGAN", "RLGAN", "SNGAN", "SAGAN")
    shown = [
        (kind, arm) for kind in kinds for arm in _arms("gan", f"{kind.lower()}-smoke")
    ]
    rows = [
        [
            kind,
            display(arm.optimizer) + arm.mark,
            f"{len(arm.done)} of {len(arm.runs)}",
            *(_mean([run.history[i][metric] for run in arm.done]) for i in (0, -1)),
        ]
        for kind, arm in shown
    ]
    head = ["", "optimizer", "finished", "after the first epoch", "at the end"]
    return table(head, rows, [arm for _, arm in shown])


def translations() -> str:
    """Table 3's pairs at smoke scale: BLEU beside that of copying the source."""
    rows: list[list[str]] = []
    shown = list[Arm]()
    for pair in ("de-en", "en-vi", "ja-en", "ro-en"):
        arms = _arms("nmt", f"{pair}-smoke")
        copying = arms[0].runs[0].data["bleu"]["copying"]["test"]
        scores = [
            f"{display(arm.optimizer)} {seen.mean:.1f}{arm.mark}"
            for arm, seen in ((arm, over_seeds(arm, "test_bleu")) for arm in arms)
        ]
        shown += arms
        rows.append([pair.upper(), f"{copying:.1f}", "; ".join(scores)])
    return table(["", "copying the source", "translated, by optimizer"], rows, shown)


def tuned() -> str:
    """Everyone tuned alike: the study's own table, without what is not compared."""
    records = list(read(ROOT / "results" / "vision" / "mnist-tuned-small.jsonl"))
    (study,) = [record for record in records if isinstance(record, StudyRecord)]
    found = gather(study, [r for r in records if isinstance(r, RunRecord)])
    made = study_table(found)
    beside = ("train", "val", "steps")
    kept = [i for i, c in enumerate(made.columns) if not c.startswith(beside)]
    notes = [note for note in (unclean(found.trials), unclean(found.runs)) if note]
    mark = {"trials": "trials †" if unclean(found.trials) else "trials"}
    head = [mark.get(made.columns[i], made.columns[i]) for i in kept]
    text = table(head, [[row[i] for i in kept] for row in made.rows])
    return "\n".join([text, *(f"{note}\n" for note in notes)]).replace("\xa0", " ")


def small() -> str:
    """8-bit state beside float32 state, at one learning rate."""
    rows: list[list[str]] = []
    shown = list[Arm]()
    for name, heading, _, metric in (TASKS[0], TASKS[3]):
        metric = f"test_{metric}"
        factor = metric_of(metric).factor
        arms = _arms("small-state", f"{name}-small")
        wide, coded = (_find(arms, "acprop", {"small_state": b}) for b in (False, True))
        seen = [over_seeds(arm, metric) for arm in (wide, coded)]
        cells = [f"{factor * s.mean:.4g} ± {factor * s.std:.2g}" for s in seen]
        (found,) = compare_pairs([(coded, wide)], metric)
        shown += [wide, coded]
        words = _verdict(found, metric, "+.2g")
        rows.append([heading + _mark([wide, coded]), *cells, words])
    return table(["", "float32", "8 bits", "8 bits against float32"], rows, shown)


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
    "verdicts": verdicts,
    "betas": betas,
    "hazards": hazards,
    "rooms": rooms,
    "gans": gans,
    "translations": translations,
    "tuned": tuned,
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
