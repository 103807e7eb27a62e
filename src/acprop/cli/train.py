"""`acprop bench run`: one run with a live display and a last line that says it all."""

import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from acprop.bench import ranks
from acprop.bench.run import run
from acprop.bench.store import RunFolder, Store
from acprop.bench.studies import library
from acprop.bench.tasks import prepare
from acprop.cli import show
from acprop.cli.stopping import INTERRUPTED
from acprop.records import RunRecord, to_json

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked on the command line."""

    study: str
    scale: str
    optimizer: str
    settings: Plain
    task: Plain
    seed: int
    runs: Path
    resume: bool
    restart: bool
    device: str
    time_limit: float | None
    checkpoint_seconds: float
    tensorboard: Path | None
    json: bool


def train(asked: Request) -> int:
    """Run or resume; the exit code."""
    if asked.resume and asked.restart:
        raise ValueError("--resume must stand alone, got --restart beside it")
    if asked.time_limit is not None and not asked.time_limit > 0:
        raise ValueError(f"time-limit must be above 0, got {asked.time_limit:g}")
    _check_device(asked.device)
    spec = (
        library()
        .study(asked.study)
        .spec(asked.scale, asked.optimizer, asked.settings, asked.seed, **asked.task)
    )
    store = Store(asked.runs)
    folder = store.folder(spec)
    if store.finished(spec) and not asked.restart:
        # Before the ranks have joined, torchrun's word is who is first.
        if int(os.environ.get("RANK", "0")) > 0:
            return 0
        return _conclude(asked, folder, "already there")
    with ranks.joined(asked.device):
        prepared = prepare(spec, device=asked.device)
        if asked.restart and ranks.is_first():
            with folder.locked():
                folder.forget()
        with _Display(spec.epochs, asked) as display:
            status = run(
                spec,
                folder,
                prepared.task,
                prepared.optimizer,
                resume=asked.resume,
                watcher=display,
                checkpoint_seconds=asked.checkpoint_seconds,
                time_limit=math.inf if asked.time_limit is None else asked.time_limit,
                about={"study": asked.study, "data": prepared.source},
            )
        if not ranks.is_first():
            return 0
    if status == "interrupted":
        typer.echo(f"stopped; a checkpoint is in {folder.path}; add --resume", err=True)
        return INTERRUPTED
    return _conclude(asked, folder, "stored")


def _conclude(asked: Request, folder: RunFolder, word: str) -> int:
    record = folder.record(study=asked.study, scale=asked.scale)
    if asked.json:
        typer.echo(to_json(record))
    else:
        typer.echo(f"{summary(record)}; {word} in {folder.path}")
    return 0


def _check_device(device: str) -> None:
    """A device that is not there is a mistake of the user's, not a traceback."""
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there.get(device.partition(":")[0], False):
        known = ", ".join(name for name, found in there.items() if found)
        raise ValueError(f"device must be one of {known} here, got {device}")


def summary(record: RunRecord) -> str:
    """One line."""
    final = record.final
    parts = [f"{record.optimizer} seed {record.seed}: {record.status}"]
    for name in ("train_loss", _judged_by(final, "val"), _judged_by(final, "test")):
        if isinstance(final.get(name), float):
            parts.append(f"{name.replace('_', ' ')} {_shown(name, final[name], 2)}")
    parts.append(f"{record.wall_seconds:.1f} s of training")
    return ", ".join(parts)


def _judged_by(entry: Plain, part: str) -> str:
    """Accuracy where the task has one, else the loss."""
    return f"{part}_accuracy" if f"{part}_accuracy" in entry else f"{part}_loss"


def _shown(metric: str, value: float, places: int) -> str:
    share = metric.endswith("accuracy")
    return f"{value:.{places}%}" if share else f"{value:.4f}"


class _Display:
    """Epoch, loss, validation and time left; and TensorBoard, if asked."""

    def __init__(self, epochs: int, asked: Request) -> None:
        self.epochs, self.validation = epochs, ""
        first = ranks.is_first()
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=show.errors,
            disable=asked.json or not first or not sys.stderr.isatty(),
        )
        self.row = self.bar.add_task("first step", total=None)
        self.writer = _writer(asked.tensorboard) if first else None

    def __enter__(self) -> "_Display":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
        if self.writer is not None:
            self.writer.close()

    def step(self, step: int, total: int, loss: float) -> None:
        per_epoch = total // self.epochs
        epoch = -(-step // per_epoch)
        text = f"epoch {epoch}/{self.epochs}, loss {loss:.4f}{self.validation}"
        self.bar.update(self.row, completed=step, total=total, description=text)

    def epoch(self, entry: Plain) -> None:
        name = _judged_by(entry, "val")
        if isinstance(entry.get(name), float):
            self.validation = f", validation {_shown(name, entry[name], 1)}"
        if self.writer is not None:
            for name, value in entry.items():
                if isinstance(value, float) and math.isfinite(value):
                    self.writer.add_scalar(name, value, entry["step"])


def _writer(folder: Path | None) -> Any:
    if folder is None:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError as error:
        raise ValueError(
            "--tensorboard must have its package, got none; run pip install tensorboard"
        ) from error
    return SummaryWriter(str(folder))  # pyright: ignore[reportUnknownVariableType]
