"""The training loop: ends, interruptions and what is left on disk."""

import os
import signal
from dataclasses import replace

import pytest
import torch

from acprop.bench.optimizers import build
from acprop.bench.run import digest, run
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store

from .toy import Bowl

SPEC = RunSpec("toy", {}, "acprop", {"lr": 0.1}, epochs=4, seed=0)


class Stop:
    """Sends this process a signal after so many steps, as a user would."""

    def __init__(self, after, number=signal.SIGINT):
        self.after, self.number, self.steps, self.entries = after, number, [], []

    def step(self, step, total, loss):
        self.steps.append((step, total, loss))
        if len(self.steps) == self.after:
            os.kill(os.getpid(), self.number)

    def epoch(self, entry):
        self.entries.append(entry)


def go(tmp_path, spec=SPEC, task=None, **options):
    folder = Store(tmp_path).folder(spec)
    factory = build(spec.optimizer, spec.settings)
    return run(spec, folder, task or Bowl(), factory, **options), folder


def timeless(history):
    timed = ("wall_seconds", "evaluation_seconds", "samples_per_second")
    return [{k: v for k, v in entry.items() if k not in timed} for entry in history]


def test_a_run_ends_with_its_record(tmp_path):
    status, folder = go(tmp_path)
    record = folder.record(study="toy", scale="smoke")
    assert (status, record.status) == ("done", "done")
    assert [entry["epoch"] for entry in record.history] == [1, 2, 3, 4]
    assert record.final["steps"] == record.history[-1]["step"] == 20
    assert record.history[0]["samples_per_second"] > 0
    assert not (folder.path / "checkpoint.pt").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [1, 4, 5, 6, 10, 19])
def test_stopped_anywhere_and_resumed_it_ends_in_the_same_bits(tmp_path, after, number):
    _, whole = go(tmp_path / "whole")
    status, folder = go(tmp_path / "parts", watcher=Stop(after, number))
    assert status == "interrupted"
    assert folder.status() == "interrupted"
    status, folder = go(tmp_path / "parts", resume=True)
    assert status == "done"
    assert timeless(folder.metrics()) == timeless(whole.metrics())
    assert (
        folder.read()["final"]["state_sha256"] == whole.read()["final"]["state_sha256"]
    )


def test_a_run_stopped_at_every_step_ends_in_the_same_bits(tmp_path):
    _, whole = go(tmp_path / "whole")
    statuses = []
    while not statuses or statuses[-1] != "done":
        watcher = Stop(1)
        status, folder = go(tmp_path / "parts", resume=True, watcher=watcher)
        statuses.append(status)
    assert len(statuses) == 20
    assert (
        folder.read()["final"]["state_sha256"] == whole.read()["final"]["state_sha256"]
    )


def test_after_a_run_the_signals_are_the_callers_again(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    go(tmp_path)
    assert signal.getsignal(signal.SIGINT) is before


def test_divergence_is_a_result(tmp_path):
    status, folder = go(tmp_path, task=Bowl(explode_at=7))
    record = folder.record(study="toy", scale="smoke")
    assert (status, record.status, record.message) == (
        "diverged",
        "diverged",
        "the loss was nan at step 7",
    )
    assert record.final["steps"] == 7
    assert len(record.history) == 1
    assert Store(tmp_path).finished(SPEC)


def test_a_time_limit_ends_a_run_that_can_go_on(tmp_path):
    status, folder = go(tmp_path, time_limit=0.0)
    assert status == "timeout"
    assert folder.status() == "timeout"
    assert folder.read()["final"]["steps"] == 1
    with pytest.raises(
        ValueError, match="got status timeout after 0 epochs; add --resume"
    ):
        go(tmp_path)
    status, folder = go(tmp_path, resume=True)
    assert status == "done"


def test_an_interrupted_run_is_not_begun_anew_by_accident(tmp_path):
    go(tmp_path, watcher=Stop(7))
    message = "got status interrupted after 1 epochs; add --resume to continue"
    with pytest.raises(ValueError, match=message):
        go(tmp_path)
    status, _ = go(tmp_path, resume=True)
    assert status == "done"


def test_an_error_is_recorded_raised_and_can_be_resumed_from(tmp_path):
    class Broken(Stop):
        def step(self, step, *_):
            if step == 7:
                raise RuntimeError("the disk is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        go(tmp_path, watcher=Broken(7))
    record = Store(tmp_path).folder(SPEC).record(study="toy", scale="smoke")
    assert (record.status, record.final) == ("error", {})
    assert record.message == "RuntimeError: the disk is on fire"
    assert not Store(tmp_path).finished(SPEC)
    with pytest.raises(ValueError, match="got status error after 1 epochs; add --res"):
        go(tmp_path)
    _, whole = go(tmp_path / "whole")
    status, folder = go(tmp_path, resume=True)
    record = folder.record(study="toy", scale="smoke")
    assert (status, record.message) == ("done", "")
    assert record.final["state_sha256"] == whole.read()["final"]["state_sha256"]


def test_a_run_that_never_began_can_be_resumed(tmp_path):
    """The kill may come before the first checkpoint."""
    status, _ = go(tmp_path, resume=True)
    assert status == "done"


def test_the_schedule_sets_the_rate_of_every_step(tmp_path):
    class Spy(Bowl):
        def begin(self, seed, optimizer):
            self.session = super().begin(seed, optimizer)
            return self.session

    spec = replace(SPEC, schedule={"kind": "step", "at": [3], "by": 0.1})
    task = Spy()
    go(tmp_path, spec, task)
    assert task.session.factors == [1.0] * 15 + [0.1] * 5


def test_a_checkpoint_is_written_as_often_as_asked(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(
        "acprop.bench.store.RunFolder.save", lambda _, state: saved.append(state)
    )
    go(tmp_path, checkpoint_seconds=0.0)
    assert len(saved) == 20
    saved.clear()
    go(tmp_path / "seldom", checkpoint_seconds=1e9)
    assert len(saved) == 4


def test_equal_states_have_equal_digests_and_others_have_not():
    state = {"a": torch.arange(3.0), "b": [1, {"c": None}], "d": torch.tensor([True])}
    same = {"d": torch.tensor([True]), "b": [1, {"c": None}], "a": torch.arange(3.0)}
    assert digest(state) == digest(same)
    for change in ({"a": torch.arange(3)}, {"b": [2, {"c": None}]}):
        assert digest(state | change) != digest(state)
    tiny = torch.arange(3.0)
    tiny[1] = torch.nextafter(tiny[1], torch.tensor(2.0))
    assert digest(state | {"a": tiny}) != digest(state)


def test_resumed_on_a_schedule_it_goes_on_to_the_same_bits(tmp_path):
    """A schedule knows the whole length, and a resumed run its place in it."""
    spec = replace(SPEC, schedule={"kind": "cosine", "warmup": 0.2})
    _, whole = go(tmp_path / "whole", spec)
    go(tmp_path, spec, watcher=Stop(7))
    status, folder = go(tmp_path, spec, resume=True)
    assert status == "done"
    ends = [one.read()["final"]["state_sha256"] for one in (folder, whole)]
    assert ends[0] == ends[1]
    assert timeless(folder.metrics()) == timeless(whole.metrics())


@pytest.mark.parametrize("is_first", [True, False])
def test_every_rank_collects_the_state_as_often(tmp_path, monkeypatch, is_first):
    """A sharded state is collected by all ranks: one that is missing is waited for."""
    collected = []
    monkeypatch.setattr("acprop.ranks.is_first", lambda: is_first)

    class Counted(Bowl):
        def begin(self, seed, optimizer):
            session = super().begin(seed, optimizer)
            state = session.state_dict
            session.state_dict = lambda: collected.append(1) or state()
            return session

    go(tmp_path, task=Counted())
    assert len(collected) == 4 + 1  # after each epoch, and at the end
