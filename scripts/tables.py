"""Write the tables of README and docs from the records in results/, or check them.

    python scripts/tables.py            write them
    python scripts/tables.py --check    say which page is not as the records have it

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; BLOCKS, at the end,
says what each NAME shows. Arms, metrics and who is better are those of `acprop.report`;
a † is explained below its table.
"""

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import effects_picture
import evidence
import reference_tables
from compared import (
    DEFAULT,
    PEERS,
    ROOT,
    TaskResult,
    against_adamw,
    chosen,
    newer,
    records,
    tasks,
)

from acprop.bench.studies import study_folder
from acprop.metrics import metric_of
from acprop.records import (
    APART,
    KINDS,
    Curves,
    RunRecord,
    Verdict,
    read,
    verdict_counts,
)
from acprop.report.collect import collect
from acprop.report.comparisons import Comparison, compare_pairs
from acprop.report.evidence import Sentence, evidence_of
from acprop.report.factorial import main_effects
from acprop.report.questions import QUESTIONS
from acprop.report.results import compared_arms, listed, result_line
from acprop.report.selection import winner
from acprop.report.sentences import SENTENCES
from acprop.report.statistics import Arm, describe, over_seeds, unclean
from acprop.report.studies import StudyRuns, gather, method_settings
from acprop.report.style import display
from acprop.report.tables import TextTable, markdown, settings_table, study_table
from acprop.report.variants import first_of
from acprop.report.words import difference_words, summary_words
from acprop.reproduce.rulesets import ruleset_of
from acprop.reproduce.runner import cost

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


def plain(name: str) -> Any:
    """What results/NAME.json holds."""
    return json.loads((ROOT / "results" / f"{name}.json").read_text("utf-8"))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *notes: str) -> str:
    """In Markdown; below it, which of its runs no commit holds."""
    text = markdown(TextTable(tuple(head), tuple(map(tuple, rows))))
    text += "".join(f"\n{note}\n" for note in notes if note)
    return text.replace("\N{NO-BREAK SPACE}", " ")


def footnote(arms: Iterable[Arm]) -> str:
    return unclean([run for arm in arms for run in arm.runs])


def heading(words: str, found: StudyRuns, arms: Iterable[Arm]) -> str:
    mark = " †" if footnote(arms) else ""
    return f"{words}: {metric_of(found.metric).label}{mark}"


def mean(found: StudyRuns, arm: Arm) -> str:
    """93.10 ± 0.21, without the interval."""
    metric = found.metric
    return summary_words(metric, over_seeds(arm, metric)).partition(" [")[0]


def study(name: str, *, metrics: Sequence[str] = ()) -> str:
    """A study's own table, compared by the first of `metrics`; test metrics alone."""
    found = records(name)
    if metrics:
        found = replace(found, study=replace(found.study, metrics=tuple(metrics)))
    made = study_table(found)
    kept = [
        i
        for i, column in enumerate(made.columns)
        if metrics or not column.startswith(("train", "validation", "steps"))
    ]
    mark = {"trials": "trials †" if unclean(found.trials) else "trials"}
    head = [mark.get(made.columns[i], made.columns[i]) for i in kept]
    rows = [[row[i] for i in kept] for row in made.rows]
    settings = settings_table(found)
    if "settings" in settings.columns:
        head.append("settings")
        rows = [[*row, more[1]] for row, more in zip(rows, settings.rows, strict=True)]
    return table(head, rows, unclean(found.trials), unclean(found.runs))


def by_setting(names: Mapping[str, str], setting: str) -> str:
    """One optimizer with two values of a setting, and the second less the first."""
    rows: list[list[str]] = []
    shown: list[Arm] = []
    for name, words in names.items():
        found = records(name)
        metric = found.metric
        ours = first_of(arm.optimizer for arm in found.arms)
        arms = [arm for arm in found.arms if arm.optimizer == ours]
        arms.sort(key=lambda arm: arm.settings[setting])
        (comparison,) = compare_pairs([(arms[1], arms[0])], metric)
        difference = difference_words(comparison.difference, metric)
        cells = [heading(words, found, arms), *(mean(found, arm) for arm in arms)]
        rows.append([*cells, f"{difference}: {comparison.words}"])
        shown += arms
    head = [describe(arm, [setting], bare=True) for arm in shown[:2]]
    return table(["", *head, "difference"], rows, footnote(shown))


SOME = 12  # methods: more are counted, not named
MARKS = {"better": " ▲", "worse": " ▼"}
WORDS = ("better", "worse", "no difference shown")


@cache
def methods() -> dict[str, dict[str, tuple[Arm, Comparison | None]]]:
    """Each method by its name, and what became of it in each study."""
    arms = [arm for name in DEFAULT for arm, _ in chosen(name)]
    apart = [n for n in method_settings(arms) if any(n in a.written for a in arms)]
    found: dict[str, dict[str, tuple[Arm, Comparison | None]]] = {}
    for name in DEFAULT:
        for arm, comparison in chosen(name):
            found.setdefault(describe(arm, apart), {})[name] = arm, comparison
    return found


def across() -> str:
    """Methods by studies; ▲ and ▼: better or worse than the default."""
    head, shown = [""], list[Arm]()
    for name, (words, _) in DEFAULT.items():
        arms = [arm for arm, _ in chosen(name)]
        head.append(heading(words, records(f"{name}-small"), arms))
        shown += arms
    rows = [
        [row, *(_cell(name, *in_studies.get(name, (None, None))) for name in DEFAULT)]
        for row, in_studies in methods().items()
    ]
    return table(head, rows, footnote(shown))


def _cell(name: str, arm: Arm | None, comparison: Comparison | None) -> str:
    if arm is None:
        return "–"
    lost = len(arm.runs) - len(arm.done)
    text = mean(records(f"{name}-small"), arm) + (f" ({lost} lost)" if lost else "")
    text += MARKS.get(comparison.words, "") if comparison else ""
    return f"{text}, lr {arm.settings['lr']:g}, β2 {arm.settings['beta2']:g}"


def verdicts() -> str:
    """The marks of that table in words."""
    lines: list[str] = []
    for row, in_studies in methods().items():
        found: dict[str, list[str]] = {}
        for name, (_, comparison) in in_studies.items():
            if comparison is not None:
                word = comparison.words if comparison.words in WORDS else WORDS[-1]
                found.setdefault(word, []).append(f"on {DEFAULT[name][1]}")
        parts = [f"{word} {listed(found[word])}" for word in WORDS if word in found]
        lines += [_item(f"**{row}**: {'; '.join(parts)}.")] if parts else []
    return "".join(lines)


def _item(text: str) -> str:
    """An item of a list, in lines that the tests of the documents allow."""
    # Not at hyphens: study names have them.
    made = textwrap.TextWrapper(120, "- ", "  ", break_on_hyphens=False)
    return made.fill(text) + "\n"


# From another optimizer's verdict to the default's own.
TURNED = {"better": "worse", "worse": "better"}


def _verdict(comparison: Comparison) -> str:
    """The default's, where the comparison is the other's."""
    return TURNED.get(comparison.words, WORDS[-1])


def ahead(*, short: bool) -> str:
    """The default beside each of README's peers, in words.

    short: tasks on which no difference is shown are counted, not named.
    """
    lines: list[str] = []
    for name in PEERS:
        found: dict[str, list[str]] = {}
        for task in tasks():
            if name in task.compared:
                word = _verdict(task.compared[name])
                found.setdefault(word, []).append(f"on {task.words}")
        level = found.get(WORDS[-1], [])
        if short and level:
            found[WORDS[-1]] = [f"on {len(level)} task{'s' if level[1:] else ''}"]
        parts = [f"{word} {listed(found[word])}" for word in WORDS if word in found]
        if parts:
            lines.append(_item(f"Beside **{display(name)}**: {'; '.join(parts)}."))
    return "".join(lines)


@cache
def leaders() -> dict[str, list[TaskResult]]:
    """Who else was better than the default, and on which tasks."""
    found: dict[str, list[TaskResult]] = {}
    for task in tasks():
        for name, made in task.compared.items():
            if made.words == "better" and name not in PEERS:
                found.setdefault(display(name), []).append(task)
    return found


def elsewhere() -> str:
    """Those, but for the studies that `today` tells of."""
    parts: list[str] = []
    for name, where in leaders().items():
        words = [t.words for t in where if not t.found.study.name.startswith("today/")]
        parts += [f"**{name}** on {listed(words)}"] if words else []
    return _item(f"Better than it: {'; '.join(parts)}.") if parts else ""


def in_short() -> str:
    """All comparisons of README, counted."""
    found = [_verdict(t.compared[n]) for t in tasks() for n in PEERS if n in t.compared]
    better, worse, same = (found.count(word) for word in WORDS)
    text = (
        f"We compared the default with {listed([display(n) for n in PEERS])} on "
        f"{len(tasks())} tasks, {len(found)} times in all. It was **better {better} "
        f"times and worse {worse} times; {same} times no difference was shown**, by "
        "[the protocol](protocol.md)."
    )
    if leaders():
        *names, last = (f"**{name}**" for name in leaders())
        others = " and ".join([", ".join(names), last] if names else [last])
        text += f" Better than it on some tasks: {others}."
    return textwrap.fill(text, 120, break_on_hyphens=False) + "\n"


def today() -> str:
    """The default beside optimizers of today, in words."""
    lines: list[str] = []
    for name, study_name in newer().items():
        found = records(study_name)
        line = result_line(found, compared_arms(found))
        lines.append(_item(f"On {DEFAULT[name][1]}: {line.text}"))
    return "".join(lines)


def choose() -> str:
    """What the records say of the default beside AdamW, as advice."""
    advice = {
        "better": "**Try it on tasks like these**, where it was better than AdamW",
        "worse": "**Stay with AdamW on tasks like these**, where it was worse",
        WORDS[-1]: "**Expect nothing on tasks like these**, where no difference to "
        "AdamW was shown",
    }
    lines: list[str] = []
    for word, words in advice.items():
        found = [
            t.words for t in against_adamw() if _verdict(t.compared["adamw"]) == word
        ]
        lines.append(_item(f"{words}: {listed(found) if found else 'none so far'}."))
    return "".join(lines)


def best_settings() -> str:
    """The learning rate and β2 that each search preferred, ours and AdamW's."""
    rows: list[list[str]] = []
    for name, (title, _) in DEFAULT.items():
        arms = {arm.optimizer: arm for arm, _ in chosen(name)}
        cells = [
            f"{arms[o].settings[key]:g}"
            for key in ("lr", "beta2")
            for o in ("acprop", "adamw")
        ]
        rows.append([title, *cells])
    ours = "ACProp (default)"
    head = ["", f"lr, {ours}", "lr, AdamW", f"β2, {ours}", "β2, AdamW"]
    return table(head, rows)


def recipes() -> str:
    """What all optimizers of a task share: decay, schedule, clipping."""
    rows: list[list[str]] = []
    for task in tasks():
        known = task.arms["acprop"].known
        decays = {f"{arm.known['weight_decay']:g}" for arm in task.arms.values()}
        kind = known.get("schedule kind", "constant")
        warmup = known.get("schedule warmup", 0)
        rows.append(
            [
                task.title,
                next(iter(decays)) if len(decays) == 1 else "each its own",
                f"{kind}, warm-up {100 * warmup:g} %" if warmup else str(kind),
                f"{known['clip_norm']:g}" if known.get("clip_norm") else "none",
            ]
        )
    return table(["", "weight decay", "schedule", "gradient norm clipped at"], rows)


# A peer as docs/promises.md and results/perf/step.json call it.
KNOWN_AS = {
    "adamw": ("Adam", "AdamW(fused=True)"),
    "adopt": ("ADOPT", "ADOPT (pytorch_optimizer)"),
    "adabelief": ("AdaBelief", "AdaBelief (pytorch_optimizer)"),
}


def comparison() -> str:
    """README's small table: training, promise, state, speed."""
    head = (
        "",
        "training: the default is",
        "unbiased steps",
        "drift to the optimum",
        "state",
        "time of a step",
    )
    ours = "ACProp (default)"
    rows = [[ours, "–", *_promise(ours), "1 ×"]]
    ratios = plain("perf/step")["sets"]["GPT-2"]["2 threads"]["ratios"]
    for name in PEERS:
        rule, peer = KNOWN_AS[name]
        speed = f"{ratios[peer]['median']:.2f} ×"
        rows.append([display(name), _training(name), *_promise(rule), speed])
    return table(head, rows)


def _training(name: str) -> str:
    found = [_verdict(t.compared[name]) for t in tasks() if name in t.compared]
    better, worse = found.count("better"), found.count("worse")
    of = f"{len(found)} task{'s' if found[1:] else ''}"
    return f"better on {better} of {of}, worse on {worse}"


def _promise(rule: str) -> tuple[str, str, str]:
    """Three cells of docs/promises.md, which tests/test_promises.py computes."""
    page = (ROOT / "docs" / "promises.md").read_text("utf-8")
    lines = page.partition("<!-- promises -->")[2].partition("<!-- end -->")[0]
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in lines.splitlines()]
    head = rows[1]
    (row,) = [r for r in rows if r and r[0].partition(",")[0] == rule]
    unbiased, cells, state = (
        row[head.index(name)] for name in ("unbiased", "Lemma 3.3", "state")
    )
    return unbiased, f"{int(cells):,} of 2,310", f"{state} bytes"


def claims() -> str:
    """The paper's statements by kind and verdict."""
    found = read(ROOT / "results" / "lab" / "verdicts.jsonl")
    paper = [v for v in found if isinstance(v, Verdict) and v.owner == "paper"]
    words = ("holds", "fails", "undecided")
    rows = [
        [
            f"{kind}{', counted apart' if kind in APART else ''}",
            *(str(sum((v.kind, v.verdict) == (kind, w) for v in paper)) for w in words),
        ]
        for kind in KINDS
        if any(v.kind == kind for v in paper)
    ]
    return table(["kind of statement", "hold", "fail", "undecided"], rows)


@cache
def decided(some: tuple[Sentence, ...]) -> list[Verdict]:
    """What the records say of sentences about training."""
    found = collect([ROOT / "results"])
    known = evidence_of(gather(about, runs) for about, runs in found.studies)
    return [sentence.verdict(known) for sentence in some]


def sentences(some: tuple[Sentence, ...]) -> str:
    """What became of each sentence, with numbers."""
    return "".join(
        _item(f"`{v.claim}` **{v.verdict}**; {v.evidence}.") for v in decided(some)
    )


def answers() -> str:
    """The paper's sentences by verdict, with their words."""
    rows = decided(SENTENCES)
    parts = [f"**{verdict_counts(rows)}** of the paper's {len(rows)} sentences:\n\n"]
    for word in ("holds", "fails", "undecided"):
        own = [v for v in rows if v.verdict == word]
        names = ", ".join(f"`{v.claim}`" for v in own) or "none"
        parts.append(_item(f"**{word}**: {names}."))
    return "".join(parts)


def edges() -> str:
    """Where the best learning rate was the smallest or the largest that was tried."""
    rows: list[list[str]] = []
    for name, ruleset in evidence.STUDIES:
        file = evidence.file_of(name, ruleset)
        if ruleset != "tuned" or not evidence.is_whole(file):
            continue
        found = records(file.relative_to(ROOT / "results").with_suffix("").as_posix())
        if found.study.tuning["search"] == "grid":
            rows.append([f"`{name}`", *_ends(found)])
    shown = [row for row in rows if row[1:] != ["–", "–"]]
    return table(["study", "at its smallest", "at its largest"], shown)


def _ends(found: StudyRuns) -> list[str]:
    """Of many methods, how many."""
    ends: list[list[str]] = [[], []]
    for name, label in found.labels.items():
        own = [trial for trial in found.trial_results if trial.contestant == name]
        best = winner(own, found.study.tuning["metric"])
        tried = [trial.settings["lr"] for trial in own]
        for end, names in zip((min, max), ends, strict=True):
            if best and best.settings["lr"] == end(tried):
                names.append(label)
    n = len(found.labels)
    return [
        f"{len(names)} of {n}" if n > SOME and names else "; ".join(names) or "–"
        for names in ends
    ]


def hazards() -> str:
    """Worst step/lr, and the share of the planes with the right drift."""
    found = read(ROOT / "results" / "guard" / "ablation.jsonl")
    worst, right = (record for record in found if isinstance(record, Curves))
    rows = [
        [
            steps.label,
            *(f"{y:.3g}" for y in steps.y),
            " / ".join(f"{y:.2f}" for y in shares.y[:3]),
            f"{shares.y[3]:.2f}",
        ]
        for steps, shares in zip(worst.lines, right.lines, strict=True)
    ]
    head = ["", *worst.about["hazards"], "dense, 10⁴ / 10⁶ / limit", "sparse, limit"]
    return table(head, rows)


def codes() -> str:
    """How far √s is from float32, for blocks of more and more different elements."""
    cells: dict[str, list[str]] = {}
    head = [""]
    for row in plain("small-state/codes")["rows"]:
        text = f"{100 * row['bias']:+.1f} ± {100 * row['deviation']:.0f} %"
        text += f", {row['zeros']} zeros" if row["zeros"] else ""
        cells.setdefault(row["code"], []).append(text.replace("-", "−"))
        head.append(f"spread {row['spread']:g}")
    return table(dict.fromkeys(head), [[name, *found] for name, found in cells.items()])


def leaps() -> str:
    """How many gradients sent a step to the bound, and how many s became 0."""
    rows = [
        [kind, f"{100 * n['leaps'] / n['gradients']:.2f} %", str(n["zeros"])]
        for kind, n in plain("small-state/codes")["hazards"].items()
    ]
    return table(["state", "steps at the bound", "s that became 0"], rows)


def coverage() -> str:
    """How often intervals hold the true mean, in percent."""
    methods = ("ours", "Student", "percentile", "BCa")
    rows = [
        [row["shape"], str(row["n"]), *(f"{100 * row[m]:.1f}" for m in methods)]
        for row in plain("protocol/coverage")["rows"]
    ]
    return table(["values", "n", *methods], rows)


# Rows of README's table besides the default; perf/small_state.py has more.
FEWER = {
    "bfloat16 state": "AdamW(fused=True), ours with bfloat16 state",
    "8-bit state": "AdamW(fused=True), ours with 8-bit state",
    "bfloat16, random, 8-bit state": (
        "AdamW(fused=True) of bfloat16 parameters, ours with 8-bit state"
    ),
}


def speed() -> str:
    """How many times faster ACProp().step() is; two threads, wall time."""
    sets = {n: s["2 threads"]["ratios"] for n, s in plain("perf/step")["sets"].items()}
    peers = next(iter(sets.values()))
    rows = [[p, *(f"{s[p]['median']:.2f} ×" for s in sets.values())] for p in peers]
    smaller = plain("perf/small_state")["sets"]
    measured = "2 threads" in smaller["MLP"]["8-bit state"]
    for kind, words in FEWER.items() if measured else ():
        found = [smaller[name][kind]["2 threads"]["ratios"] for name in sets]
        best = [list(ratios.values())[-1]["median"] for ratios in found]
        rows.append([words, *(f"{r:.2f} ×" for r in best)])
    return table(["`ACProp().step()` against", *sets], rows)


def memory() -> str:
    """What a training step of GPT-2 needs at most, by perf/memory.py."""
    found = plain("perf/memory")
    rows = [
        [
            name,
            f"{row['bytes'] / 1e9:.2f} GB",
            f"{row['bytes_per_parameter']:.1f}",
        ]
        for name, row in found["rows"].items()
    ]
    n = next(iter(found["rows"].values()))["parameters"] / 1e6
    head = f"{found['size']}, {n:.0f}M parameters"
    return table([head, "peak memory", "bytes per parameter"], rows)


SMALL = {
    "small-state/mnist-mlp-small": "MNIST, MLP",
    "small-state/vgg-plain-small": "CIFAR-10, VGG-11 without BatchNorm",
    "small-state/gpt-bytes-small": "Moby-Dick, GPT",
}


def bits_of(arm: Arm) -> int:
    """In how many bits a run kept its state."""
    if arm.settings.get("small_state"):
        return 8
    return 16 if arm.settings.get("state_dtype") else 32


def small() -> str:
    """State in fewer bits beside float32, in the studies that were run."""
    rows: list[list[str]] = []
    shown: list[Arm] = []
    for name, words in SMALL.items():
        if not (ROOT / "results" / f"{name}.jsonl").exists():
            continue
        found = records(name)
        arms = {bits_of(arm): arm for arm in found.arms}
        fewer = [arms[n] for n in (16, 8) if n in arms]
        compared = compare_pairs([(arm, arms[32]) for arm in fewer], found.metric)
        cells = {
            bits_of(arm): f"{mean(found, arm)}; "
            f"{difference_words(c.difference, found.metric)}: {c.words}"
            for arm, c in zip(fewer, compared, strict=True)
        }
        title = heading(words, found, list(arms.values()))
        others = [cells.get(n, "not run") for n in (16, 8)]
        rows.append([title, mean(found, arms[32]), *others])
        shown += arms.values()
    head = ["", "float32 state", "`state_dtype=torch.bfloat16`", "`small_state=True`"]
    return table(head, rows, footnote(shown))


def bytes_moved() -> str:
    """What each kind of state moves, and how fast it is beside fused AdamW."""
    sets = plain("perf/small_state")["sets"]
    rows: list[list[str]] = []
    threads = ""
    for kind in (key for key in next(iter(sets.values())) if key != "elements"):
        entries = [entry[kind] for entry in sets.values()]
        threads = list(entries[0])[1]  # two, if they were measured
        cells = [_ratios(entry[threads]) for entry in entries]
        rows.append([kind, f"{entries[0]['bytes']:g}", *cells])
    clock = {"2 threads": "2 threads, wall time", "1 threads": "1 thread, CPU time"}
    levels = " / ".join(next(iter(sets.values()))["float32"][threads]["ratios"])
    head = [f"parameters and state ({clock[threads]}; {levels})", "bytes", *sets]
    return table(head, rows)


def _ratios(entry: dict[str, Any]) -> str:
    return " / ".join(f"{r['median']:.2f}" for r in entry["ratios"].values()) + " ×"


def factors() -> str:
    """The effect of each factor of the factorial, bold where it is shown."""
    found = effects_picture.studies()
    columns = [main_effects(study) for study in found.values()]
    rows = [
        [row[0].name, *(f"**{e.words}**" if e.is_shown else e.words for e in row)]
        for row in zip(*columns, strict=True)
    ]
    head = [f"{t}: {metric_of(s.metric).label}" for t, s in found.items()]
    return table(["factor", *head], rows)


def repeated() -> str:
    """How each part of docs/evidence.md is run again, and how long that takes."""
    rows: list[list[str]] = []
    spent = left = 0.0
    for name, ruleset in evidence.STUDIES:
        path = evidence.file_of(name, ruleset)
        rules = "" if ruleset == "paper" else f" --ruleset {ruleset}"
        command = f"`acprop bench study {name} --scale {evidence.SCALE}{rules}`"
        if evidence.is_whole(path):
            runs = [r for r in read(path) if isinstance(r, RunRecord)]
            minutes = sum(run.wall_seconds for run in runs) / 60
            rows.append([command, str(len(runs)), f"{minutes:.0f}"])
            spent += minutes
        else:
            study = study_folder(ROOT / "studies").study(name)
            minutes = cost([study], ruleset_of(ruleset), evidence.SCALE) / 60
            rows.append([command, "not run yet", f"about {minutes:.0f}"])
            left += minutes
    total = f"{spent / 60:.1f} core-hours are run, about {left / 60:.0f} are left."
    return table(["command", "runs", "core minutes"], rows, total)


BLOCKS: dict[str, Callable[[], str]] = {
    "default": across,
    "verdicts": verdicts,
    "ahead": partial(ahead, short=False),
    "ahead_counted": lambda: ahead(short=True) + elsewhere(),
    "best": best_settings,
    "choose": choose,
    "short": in_short,
    "today": today,
    "today_gpt": partial(study, "today/gpt-bytes-small-tuned"),
    "today_vgg": partial(study, "today/vgg-batchnorm-small-tuned"),
    "recipes": recipes,
    "comparison": comparison,
    "cli": reference_tables.cli,
    "records": reference_tables.record_types,
    "studies": reference_tables.study_file,
    "betas": partial(
        by_setting,
        {f"{name}-small": words for name, (words, _) in list(DEFAULT.items())[:4]},
        "beta2",
    ),
    "tuned": partial(study, "vision/mnist-tuned-small"),
    "vgg_tuned": partial(study, "vision/cifar10-vgg11-small-tuned"),
    "vgg_printed": partial(study, "vision/cifar10-vgg11-small"),
    "rooms": partial(
        study, "rl/dqn-four-rooms-small", metrics=("mean_return", "train_return")
    ),
    "small": small,
    "bytes": bytes_moved,
    "claims": claims,
    "answers": answers,
    "edges": edges,
    "sentences": partial(sentences, SENTENCES),
    "questions": partial(sentences, QUESTIONS),
    "factors": factors,
    "repeated": repeated,
    "hazards": hazards,
    "codes": codes,
    "leaps": leaps,
    "coverage": coverage,
    "speed": speed,
    "memory": memory,
}
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.S)


def filled(text: str) -> str:
    """A page with its tables as the records have them."""
    return MARKED.sub(lambda m: f"{m[1]}{BLOCKS[m[2]]()}{m[3]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    check = parser.parse_args().check
    for page in PAGES:
        text = page.read_text("utf-8")
        made = filled(text)
        if check and made != text:
            sys.exit(f"{page.name} differs from its records; run scripts/tables.py")
        if made != text:
            page.write_text(made, "utf-8")


if __name__ == "__main__":
    main()
