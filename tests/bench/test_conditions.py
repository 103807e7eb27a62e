"""What decides bits besides the spec: recorded, and told."""

import json

import pytest
import torch

from acprop import native
from acprop.bench.conditions import FIELDS, conditions, machine, ran_under, threads

from .test_run import SPEC, go


@pytest.fixture
def without_c(monkeypatch):
    """As with ACPROP_NATIVE=0 from the beginning."""
    if native.load() is None:
        pytest.skip(str(native.why_not()))

    def switch_off():
        monkeypatch.setenv(native.SWITCH, "0")
        monkeypatch.setattr(native, "load", lambda: None)
        monkeypatch.setattr(native, "why_not", lambda: "it is switched off")

    return switch_off


def test_a_machine_says_threads_kernel_and_instruction_set(without_c):
    with threads(2):
        said = conditions(machine())
    assert said["threads"] == 2
    assert said["kernel"] == "native"
    assert said["capability"] == torch.backends.cpu.get_cpu_capability()
    without_c()
    assert machine()["kernel"] == "torch"
    assert machine("cuda:1")["device"] == "cuda"


def test_threads_are_the_callers_again_also_after_an_error():
    before = torch.get_num_threads()

    def fail():
        with threads(before + 1):
            raise RuntimeError(torch.get_num_threads())

    with pytest.raises(RuntimeError, match=f"^{before + 1}$"):
        fail()
    assert torch.get_num_threads() == before
    with pytest.raises(ValueError, match=r"^threads must be 1 or more, got 0$"):
        threads(0).__enter__()


def test_a_run_resumed_under_others_warns_and_its_record_lists_both(
    without_c, tmp_path, capsys
):
    with threads(1):
        go(tmp_path, time_limit=0.0)
        go(tmp_path, time_limit=0.0, resume=True)
    assert capsys.readouterr().err == ""
    without_c()
    with threads(2):
        status, folder = go(tmp_path, resume=True)
    told = capsys.readouterr().err
    assert f"run {SPEC.id} goes on under threads 2, kernel torch, " in told
    assert "; it came here under threads 1, kernel native, " in told
    record = folder.record(study="s", scale="smoke")
    assert (status, record.machine["threads"]) == ("done", 1)
    assert [(c["threads"], c["kernel"]) for c in record.machine["ran_under"]] == [
        (1, "native"),
        (2, "torch"),
    ]


def test_an_older_run_is_read_and_says_unknown(tmp_path, capsys):
    """It recorded its threads and its torch, and nothing of those who went on."""
    _, folder = go(tmp_path, time_limit=0.0)
    path = folder.path / "run.json"
    old = json.loads(path.read_text("utf-8"))
    old["machine"] = {"threads": 2, "torch": "2.12.0"}
    path.write_text(json.dumps(old), "utf-8")
    unknown = dict.fromkeys(FIELDS, "unknown")
    before = unknown | {"threads": 2, "torch": "2.12.0"}
    assert ran_under(folder.read()) == [before]
    _, folder = go(tmp_path, resume=True)
    assert "it came here under threads 2, kernel unknown, " in capsys.readouterr().err
    assert ran_under(folder.read()) == [before, conditions(machine())]
    assert ran_under({}) == [unknown]
    assert ran_under({"attempts": [{"pid": 1}, {"pid": 2}]}) == [unknown]
