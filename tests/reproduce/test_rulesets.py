"""Studies by a ruleset, on real data: searched, chosen, run again."""

from pathlib import Path

import pytest

from acprop.bench.spaces import read_spaces
from acprop.bench.status import read_run_list
from acprop.bench.studies import StudyFolder
from acprop.progress import Bar
from acprop.records import RunRecord, StudyRecord, read
from acprop.reproduce import runner
from acprop.reproduce.rulesets import (
    DefaultRuleset,
    PaperRuleset,
    TunedRuleset,
    ruleset_of,
)

from . import tiny

TUNED = TunedRuleset()
on_mnist = pytest.mark.usefixtures("mnist")


@pytest.fixture
def study(tmp_path, monkeypatch):
    tiny.write(tmp_path / "studies")
    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path / "studies"))
    return StudyFolder(tmp_path / "studies").study("vision/tiny")


def run(study, runs, ruleset=TUNED, **options):
    engine = tiny.Here(**options)
    with Bar("tiny", quiet=True) as bar:
        (result,) = runner.run(
            [study], ruleset, engine, scale="smoke", runs=runs, bar=bar
        )
    return result


@on_mnist
def test_winners_of_equally_many_trials_run_again_on_fresh_seeds(study, tmp_path):
    result = run(study, tmp_path / "runs")
    record = result.study
    assert result.complaints == []
    assert (record.ruleset, record.shows) == ("tuned", "curves")
    trials = record.tuning["trials"]
    assert [t["contestant"] for t in trials] == ["acprop", "sgd", "acprop", "sgd"]
    known = {run.run: run for run in result.runs}
    assert {known[r].seed for t in trials for r in t["runs"]} == {10}
    for name, runs in record.contestants.items():
        own = [t for t in trials if t["contestant"] == name]
        value = {t["number"]: known[t["runs"][0]].final["val_accuracy"] for t in own}
        best = record.tuning["winners"][name]
        assert value[best] == max(value.values())
        settings = own[best]["settings"]
        assert [known[r].seed for r in runs] == [0, 1]
        for name_of_run in runs:
            assert known[name_of_run].settings.items() >= settings.items()
    assert set(record.runs) == {r for runs in record.contestants.values() for r in runs}
    assert all(isinstance(r, RunRecord) and r.ruleset == "tuned" for r in result.runs)
    listed = read_run_list(tmp_path / "runs", "vision/tiny", "smoke", "tuned")
    assert {wanted.run for wanted in listed.runs} == known.keys()


@on_mnist
def test_an_interrupted_search_goes_on_and_ends_the_same(study, tmp_path):
    whole = run(study, tmp_path / "whole")
    parts = tmp_path / "parts"
    for stop_after in (1, 4):
        with pytest.raises(KeyboardInterrupt):
            run(study, parts, stop_after=stop_after)
    again = run(study, parts)
    assert again.study == whole.study
    digests = [
        {run.run: run.final["state_sha256"] for run in result.runs}
        for result in (whole, again)
    ]
    assert digests[0] == digests[1]


@on_mnist
def test_the_default_ruleset_is_one_shot(study, tmp_path):
    result = run(study, tmp_path, DefaultRuleset())
    lrs = {run.optimizer: run.settings["lr"] for run in result.runs}
    assert lrs == {"acprop": 1e-3, "sgd": 1e-3}
    assert len(result.runs) == 4
    assert result.study.tuning == {}


@on_mnist
def test_who_fails_in_every_trial_fails_on_fresh_seeds_too(study, tmp_path):
    """lr = 1e30: SGD's loss is no longer finite. That is a result, not a gap."""
    text = tiny.SPACE.replace("lr = [1e-2, 1e-1]", "lr = [1e30, 1e31]")
    (tmp_path / "studies/spaces/narrow-1.toml").write_text(text, "utf-8")
    result = run(study, tmp_path / "runs")
    assert result.study.tuning["winners"]["sgd"] is None
    assert not result.study.missing
    finals = result.study.contestants["sgd"]
    ended = {run.run: str(run.status) for run in result.runs}
    assert [ended[name] for name in finals] == ["diverged"] * 2


@on_mnist
def test_stages_count_runs_and_take_the_studys_own_estimate(study, tmp_path):
    where = {"scale": "smoke", "runs": tmp_path / "runs"}
    found = runner.stages(study, TUNED, **where)
    assert [(s.runs, s.done, s.minutes) for s in found] == [(4, 0, 4 / 60)] * 2
    assert not (tmp_path / "runs").exists()
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "runs", PaperRuleset(), stop_after=1)
    (stage,) = runner.stages(study, PaperRuleset(), **where)
    assert (stage.runs, stage.done, stage.minutes) == (4, 1, 3 / 60)


@on_mnist
def test_a_damaged_run_is_a_complaint_and_the_others_are_shown(study, tmp_path):
    first = run(study, tmp_path, PaperRuleset())
    path = tmp_path / first.runs[0].run / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    again = run(study, tmp_path, PaperRuleset())
    assert again.runs == first.runs[1:]
    (line,) = again.complaints
    assert "metrics.jsonl, line 2: it is cut off or no JSON" in line
    assert again.study.missing == (line,)


BAD = [
    (
        {"ruleset": "tunde"},
        "ruleset must be one of .*, got 'tunde'; did you mean tuned",
    ),
    ({"ruleset": "paper", "trials": 4}, "trials must come with the ruleset tuned"),
    ({"ruleset": "default", "space": "x"}, "space must come with the ruleset tuned"),
    ({"ruleset": "tuned", "trials": 0}, "trials must be 1 or more, got 0"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_rules_that_do_not_fit_are_refused(given, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        ruleset_of(given.pop("ruleset"), **given)


def test_the_kept_study_can_be_planned_again():
    """The records in results/ are of the specs that the study plans today."""
    root = Path(__file__).parents[2]
    (record,) = [
        r
        for r in read(root / "results/vision/mnist-tuned-small.jsonl")
        if isinstance(r, StudyRecord)
    ]
    study = StudyFolder(root / "studies").study("vision/mnist-tuned")
    again = [trial for trial, _ in TunedRuleset(8).search(study, "small")]
    assert again == record.tuning["trials"]
    space = read_spaces(root / "studies", record.tuning["space"])
    assert record.tuning["space_sha256"] == space.digest


GRIDS = tiny.STUDY.replace(
    "settings = { lr = 1e-3 }",
    "settings = { eps = 1e-8 }\ngrid = { lr = [1e-3, 1e-30] }",
).replace(
    "settings = { lr = 0.1 }",
    'settings = { weight_decay = 1e-4 }\ngrid = { lr = [1e-30, 0.1] }\n'
    '[[arms]]\noptimizer = "acprop"\n'
    "settings = { eps = 1e-8, nesterov = false }\ngrid = { lr = [1e-3, 3e-3] }",
).replace("tuning = { trials = 2,", 'tuning = { search = "grid",')  # fmt: skip


@on_mnist
def test_every_arm_may_be_searched_over_its_own_grid(tmp_path, monkeypatch):
    tiny.write(tmp_path / "studies", GRIDS.replace(', space = "narrow-1"', ""))
    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path / "studies"))
    study = StudyFolder(tmp_path / "studies").study("vision/tiny")
    result = run(study, tmp_path / "runs")
    winners = result.study.tuning["winners"]
    assert list(winners) == ["acprop", "sgd", "acprop nesterov=False"]
    assert (winners["acprop"], winners["sgd"]) == (0, 1)
    assert result.study.tuning["search"] == "grid"
    assert result.study.axes == tuple(study.axes)
    known = {r.run: r for r in result.runs}
    final = [known[r] for runs in result.study.contestants.values() for r in runs]
    assert {(r.optimizer, r.seed) for r in final} == {
        (name, seed) for name in ("acprop", "sgd") for seed in (0, 1)
    }
    assert {r.settings["eps"] for r in final if r.optimizer == "acprop"} == {1e-8}
    with pytest.raises(ValueError, match="trials must come with a study that has"):
        TunedRuleset(n_trials=3).trials(study, "smoke")


def test_grids_of_unequal_size_are_refused(tmp_path):
    text = GRIDS.replace("[1e-30, 0.1]", "[1e-30, 0.1, 1.0]")
    tiny.write(tmp_path, text)
    study = StudyFolder(tmp_path).study("vision/tiny")
    with pytest.raises(ValueError, match=r"grid must have equally many .*'sgd': 3"):
        TUNED.trials(study, "smoke")


@on_mnist
def test_what_a_file_of_records_holds_is_not_run_again(study, tmp_path):
    first = run(study, tmp_path / "runs")
    out = tmp_path / "out.jsonl"
    runner.keep(first, tmp_path / "runs", out)
    runner.restore(tmp_path / "new", out)
    again = run(study, tmp_path / "new", stop_after=0)  # a run would interrupt it
    assert (again.study, again.runs) == (first.study, first.runs)
