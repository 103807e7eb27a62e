"""The script that runs the evidence: no run is lost, a worse default is noticed."""

from pathlib import Path

import numpy as np
import pytest

from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.bench.studies import study_folder
from acprop.records import RunRecord, RunStatus, StudyRecord, write
from acprop.reproduce.rulesets import ruleset_of

ROOT = Path(__file__).parent.parent


@pytest.fixture
def evidence(monkeypatch, tmp_path):
    """The script, with results of its own."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import evidence

    (tmp_path / "results").mkdir()
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    monkeypatch.setattr(
        evidence, "UNFINISHED", tmp_path / "results" / "unfinished.jsonl.xz"
    )
    return evidence


def test_every_study_of_the_evidence_can_be_planned(evidence):
    shelf = study_folder(ROOT / "studies")
    for name, ruleset in evidence.STUDIES:
        rules = ruleset_of(ruleset)
        assert rules.n_finals(shelf.study(name), "small") > 0


def test_finished_runs_of_an_unfinished_study_go_on_elsewhere(
    evidence, tmp_path, monkeypatch
):
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    specs = [RunSpec("vision", {}, "adam", {"lr": 1e-3}, 1, seed) for seed in (1, 2)]
    for spec in specs:
        here.folder(spec).begin(spec, study="vision/x")
    here.folder(specs[0]).end(RunStatus.DONE, {"test_accuracy": 0.5})
    evidence.keep(here.root)
    monkeypatch.setattr(evidence, "STUDIES", [])
    with pytest.raises(SystemExit, match="0"):
        evidence.run([], there.root)
    assert [there.finished(spec) for spec in specs] == [True, False]


def test_a_run_that_a_finished_study_has_made_is_not_made_again(
    evidence, tmp_path, monkeypatch
):
    """Unless its code was never committed: nobody could make it again."""
    there = Store(tmp_path / "there")
    specs = [RunSpec("vision", {}, "adam", {"lr": 1e-3}, 1, seed) for seed in (1, 2)]
    commits = ("0123456789ab", "0123456789ab-dirty")
    made = [
        RunRecord(
            spec.id, "vision/x", "adam", {}, {}, spec.seed, "small", spec.plain(),
            RunStatus.DONE, (), {"test_accuracy": 0.5}, 1.0, commit, {}, {},
        )
        for spec, commit in zip(specs, commits, strict=True)
    ]  # fmt: skip
    about = StudyRecord(
        "vision/x", "X", "ours", "small", "table", (), ("test_accuracy",), "",
        tuple(spec.id for spec in specs),
    )  # fmt: skip
    monkeypatch.setattr(evidence, "STUDIES", [("vision/x", "paper")])
    write(evidence.file_of("vision/x", "paper"), [about, *made])
    with pytest.raises(SystemExit, match="0"):
        evidence.run([], there.root)
    assert [there.finished(spec) for spec in specs] == [True, False]


@pytest.mark.parametrize("sign", [1, -1])
def test_one_of_a_hundred_equal_runs_is_called_worse(evidence, sign):
    """Both ways: too strict a limit would cry wolf, too loose a one would sleep."""
    rng = np.random.default_rng(0)
    n_worse = 0
    for _ in range(4000):
        *known, fresh = rng.normal(size=6)
        n_worse += sign * (fresh - evidence.worst_expected(known, sign)) < 0
    assert 20 < n_worse < 65  # 40, give or take four deviations
