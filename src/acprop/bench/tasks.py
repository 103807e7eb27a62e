"""From a spec to something that can be run: the task and the optimizer it names."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from acprop.bench.optimizers import build
from acprop.bench.spec import RunSpec
from acprop.tasks.task import OptimizerFactory, Task


@dataclass(frozen=True, slots=True)
class Prepared:
    """source: where the data came from."""

    task: Task
    optimizer: OptimizerFactory
    source: dict[str, Any]


def prepare(spec: RunSpec, *, device: str = "cpu") -> Prepared:
    """Check everything a spec says, load its data; nothing is trained yet."""
    if spec.task != "vision":
        raise ValueError(f"task must be one of vision, got {spec.task}")
    from acprop.tasks.data import cache_folder
    from acprop.tasks.vision import VisionTask, settings

    optimizer = build(spec.optimizer, spec.settings)
    wanted = settings(spec.task_settings)
    _fetch_once(wanted.dataset, cache_folder())
    task = VisionTask(wanted, device=device)
    return Prepared(task, optimizer, task.source)


@cache
def _fetch_once(dataset: str, folder: Path) -> None:
    """A worker hashes a dataset's bytes for its first run, not for every one.

    folder: the cache it lies in; another one has other bytes.
    """
    from acprop.tasks.data import fetch

    fetch(dataset, cache=folder)
