"""`acprop bench run`: one run, begun or resumed, with a display of how it goes."""

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from acprop import checks, ranks
from acprop.bench.conditions import threads
from acprop.bench.run import run
from acprop.bench.spec import RunSpec
from acprop.bench.store import RunFolder, Store
from acprop.bench.studies import study_folder
from acprop.bench.tasks import prepare
from acprop.metrics import primary_metric, value_words
from acprop.plain import Plain
from acprop.progress import Bar
from acprop.records import RunRecord, RunStatus


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run of a study with any optimizer, and how to carry it out."""

    study: str
    scale: str
    optimizer: str
    settings: Plain
    task_settings: Plain
    seed: int
    runs: Path
    resume: bool
    restart: bool
    device: str
    threads: int
    time_limit: float | None
    checkpoint_seconds: float
    tensorboard: Path | None
    quiet: bool


@dataclass(frozen=True, slots=True)
class RunResult:
    """record: None on a rank that is not the first, and if it was interrupted.

    was_there: had it finished before?
    """

    status: RunStatus
    folder: Path
    record: RunRecord | None = None
    was_there: bool = False


def train(request: RunRequest) -> RunResult:
    """Run, resume, or find what is there already."""
    spec = _checked(request)
    store = Store(request.runs)
    folder = store.folder(spec)
    if store.finished(spec) and not request.restart:
        return _result(
            request, folder, first=ranks.launched_rank() == 0, was_there=True
        )
    with ranks.joined(request.device), threads(request.threads):
        status = _train(request, spec, folder)
        first = ranks.is_first()
    if status is RunStatus.INTERRUPTED:
        return RunResult(status, folder.path)
    return _result(request, folder, first=first)


def _checked(request: RunRequest) -> RunSpec:
    if request.resume and request.restart:
        raise ValueError("--resume must stand alone, got --restart beside it")
    if request.time_limit is not None:
        checks.positive("time-limit", request.time_limit)
    checks.whole("threads", request.threads)
    _check_device(request.device)
    study = study_folder().study(request.study)
    return study.spec(
        request.scale,
        request.optimizer,
        request.settings,
        request.seed,
        **request.task_settings,
    )


def _train(request: RunRequest, spec: RunSpec, folder: RunFolder) -> RunStatus:
    prepared = prepare(spec, device=request.device)
    if request.restart and ranks.is_first():
        with folder.locked():
            folder.forget()
    first = ranks.is_first()
    bar = Bar("first step", quiet=request.quiet or not first)
    with bar, _events(request.tensorboard if first else None) as events:
        return run(
            spec,
            folder,
            prepared.task,
            prepared.optimizer,
            resume=request.resume,
            watcher=_Display(spec.epochs, bar, events),
            checkpoint_seconds=request.checkpoint_seconds,
            time_limit=math.inf if request.time_limit is None else request.time_limit,
            device=request.device,
            about={"study": request.study, "data": prepared.source},
        )


def _result(
    request: RunRequest, folder: RunFolder, *, first: bool, was_there: bool = False
) -> RunResult:
    record = folder.record(study=request.study, scale=request.scale)
    return RunResult(record.status, folder.path, record if first else None, was_there)


def _check_device(device: str) -> None:
    """A device that is not there is a mistake in the call, not a traceback."""
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there.get(device.partition(":")[0], False):
        known = ", ".join(name for name, found in there.items() if found)
        raise ValueError(f"device must be one of {known} here, got {device}")


class _Display:
    """Epoch, loss, validation and time left; events go to TensorBoard, if wanted."""

    def __init__(self, epochs: int, bar: Bar, events: Any) -> None:
        self.epochs, self.bar, self.events = epochs, bar, events
        self.validation = ""

    def step(self, step: int, total: int, loss: float) -> None:
        epoch = -(-step // (total // self.epochs))
        words = f"epoch {epoch}/{self.epochs}, loss {loss:.4f}{self.validation}"
        self.bar.set(words, step, total)

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
        raise ValueError(
            "--tensorboard needs a package that is missing; run pip install tensorboard"
        ) from error
    return SummaryWriter(str(folder))  # pyright: ignore[reportUnknownVariableType]
