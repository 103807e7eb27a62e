"""From a spec to something that can be run: the task and the optimizer it names."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

    module = _module(spec.task)
    optimizer = build(spec.optimizer, spec.settings)
    wanted = module.settings(spec.task_settings)
    if wanted.dataset is not None:
        _fetch_once(wanted.dataset, cache_folder())
    task: Task = getattr(module, TASKS[spec.task])(wanted, device=device)
    return Prepared(task, optimizer, task.source)


def check_settings(task: str, settings: dict[str, Any]) -> None:
    """Refuse settings that the task does not take; no data are loaded."""
    _module(task).settings(settings)


def dataset_of(spec: RunSpec) -> str | None:
    """The set that a run needs; None if it needs none that can be fetched."""
    return _module(spec.task).settings(spec.task_settings).dataset


def _module(name: str) -> Any:
    """A domain's module is loaded when it is needed, with all that it imports."""
    return import_module(f"acprop.tasks.{checks.one_of('task', name, TASKS)}")


@cache
def _fetch_once(dataset: str, folder: Path) -> None:
    """A worker hashes a dataset's bytes for its first run, not for every one.

    folder: the cache it lies in; another one has other bytes.
    """
    from acprop.tasks.data import fetch

    fetch(dataset, cache=folder)
