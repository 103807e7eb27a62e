"""The site from records that anyone may have written: shown, or named; never lost."""

import copy
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acprop.cli.app import app
from acprop.records import (
    ArmBar,
    Bars,
    Boundary,
    Cell,
    Crossing,
    Curves,
    FigureRecord,
    Line,
    Region,
    Surface,
    read,
    to_json,
    write,
)

RESULTS = Path(__file__).parents[2] / "results"
CELL = Cell(3, 0.5, "converged", 0.1, 0.001, 0.3, "converges")
DRAWINGS = [
    Region("dense", "acprop", 0.9, "paper", 10_000, (CELL, replace(CELL, beta2=0.9))),
    Boundary("dense", "adam", 0.9, "paper", (Crossing(5, "converges", (0.1, 0.2)),)),
    Curves("n", "t", "x", "y", (Line("a", (1.0, 2.0), (3.0, 4.0)),), about={"P": 3}),
    Surface("n", "t", "x", "y", "v", (1.0, 2.0), (2.0, 3.0), ((4.0, 5.0), (5.0, 6.0))),
    Bars("n", "t", "v", (ArmBar("a", 1.0, 0.5, 1.5, (0.9, 1.1)),)),
]
VERDICTS = list(read(RESULTS / "lab" / "verdicts.jsonl"))[:1]
STUDY, *RUNS = read(RESULTS / "rl" / "dqn-four-rooms-small.jsonl")
WRONG = [
    None, True, 1, -1, 2.5, 1e308, 10**400, "", "x", "../x", "\0", "y" * 5000, [], [[]],
    [[1]], [None], [{}], {}, {"a": 1}, {"a": [{}]}, ["a", "b"],
]  # fmt: skip


def keys(value, before=()):
    """Where something can be changed, at any depth; of a list, its first item."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1])
    for key, item in inner:
        yield (*before, key)
        if isinstance(item, dict | list):
            yield from keys(item, (*before, key))


def mutated(record, rng):
    """The record as JSON, with one thing wrong."""
    plain = json.loads(to_json(record))
    *above, last = rng.choice([k for k in keys(plain) if k not in OUR_NAMES])
    place = plain
    for key in above:
        place = place[key]
    place[last] = copy.deepcopy(rng.choice(WRONG))
    return json.dumps(plain)


# By these the test knows the record again on the page.
OUR_NAMES = {("name",), ("scale",), ("ruleset",), ("claim",), ("run",), ("study",)}


class Fuzzed:
    """Files of mutated records, and of each line how to see that it is shown."""

    def __init__(self, folder):
        self.folder, self.rng, self.seen = folder, random.Random(19), {}
        self.out = folder / "out"

    def file(self, name, *lines):
        text = [line if isinstance(line, str) else to_json(line) for line in lines]
        (self.folder / name).write_text("\n".join(text) + "\n", "utf-8")

    def verdicts(self, n):
        claims = [replace(VERDICTS[0], claim=f"claim-{i}") for i in range(n)]
        self.file("v.jsonl", *(mutated(claim, self.rng) for claim in claims))
        for i, claim in enumerate(claims, 1):
            self.seen["v.jsonl", i] = "verdicts.jsonl", f'"{claim.claim}"'

    def runs(self, k, n):
        """A study all of whose runs are mutated."""
        runs = [replace(RUNS[i], run=f"r{k}-{i}", study=f"s{k}") for i in range(n)]
        study = replace(STUDY, name=f"s{k}", runs=tuple(r.run for r in runs))
        study = replace(study, shows="table")
        self.file(f"r{k}.jsonl", study, *(mutated(run, self.rng) for run in runs))
        for i, run in enumerate(runs, 2):
            self.seen[f"r{k}.jsonl", i] = f"studies/s{k}-small.jsonl", f'"{run.run}"'

    def study(self, k):
        run = replace(RUNS[0], study=f"t{k}")
        study = replace(STUDY, name=f"t{k}", runs=(run.run,), shows="table")
        self.file(f"t{k}.jsonl", mutated(study, self.rng), run)
        self.seen[f"t{k}.jsonl", 1] = f"study-t{k}.html", ""

    def figure(self, k):
        about, drawing = FigureRecord(f"f{k}", "Fig. 1", "a toy"), DRAWINGS[k % 5]
        lines = [about, mutated(drawing, self.rng)]
        if k % 9 == 8:
            lines = [mutated(about, self.rng), drawing]
        self.file(f"f{k}.jsonl", *lines)
        line = 1 if k % 9 == 8 else 2
        self.seen[f"f{k}.jsonl", line] = f"figures/f{k}.svg", ""

    def is_shown(self, file, words):
        path = self.out / file
        return path.is_file() and words in path.read_text("utf-8")


def test_of_420_mutated_records_each_is_shown_or_named_and_the_rest_is_there(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("acprop.reproduce.parts.FEW", 999)  # start no processes
    made = Fuzzed(tmp_path)
    made.verdicts(200)
    for k in range(9):
        made.runs(k, 20)
    for k in range(20):
        made.study(k)
        made.figure(k)
    good = [replace(run, study="good") for run in RUNS[:2]]
    about = replace(STUDY, name="good", runs=tuple(r.run for r in good), shows="table")
    write(tmp_path / "good.jsonl", [about, *good])
    said = CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(made.out)])
    assert said.exit_code == 0, said.exception
    named = [line for line in said.stderr.splitlines() if line.startswith("not shown:")]
    page = (made.out / "index.html").read_text("utf-8")
    assert len(made.seen) == 420
    for (file, line), shown in made.seen.items():
        # a study whose runs make no sense together is named by its own line
        places = [f"{file}, line {n}: " for n in {line, 1}]
        is_named = any(f"not shown: {p}" in text for p in places for text in named)
        assert is_named or made.is_shown(*shown), (file, line)
        assert is_named == any(place in page for place in places)
    assert len(named) > 200
    assert "all 2 done" in (made.out / "study-good.html").read_text()


def test_machines_are_told_in_a_line_each_and_without_what_is_unknown(tmp_path):
    one = {"cores": 2, "kernel": "unknown"}
    again = {"cores": 2, "ran_under": [{"threads": 1}]}
    machines = [one, again, {"cores": 8}]
    runs = [replace(r, machine=m) for r, m in zip(RUNS[:3], machines, strict=True)]
    write(
        tmp_path / "a.jsonl", [replace(STUDY, runs=tuple(r.run for r in runs)), *runs]
    )
    out = tmp_path / "out"
    CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(out)])
    page = (out / "index.html").read_text("utf-8")
    assert "<dt>machine</dt><dd>cores: 2; cores: 8</dd>" in page


@pytest.mark.parametrize("name", ["{}/x", "../x", "a b", "", "x" * 200])
def test_a_record_writes_nothing_outside_of_the_site(name, tmp_path):
    (tmp_path / "x.jsonl").write_text("mine")
    (tmp_path / "x.svg").write_text("mine")
    about = FigureRecord(name.format(tmp_path), "Fig. 1", "evil")
    write(tmp_path / "in" / "evil.jsonl", [about, DRAWINGS[2]])
    before = sorted(tmp_path.iterdir())
    words = ["report", str(tmp_path / "in" / "evil.jsonl")]
    said = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out")])
    assert "not shown: evil.jsonl, line 1: name must match" in said.stderr
    assert sorted(tmp_path.iterdir()) == [
        tmp_path / "in",
        tmp_path / "out",
        *before[1:],
    ]
    assert (tmp_path / "x.jsonl").read_text() == (tmp_path / "x.svg").read_text()
    assert not list((tmp_path / "out").rglob("x.*"))


def test_a_figure_that_cannot_be_drawn_is_named_with_the_line_at_fault(tmp_path):
    short = replace(DRAWINGS[2], lines=(Line("a", (1.0, 2.0), (3.0,)),))
    write(
        tmp_path / "a.jsonl",
        [
            FigureRecord("bad", "Fig. 1", "c"), DRAWINGS[2], short,
            FigureRecord("good", "Fig. 2", "c"), DRAWINGS[2],
        ],
    )  # fmt: skip
    out = tmp_path / "out"
    said = CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(out)])
    assert said.exit_code == 0
    assert "not shown: a.jsonl, line 3: figure bad cannot be drawn: " in said.stderr
    assert [p.name for p in (out / "figures").glob("*.svg")] == ["good.svg"]
