"""Studies by a ruleset, on real data: searched, chosen, run again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from acprop.bench.execute import Outcome
from acprop.bench.run import run
from acprop.bench.store import Store
from acprop.bench.studies import StudyFolder
from acprop.bench.tasks import prepare
from acprop.records import RunRecord, StudyRecord, read
from acprop.reproduce import tpe
from acprop.reproduce.contest import Rules, contest_of, rules_of
from acprop.reproduce.halving import Pace, Rung
from acprop.reproduce.plans import plan_of
from acprop.reproduce.rulesets import run_default, run_tuned
from acprop.reproduce.search import climb, sobol_trials

from . import tiny

pytestmark = pytest.mark.usefixtures("mnist")
TUNED = Rules("tuned")


@pytest.fixture
def study(tmp_path, monkeypatch):
    tiny.write(tmp_path / "studies")
    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path / "studies"))
    return StudyFolder(tmp_path / "studies").study("vision/tiny")


class Here:
    """Runs in this process, as a worker would; notes what it was asked for."""

    def __init__(self, runs, stop_after=None):
        self.runs, self.asked, self.stop_after = runs, [], stop_after

    def __call__(self, specs, *, until_epoch=None):
        self.asked.append((len(specs), until_epoch))
        outcomes = []
        for spec in specs:
            if self.stop_after == 0:
                raise KeyboardInterrupt
            folder = Store(self.runs).folder(spec)
            status = folder.status()
            if status is None or not status.is_result:
                made = prepare(spec)
                status = run(
                    spec, folder, made.task, made.optimizer, resume=True,
                    until_epoch=until_epoch,
                )  # fmt: skip
                if self.stop_after is not None:
                    self.stop_after -= 1
            outcomes.append(Outcome(spec, status))
        return outcomes


def contest(study, runs, rules=TUNED, **options):
    return contest_of(study, "smoke", rules, runs, Here(runs, **options))


def test_winners_of_equally_many_trials_run_again_on_fresh_seeds(study, tmp_path):
    result = run_tuned(contest(study, tmp_path / "runs"), TUNED, 1)
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


def test_an_interrupted_search_goes_on_and_ends_the_same(study, tmp_path):
    whole = run_tuned(contest(study, tmp_path / "whole"), TUNED, 1)
    parts = tmp_path / "parts"
    for stop_after in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            run_tuned(contest(study, parts, stop_after=stop_after), TUNED, 1)
    again = run_tuned(contest(study, parts), TUNED, 1)
    assert again.study == whole.study
    digests = [
        {run.run: run.final["state_sha256"] for run in result.runs}
        for result in (whole, again)
    ]
    assert digests[0] == digests[1]


def test_the_default_ruleset_is_one_shot(study, tmp_path):
    rules = Rules("default")
    result = run_default(contest(study, tmp_path, rules))
    lrs = {run.optimizer: run.settings["lr"] for run in result.runs}
    assert lrs == {"acprop": 1e-3, "sgd": 1e-3}
    assert len(result.runs) == 4
    assert result.study.tuning == {}


def test_who_fails_in_every_trial_is_named_and_shown(study, tmp_path):
    """lr = 1e30: SGD's loss is no longer finite."""
    text = tiny.SPACE.replace("lr = [1e-2, 1e-1]", "lr = [1e30, 1e31]")
    (tmp_path / "studies/spaces/narrow-1.toml").write_text(text, "utf-8")
    result = run_tuned(contest(study, tmp_path / "runs"), TUNED, 1)
    assert result.study.tuning["winners"]["sgd"] is None
    assert list(result.study.contestants) == ["acprop"]
    assert result.study.missing[0].startswith("sgd: no trial of it came to its end")
    assert result.complaints
    failed = [run for run in result.runs if run.status == "diverged"]
    assert len(failed) == 2


def test_halving_pauses_the_worse_half_and_goes_on_with_the_better(study, tmp_path):
    here = contest(study, tmp_path)
    ladder = (Rung(1, 2), Rung(2, 1))
    found = climb(here, ladder, 1e6, Pace(0.0, 1.0))
    assert here.runner.asked == [(4, 1), (2, None)]
    assert found.left_out == (
        "1 of 2 trials of each optimizer were stopped after epoch 1 of 2",
    )
    metric, results = here.results(sobol_trials(here, 2))
    for who in ("acprop", "sgd"):
        own = [r for r in results if r.contestant == who]
        assert sorted(r.is_finished for r in own) == [False, True]
        (done,) = [r for r in own if r.is_finished]
        (paused,) = [r for r in own if not r.is_finished]
        first = [r.runs[0].history[0][metric] for r in (done, paused)]
        assert first[0] >= first[1]
        assert (tmp_path / paused.runs[0].run / "checkpoint.pt").exists()
    (ledger,) = (tmp_path / "tuning").glob("*.json")
    assert json.loads(ledger.read_text("utf-8"))["ladder"] == [[1, 2], [2, 1]]
    wider = (Rung(2, 2),)  # what was decided stays decided
    assert climb(here, wider, 1e6, Pace(0.0, 1.0)).ladder == ladder


def test_a_search_that_is_late_gets_narrower(study, tmp_path):
    """Nothing is left of the budget after the first rung: one trial goes on."""
    here = replace(contest(study, tmp_path), n_trials=4)
    found = climb(here, (Rung(1, 4), Rung(2, 2)), 1e-6, Pace(0.0, 1e-9))
    assert [rung.trials for rung in found.ladder] == [4, 1]


def test_tpe_asks_tells_once_and_goes_on_after_an_interruption(study, tmp_path):
    rules = Rules("tuned", "tpe", trials=3)
    whole = tpe.search(contest(study, tmp_path / "whole", rules), None)
    assert len(whole.trials) == 6
    assert len({str(t.settings) for t in whole.trials}) == 6
    parts = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        tpe.search(contest(study, parts, rules, stop_after=3), None)
    begun = contest(study, parts, rules)
    again = tpe.search(begun, None)
    assert again.trials == whole.trials
    assert tpe.search(begun, None).trials == whole.trials  # nothing more is asked
    assert len(list((parts / "tuning").glob("*.journal"))) == 1


def test_tpe_keeps_away_from_what_failed_in_a_database(study, tmp_path):
    import optuna

    text = tiny.SPACE.replace("lr = [1e-2, 1e-1]", "lr = [1e30, 1e31]")
    (tmp_path / "studies/spaces/narrow-1.toml").write_text(text, "utf-8")
    url = f"sqlite:///{tmp_path / 'optuna.db'}"
    rules = Rules("tuned", "tpe", storage=url, trials=2)
    here = contest(study, tmp_path / "runs", rules)
    result = run_tuned(here, rules, 1)
    assert result.study.tuning["winners"]["sgd"] is None
    states = {
        "sgd" in s.study_name.rpartition('"contestants"')[0]: s
        for s in optuna.get_all_study_summaries(url)
    }
    assert len(states) == 2
    failed = optuna.load_study(study_name=states[True].study_name, storage=url)
    assert {t.state.name for t in failed.trials} == {"PRUNED"}


def test_a_plan_counts_runs_and_says_where_its_minutes_come_from(study, tmp_path):
    plan = plan_of(study, "smoke", TUNED, tmp_path / "runs", 2)
    assert [(s.runs, s.done) for s in plan.stages] == [(4, 0), (4, 0)]
    assert plan.sources == ("8 runs: 10 steps measured here",)
    assert plan.minutes > 0
    assert plan.disk_bytes > 10_000
    assert not (tmp_path / "runs").exists()
    (first, *_) = [p.spec for p in study.planned("smoke")]
    Here(tmp_path / "runs")([first])
    later = plan_of(study, "smoke", Rules("paper"), tmp_path / "runs", 2)
    assert [(s.runs, s.done) for s in later.stages] == [(4, 1)]
    assert any("finished runs of the same optimizer" in s for s in later.sources)


def test_without_the_data_the_plan_takes_the_studys_own_seconds(
    study, tmp_path, monkeypatch
):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path / "none"))
    plan = plan_of(study, "smoke", Rules("default"), tmp_path / "runs", 1)
    assert "the study's own estimate" in plan.sources[0]
    assert plan.minutes == pytest.approx(4 * (1 + 1) / 60)  # a second to begin, each


BAD = [
    (
        {"ruleset": "tunde"},
        "ruleset must be one of .*, got 'tunde'; did you mean tuned",
    ),
    ({"ruleset": "paper", "trials": 4}, "trials must come with the ruleset tuned"),
    ({"ruleset": "default", "budget": "1h"}, "budget must come with the ruleset tuned"),
    ({"ruleset": "tuned", "budget": "soon"}, "budget must be a time like 90s"),
    ({"ruleset": "tuned", "search": "grid"}, "search must be one of sobol, tpe"),
    ({"ruleset": "tuned", "storage": "x"}, "storage must come with --search tpe"),
    ({"ruleset": "tuned", "trials": 0}, "trials must be 1 or more, got 0"),
    (
        {"ruleset": "tuned", "search": "tpe", "budget": "1h"},
        "budget must come with --search sobol",
    ),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_rules_that_do_not_fit_are_refused(given, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        rules_of(given.pop("ruleset"), **given)


def test_an_url_that_is_none_is_refused(study, tmp_path):
    rules = Rules("tuned", "tpe", storage="nonsense")
    with pytest.raises(ValueError, match=r"^storage must be the url of a database"):
        tpe.search(contest(study, tmp_path, rules), "nonsense")


def test_the_kept_study_can_be_planned_again():
    """The records in results/ are of the specs that the study plans today."""
    root = Path(__file__).parents[2]
    (record,) = [
        r
        for r in read(root / "results/vision/mnist-tuned-small.jsonl")
        if isinstance(r, StudyRecord)
    ]
    study = StudyFolder(root / "studies").study("vision/mnist-tuned")
    again = contest_of(study, "small", TUNED, Path("none"), None)
    assert [again.plain(t) for t in sobol_trials(again, 8)] == record.tuning["trials"]
    assert record.tuning["space_sha256"] == again.spaces.digest
