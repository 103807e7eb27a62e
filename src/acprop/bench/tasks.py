"""From a spec to something that can be run: the task and the optimizer it names."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from acprop import checks
from acprop.bench.spec import RunSpec

if TYPE_CHECKING:  # torch takes seconds, and to read a study needs none of it
    from acprop.tasks.task import OptimizerFactory, Task

# The one table of tasks: the module in acprop.tasks, and its class.
TASKS = {
    "vision": "VisionTask",
    "language": "LanguageTask",
    "translation": "TranslationTask",
    "gan": "GanTask",
    "rl": "RLTask",
}


class TaskSettings(Protocol):
    """What every domain's settings have. dataset: the set to be fetched."""

    @property
    def dataset(self) -> str | None: ...


class _Kind(NamedTuple):
    """A domain: how its settings are read, and what makes a task of them."""

    settings: Callable[[dict[str, Any]], TaskSettings]
    task: "Callable[..., Task]"


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

    kind = _kind(spec.task)
    optimizer = build(spec.optimizer, spec.settings)
    wanted = kind.settings(spec.task_settings)
    if wanted.dataset is not None:
        _fetch_once(wanted.dataset, cache_folder())
    task = kind.task(wanted, device=device)
    return Prepared(task, optimizer, task.source)


def check_settings(task: str, settings: dict[str, Any]) -> None:
    """Refuse settings that the task does not take; no data are loaded."""
    _kind(task).settings(settings)


def dataset_of(spec: RunSpec) -> str | None:
    """The set that a run needs; None if it needs none that can be fetched."""
    return _kind(spec.task).settings(spec.task_settings).dataset


def _kind(name: str) -> _Kind:
    """A domain's module is loaded when it is needed, with all that it imports."""
    module = import_module(f"acprop.tasks.{checks.one_of('task', name, TASKS)}")
    return _Kind(module.settings, getattr(module, TASKS[name]))


@cache
def _fetch_once(dataset: str, folder: Path) -> None:
    """A worker hashes a dataset's bytes for its first run, not for every one.

    folder: the cache it lies in; another one has other bytes.
    """
    from acprop.tasks.data import fetch

    fetch(dataset, cache=folder)
