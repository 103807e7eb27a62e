"""`acprop bench run`: one run, begun or resumed, with a display of how it goes."""

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from acprop import checks, ranks
from acprop.bench.engines import Job
from acprop.bench.engines.work import train
from acprop.bench.store import Store
from acprop.bench.studies import study_folder
from acprop.metrics import primary_metric, value_words
from acprop.plain import Plain
from acprop.progress import Bar
from acprop.records import RunRecord, RunStatus


@dataclass(frozen=True, slots=True)
class RunResult:
    """record: None on a rank that is not the first, and if it was interrupted.

    was_there: had it finished before?
    """

    status: RunStatus
    folder: Path
    record: RunRecord | None = None
    was_there: bool = False


def run_one(
    study: str,
    scale: str,
    optimizer: str,
    settings: Plain,
    seed: int,
    *,
    task_settings: Plain,
    runs: Path,
    resume: bool,
    restart: bool,
    device: str,
    threads: int,
    time_limit: float | None,
    checkpoint_seconds: float,
    tensorboard: Path | None,
    quiet: bool,
) -> RunResult:
    """Run, resume, or find what is there already; whatever is refused, is at once."""
    if resume and restart:
        raise checks.UserError("--resume must stand alone, got --restart beside it")
    limit = (
        math.inf if time_limit is None else checks.positive("time-limit", time_limit)
    )
    checks.integer("threads", threads)
    _check_device(device)
    found = study_folder().study(study)
    spec = found.spec(scale, optimizer, settings, seed, **task_settings)
    store = Store(runs)
    folder = store.folder(spec)
    was_there = store.finished(spec) and not restart
    is_first = ranks.launched_rank() == 0
    if not was_there:
        job = Job(spec, runs, study, time_limit=limit, threads=threads, device=device)
        with (
            ranks.joined(device),
            Bar("first step", 1.0, quiet=quiet or not is_first) as bar,
            _events(tensorboard if is_first else None) as events,
        ):
            status = train(
                job,
                folder,
                _Display(spec.epochs, bar, events),
                resume=resume,
                restart=restart,
                checkpoint_seconds=checkpoint_seconds,
            )
        if status is RunStatus.INTERRUPTED:
            return RunResult(status, folder.path)
    record = folder.record(study=study, scale=scale)
    return RunResult(
        record.status, folder.path, record if is_first else None, was_there
    )


def _check_device(device: str) -> None:
    """A device that is not there is a mistake in the call, not a traceback."""
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there.get(device.partition(":")[0], False):
        known = ", ".join(name for name, found in there.items() if found)
        raise checks.UserError(f"device must be one of {known} here, got {device}")


class _Display:
    """Epoch, loss, validation and time left; events go to TensorBoard, if wanted."""

    def __init__(self, epochs: int, bar: Bar, events: Any) -> None:
        self.epochs, self.bar, self.events = epochs, bar, events
        self.validation = ""

    def step(self, step: int, total: int, loss: float) -> None:
        epoch = -(-step // (total // self.epochs))
        words = f"epoch {epoch}/{self.epochs}, loss {loss:.4f}{self.validation}"
        self.bar.show(words)
        self.bar.share("steps", step / total)

    def epoch(self, entry: Plain) -> None:
        name = primary_metric(entry, "val")
        if isinstance(entry.get(name), float):
            self.validation = f", validation {value_words(name, entry[name], 1)}"
        if self.events is not None:
            for name, value in entry.items():
                if isinstance(value, float) and math.isfinite(value):
                    self.events.add_scalar(name, value, entry["step"])


def _events(folder: Path | None) -> AbstractContextManager[Any]:
    """TensorBoard's writer to this folder; None writes nothing."""
    if folder is None:
        return nullcontext()
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError as error:
        raise checks.UserError(
            "--tensorboard needs a package that is missing; run pip install tensorboard"
        ) from error
    return SummaryWriter(str(folder))  # pyright: ignore[reportUnknownVariableType]
