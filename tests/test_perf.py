"""What the speed scripts leave behind: the newest record, and a line for every run."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MACHINE = {"cpu": "a processor", "torch_isa": "AVX2", "torch": "2.13.0"}


@pytest.fixture
def scripts(monkeypatch, tmp_path):
    """The modules of perf/, writing to another folder."""
    monkeypatch.syspath_prepend(str(ROOT / "perf"))
    import history
    import measure

    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    return measure, history


def test_a_run_replaces_its_record_and_adds_a_line_to_the_history(scripts, tmp_path):
    measure, history = scripts
    for once in (1.0, 2.0):
        turns = {"fast": [once] * 3, "slow": [2 * once, 3 * once, 4 * once]}
        ratios = {"slow": measure.ratio(turns, "slow", "fast")}
        measure.save("step", {"machine": MACHINE, "sets": {"MLP": ratios}})
    measure.save("sweep", {"machine": MACHINE, "seconds": 3.0})
    assert json.loads((tmp_path / "step.json").read_text())["machine"] == MACHINE
    lines = (tmp_path / "history.jsonl").read_text("utf-8").splitlines()
    runs = [json.loads(line) for line in lines]
    assert [run["script"] for run in runs] == ["step", "step", "sweep"]
    assert runs[0]["medians"] == {"sets / MLP / slow": 3.0}
    assert runs[2]["medians"] == {}
    assert all(run["date"] and run["cpu"] == "a processor" for run in runs)
    table = history.markdown(tmp_path / "history.jsonl", "step", "MLP").splitlines()
    assert table[-1] == "| sets / MLP / slow | 3.00 | 3.00 |"


def test_a_run_of_two_candidates_can_be_noted(scripts, tmp_path):
    """The clockwork as a whole, on something that takes no time."""
    measure, _ = scripts
    samples = measure.take_turns({"a": dict, "b": list}, rounds=3, seconds=1e-4)
    ratio = measure.ratio(samples, "a", "b")
    measure.save("tiny", {"machine": measure.machine(), "a / b": ratio})
    (line,) = (tmp_path / "history.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["medians"]["a / b"] > 0


@pytest.mark.parametrize("script", ["step", "sweep", "input", "rl"])
def test_the_newest_line_of_the_history_is_the_record(script, scripts):
    """Who commits a record commits its line."""
    _, history = scripts
    folder = ROOT / "results" / "perf"
    record = json.loads((folder / f"{script}.json").read_text("utf-8"))
    lines = map(json.loads, (folder / "history.jsonl").read_text().splitlines())
    newest = [line for line in lines if line["script"] == script][-1]
    assert newest["medians"] == dict(history.medians(record))
    assert newest["cpu"] == record["machine"]["cpu"]
