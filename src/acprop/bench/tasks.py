"""From a spec to something that can be run: the task and the optimizer it names."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from acprop import checks
from acprop.bench.spec import RunSpec

if TYPE_CHECKING:  # torch takes seconds, and to read a study needs none of it
    from acprop.tasks.task import OptimizerFactory, Task

# The one table of tasks: the module in acprop.tasks, and how its classes begin.
TASKS = {
    "vision": "Vision",
    "language": "Language",
    "translation": "Translation",
    "gan": "Gan",
    "rl": "RL",
}


class TaskSettings(Protocol):
    """What every domain's settings have. dataset: the set to be fetched."""

    @property
    def dataset(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """source: where the data came from."""

    task: "Task"
    optimizer: "OptimizerFactory"
    source: dict[str, Any]


def prepare(spec: RunSpec, *, device: str = "cpu") -> Prepared:
    """Check everything a spec says, load its data; nothing is trained yet."""
    from acprop.bench.optimizers import build
    from acprop.tasks.data import cache_folder

    make = _class(spec.task, "Task")
    optimizer = build(spec.optimizer, spec.settings)
    wanted = read_settings(spec.task, spec.task_settings)
    if wanted.dataset is not None:
        _fetch_once(wanted.dataset, cache_folder())
    task: Task = make(wanted, device=device)
    return Prepared(task, optimizer, task.source)


def read_settings(task: str, plain: dict[str, Any]) -> TaskSettings:
    """Read a task's settings; one that it does not take is refused. No data needed."""
    kind = _class(task, "Settings")
    from acprop.tasks.settings import read

    return read(kind, task, plain)


def dataset_of(spec: RunSpec) -> str | None:
    """The set that a run needs; None if it needs none that can be fetched."""
    return read_settings(spec.task, spec.task_settings).dataset


def _class(task: str, kind: str) -> Any:
    """A domain's module is loaded when it is needed, with all that it imports."""
    module = import_module(f"acprop.tasks.{checks.one_of('task', task, TASKS)}")
    return getattr(module, TASKS[task] + kind)


@cache
def _fetch_once(dataset: str, folder: Path) -> None:
    """A worker hashes a dataset's bytes for its first run, not for every one.

    folder: the cache it lies in; another one has other bytes.
    """
    from acprop.tasks.data import fetch

    fetch(dataset, cache=folder)
