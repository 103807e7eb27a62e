"""The one training loop: begin or resume, step, evaluate, checkpoint, record.

It knows a task only as a session. Killed at any moment, it continues from its last
checkpoint to the same bits; a NaN or infinite loss ends it as a result.
"""

import errno
import hashlib
import math
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, cast

import torch

from acprop import checks, ranks
from acprop.bench.conditions import commit, machine
from acprop.bench.schedules import schedule
from acprop.bench.signals import StopRequested, signals_as_flag
from acprop.bench.spec import RunSpec
from acprop.bench.store import RunFolder
from acprop.plain import Plain
from acprop.records import RunStatus
from acprop.tasks.task import HasArtifacts, OptimizerFactory, Session, Task


class Watcher(Protocol):
    """Who wants to know how a run goes."""

    def step(self, step: int, total: int, loss: float) -> None: ...
    def epoch(self, entry: Plain) -> None: ...


@dataclass(slots=True)
class RunProgress:
    """What a checkpoint holds besides the session.

    spent: seconds of training in the current epoch, evaluation off the clock.
    """

    step: int = 0
    spent: float = 0.0
    history: list[Plain] = field(default_factory=list[Plain])


def run(
    spec: RunSpec,
    folder: RunFolder,
    task: Task,
    optimizer: OptimizerFactory,
    *,
    resume: bool = False,
    restart: bool = False,
    watcher: Watcher | None = None,
    checkpoint_seconds: float = 60.0,
    time_limit: float = math.inf,
    device: str = "cpu",
    about: Plain | None = None,
) -> RunStatus:
    """Train until the end, a divergence, the time limit, or a signal to stop.

    An error is recorded and raised again. With as many threads as torch has now: the
    caller decides, with `conditions.threads`.

    Args:
        resume: go on from the last checkpoint. restart: from the start, whatever there
            is. With neither, a run that was begun is refused.
        device: where the task trains; run.json says it.
        about: what else run.json should say, such as where the data came from.
    """
    with ExitStack() as stack:
        if ranks.is_first():
            stack.enter_context(folder.locked())
            if not (resume or restart):
                _check_beginning(folder)
        # Another may have finished it since the caller looked.
        if ranks.any_of(resume and ranks.is_first() and folder.has_result()):
            return folder.status() or RunStatus.INTERRUPTED
        stop_requested = stack.enter_context(signals_as_flag())
        session = task.begin(spec.seed, optimizer)
        progress = _restore(folder, session, spec) if resume else RunProgress()
        if ranks.is_first() and progress.step:
            folder.reopen(progress.step, machine(device))
        elif ranks.is_first():
            folder.forget()
            here = {"commit": commit(), "machine": machine(device)}
            folder.begin(spec, **here, **(about or {}))
        loop = _Loop(spec, folder, session, progress, watcher, checkpoint_seconds)
        try:
            return loop.go(stop_requested, time.monotonic() + time_limit)
        except Exception as error:
            if ranks.is_first():
                with suppress(OSError):  # a full disk, or another has taken over
                    folder.end(RunStatus.ERROR, {}, in_words(error))
            raise


def in_words(error: Exception) -> str:
    """An error as a record's message."""
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"the disk is full; free some room and run it again ({words})"
    # torch has an error of its own for accelerators, and none for the CPU's memory
    is_memory = isinstance(error, MemoryError | torch.OutOfMemoryError)
    if is_memory or "not enough memory" in words:
        return f"out of memory: {words}"
    return words


def _check_beginning(folder: RunFolder) -> None:
    status = folder.status()
    if status is not None and not status.is_result:
        raise checks.UserError(
            f"run {folder.path.name} must not have begun, got status {status} after "
            f"{len(folder.metrics())} epochs; add --resume to continue or --restart to "
            "begin again"
        )


def _restore(folder: RunFolder, session: Session, spec: RunSpec) -> RunProgress:
    saved = folder.load(lambda found: _progress(found, session, spec))
    if saved is None:
        return RunProgress()
    session.load_state_dict(saved["session"])
    return _progress(saved, session, spec)


def _progress(saved: Plain, session: Session, spec: RunSpec) -> RunProgress:
    """How far a checkpoint is; ValueError if this run cannot have come there."""
    per_epoch = session.steps_per_epoch
    try:
        progress = RunProgress(**saved["progress"])
        n_epochs = len(progress.history)
        is_ours = 0 <= progress.step <= per_epoch * spec.epochs and "session" in saved
        is_ours = is_ours and n_epochs == progress.step // per_epoch
    except (KeyError, TypeError):
        raise ValueError(f"a table of {', '.join(map(str, saved))}") from None
    if not is_ours:
        raise ValueError(
            f"step {progress.step} after {n_epochs} epochs, where {spec.epochs} epochs "
            f"of {per_epoch} steps are all"
        )
    return progress


def digest(state: Any) -> str:
    """The hash of every number in a state: two runs that agree in it agree in all."""
    hashed = hashlib.sha256()
    _feed(hashed.update, state)
    return hashed.hexdigest()


def _feed(update: Callable[[bytes], object], value: Any) -> None:
    if isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        update(f"{plain.dtype}{tuple(plain.shape)}".encode())
        update(plain.flatten().view(torch.uint8).numpy().tobytes())
    elif isinstance(value, dict):
        table = cast(dict[Any, Any], value)
        for key in sorted(table, key=str):
            update(str(key).encode())
            _feed(update, table[key])
    elif isinstance(value, list | tuple):
        for item in cast(list[Any], value):
            _feed(update, item)
    else:
        update(repr(value).encode())


@dataclass
class _Loop:
    spec: RunSpec
    folder: RunFolder
    session: Session
    progress: RunProgress
    watcher: Watcher | None
    checkpoint_seconds: float

    def __post_init__(self) -> None:
        epochs, self.per_epoch = self.spec.epochs, self.session.steps_per_epoch
        self.total = self.per_epoch * epochs
        self.factor = schedule(
            **self.spec.schedule, epochs=epochs, steps_per_epoch=self.per_epoch
        )

    def go(self, stop_requested: StopRequested, deadline: float) -> RunStatus:
        progress = self.progress
        saved = time.monotonic()
        while progress.step < self.total:
            started = time.perf_counter()
            self.session.scale_lr(self.factor(progress.step))
            loss = self.session.train_step()["loss"]
            progress.step += 1
            progress.spent += time.perf_counter() - started
            if self.watcher is not None:
                self.watcher.step(progress.step, self.total, loss)
            if not math.isfinite(loss):
                return self._end(
                    RunStatus.DIVERGED, f"the loss was {loss} at step {progress.step}"
                )
            at_end = progress.step % self.per_epoch == 0
            if at_end:
                self._finish_epoch()
            now = time.monotonic()
            status = self._reason_to_stop(stop_requested, now >= deadline)
            last = progress.step == self.total
            if (status and not last) or at_end or now - saved > self.checkpoint_seconds:
                self._save()
                saved = time.monotonic()
            if status and not last:
                if status is RunStatus.TIMEOUT:
                    return self._end(status)
                return status
        return self._end(RunStatus.DONE)

    def _reason_to_stop(
        self, stop_requested: StopRequested, late: bool
    ) -> RunStatus | None:
        """All ranks agree, or one would wait for the others for ever."""
        if ranks.any_of(stop_requested()):
            return RunStatus.INTERRUPTED
        return RunStatus.TIMEOUT if ranks.any_of(late) else None

    def _finish_epoch(self) -> None:
        progress = self.progress
        started = time.perf_counter()
        seen = self.session.evaluate()
        evaluation = time.perf_counter() - started
        samples = seen.pop("samples", 0.0)
        entry = {
            "epoch": progress.step // self.per_epoch,
            "step": progress.step,
            **seen,
            "lr_factor": self.factor(progress.step - 1),
            "wall_seconds": progress.spent,
            "evaluation_seconds": evaluation,
            "samples_per_second": samples / max(progress.spent, 1e-9),
        }
        if isinstance(self.session, HasArtifacts) and ranks.is_first():
            self.folder.write_artifacts(self.session.artifacts())
        progress.spent = 0.0
        progress.history.append(entry)
        if self.watcher is not None:
            self.watcher.epoch(entry)

    def _save(self) -> None:
        """The checkpoint first: metrics that run ahead of it would not be resumed."""
        state = self.session.state_dict()  # every rank takes part in collecting it
        if ranks.is_first():
            self.folder.save({"session": state, "progress": asdict(self.progress)})
            self.folder.write_metrics(self.progress.history)

    def _end(self, status: RunStatus, message: str = "") -> RunStatus:
        state = self.session.state_dict()  # every rank takes part in collecting it
        if ranks.is_first():
            history = self.progress.history
            final = {**(history[-1] if history else {}), "steps": self.progress.step}
            final["state_sha256"] = digest(state)
            self.folder.write_metrics(history)
            self.folder.end(status, final, message)
            if status.is_result:
                self.folder.drop_checkpoint()
        ranks.wait()
        return status
