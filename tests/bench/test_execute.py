"""Many runs at once: none is lost, none is made twice."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest

from acprop.bench.execute import execute
from acprop.bench.optimizers import resolved
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.records import RunStatus

TASK = {
    "dataset": "mnist",
    "net": "mlp",
    "n_train": 512,
    "n_validation": 200,
    "n_test": 200,
}
SPEC = RunSpec("vision", TASK, "acprop", resolved("acprop", {"lr": 1e-3}), 2, 0)
BROKEN = replace(SPEC, settings={"lr": -1.0})
OTHER = replace(SPEC, seed=1)


@pytest.mark.usefixtures("mnist")
def test_one_broken_run_does_not_lose_the_others_and_nothing_is_done_twice(tmp_path):
    heard, ended = {}, []
    outcomes = execute(
        [SPEC, BROKEN, OTHER, SPEC],
        tmp_path,
        studies={SPEC.id: "s"},
        jobs=1,
        on_progress=lambda run, share: heard.update({run: share}),
        on_end=ended.append,
    )
    assert [o.spec for o in outcomes] == [SPEC, BROKEN, OTHER]
    assert [o.status for o in outcomes] == ["done", "error", "done"]
    assert "lr must be" in outcomes[1].message
    failed = Store(tmp_path).folder(BROKEN).record(study="s", scale="smoke")
    assert (failed.status, failed.message) == ("error", outcomes[1].message)
    assert set(heard.values()) == {1.0}
    assert len(ended) == 3
    record = Store(tmp_path).folder(SPEC).record(study="s", scale="smoke")
    assert record.machine["threads"] == 1
    noted = json.loads((tmp_path / SPEC.id / "run.json").read_text("utf-8"))
    assert noted["study"] == "s"
    assert record.data["mnist"]["sha256"]

    files = sorted(tmp_path.glob("*/run.json"))
    before = [file.stat().st_mtime_ns for file in files]
    with Store(tmp_path).folder(OTHER).locked():
        again = execute([SPEC, OTHER], tmp_path, jobs=1)
    assert [o.status for o in again] == ["done", "done"]
    assert [file.stat().st_mtime_ns for file in files] == before


@pytest.mark.usefixtures("mnist")
def test_a_run_in_use_elsewhere_is_waited_for(tmp_path, until):
    """Here it is let go without a result, so it is taken over."""
    folder, ended = Store(tmp_path).folder(SPEC), []
    with ThreadPoolExecutor(1) as beside:
        with folder.locked():
            both = beside.submit(
                execute, [SPEC, OTHER], tmp_path, jobs=1, on_end=ended.append
            )
            until(lambda: ended)  # what nobody has is done meanwhile
            assert [o.spec for o in ended] == [OTHER]
            assert folder.status() is None
        assert [o.status for o in both.result()] == ["done", "done"]


@pytest.mark.usefixtures("mnist")
def test_what_another_has_finished_meanwhile_is_not_done_again(tmp_path, until):
    folder, ended = Store(tmp_path).folder(SPEC), []
    with ThreadPoolExecutor(1) as beside:
        with folder.locked():
            both = beside.submit(
                execute, [SPEC, OTHER], tmp_path, jobs=1, on_end=ended.append
            )
            until(lambda: ended)
            folder.begin(SPEC)
            folder.end(RunStatus.DONE, {"by": "another"})
        assert [o.status for o in both.result()] == ["done", "done"]
    assert folder.read()["final"] == {"by": "another"}


LONG = replace(SPEC, epochs=10, task_settings=TASK | {"batch": 8})


def killing(folder, times):
    """Kill the worker whenever it reports, that many times."""
    todo, killed = [signal.SIGKILL] * times, set()

    def kill(run, share):
        del run, share
        with suppress(IndexError, AttributeError, ProcessLookupError):
            pid = folder.holder().pid
            if pid not in killed:
                os.kill(pid, todo.pop())
                killed.add(pid)

    return kill


@pytest.mark.usefixtures("mnist")
def test_a_run_whose_worker_is_killed_is_tried_once_more(tmp_path):
    """A machine short of memory kills whom it likes.

    Killed twice it is recorded, and the next call goes on.
    """
    folder = Store(tmp_path).folder(LONG)
    (outcome,) = execute([LONG], tmp_path, jobs=1, on_progress=killing(folder, 2))
    assert (outcome.status, folder.status()) == ("error", "error")
    assert outcome.message == folder.read()["message"]
    assert outcome.message == (
        "a worker was killed by signal 9, perhaps for lack of memory"
    )
    (outcome,) = execute([LONG], tmp_path, jobs=1, on_progress=killing(folder, 1))
    assert outcome.status == folder.status() == "done"


ALONE = """
import json, pathlib, sys
from acprop.bench.execute import execute
from acprop.bench.spec import RunSpec
plain, root = json.loads(sys.argv[1]), pathlib.Path(sys.argv[2])
execute([RunSpec(**plain)], root, jobs=1)
"""


@pytest.mark.usefixtures("mnist")
def test_workers_do_not_outlive_a_parent_that_was_killed(tmp_path, start, until):
    """Left alone they would hold their runs for ever, and no next call could go on."""
    spec = replace(SPEC, epochs=100_000)
    folder = Store(tmp_path).folder(spec)
    words = [json.dumps(spec.plain()), str(tmp_path)]
    whole = [sys.executable, "-c", ALONE, *words]
    parent = start(whole, stderr=subprocess.DEVNULL)
    until(folder.metrics)
    assert folder.holder()
    parent.kill()
    parent.wait()
    until(lambda: not folder.holder())
    assert folder.status() == "interrupted"
    assert folder.load()["progress"]["step"] > 0
