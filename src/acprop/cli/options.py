"""Options that several commands share, and the value that they mean."""

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from acprop import checks, files

if TYPE_CHECKING:
    from acprop.bench.engines import Engine
    from acprop.reproduce.rulesets import Ruleset

T = TypeVar("T", str, int, float)
# Which executor takes which option of a cluster.
EXECUTORS = {
    "local": (),
    "ray": ("address", "cpus", "gpus"),
    "slurm": ("cpus", "gpus", "partition", "minutes"),
}


def _folder(param: typer.CallbackParam, value: Path | None) -> Path | None:
    """Refuse at the door what could not be written at the end."""
    if value is not None:
        with checks.user_values():
            files.check_folder(param.name or "folder", value)
    return value


def _file(param: typer.CallbackParam, value: Path | None) -> Path | None:
    if value is not None:
        with checks.user_values():
            files.check_file(param.name or "file", value)
    return value


def _store(param: typer.CallbackParam, value: Path) -> Path:
    """A store that is finished may lie on a disk that nobody may write to."""
    return value if value.is_dir() else _folder(param, value) or value


def folder_to_write(words: str) -> Any:
    """An option: a folder, there or to be made."""
    return typer.Option(help=words, callback=_folder)


def file_to_write(words: str) -> Any:
    """An option: a file, there or to be made."""
    return typer.Option(help=words, callback=_file)


Runs = Annotated[Path, typer.Option(help="folder of all runs", callback=_store)]


Threads = Annotated[int, typer.Option(help="of each run; decides its last bits")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, one object a line")]


def listed(name: str, text: str, kind: type[T] = str) -> tuple[T, ...]:
    """Parse "3,5,10" as values of one kind; nothing empty, nothing twice."""
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise checks.UserError(
            f"{name} must be a list with commas between, got {text!r}"
        )
    if len(set(items)) < len(items):
        raise checks.UserError(f"{name} must not repeat a value, got {text!r}")
    return tuple(_parsed(name, item, kind) for item in items)


def _parsed(name: str, item: str, kind: type[T]) -> T:
    try:
        value = kind(item)
    except ValueError:
        value = None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        words = "whole numbers" if kind is int else "numbers"
        raise checks.UserError(
            f"{name} must be {words} with commas between them, got {item!r}"
        )
    return value


def takes(name: str, make: Callable[..., Any]) -> Callable[..., Callable[..., None]]:
    """Give a command the options of `make`, and by this name the value it makes."""
    options = inspect.signature(make).parameters.values()

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def wrapped(**given: Any) -> None:
            made = make(**{option.name: given.pop(option.name) for option in options})
            command(**given, **{name: made})

        own = inspect.signature(command).parameters.values()
        both = [*(p for p in own if p.name != name), *options]
        wrapped.__signature__ = inspect.Signature(  # pyright: ignore
            [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in both]
        )
        wrapped.__annotations__ = {p.name: p.annotation for p in both}
        wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
        return wrapped

    return decorate


def ruleset(
    ruleset: Annotated[
        str, typer.Option(help="who chooses settings: default, paper or tuned")
    ] = "paper",
    trials: Annotated[
        int | None, typer.Option(help="of each optimizer; default: the scale's")
    ] = None,
    space: Annotated[
        str | None, typer.Option(help="of studies/spaces; default: the scale's")
    ] = None,
) -> "Ruleset":
    """Who chooses the settings that are compared."""
    from acprop.reproduce.rulesets import ruleset_of

    return ruleset_of(ruleset, trials=trials, space=space)


def engine(
    jobs: Annotated[int | None, typer.Option(help="default: one for each core")] = None,
    threads: Threads = 1,
    executor: Annotated[str, typer.Option(help="local, ray or slurm")] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="ray: of a cluster; default: the one here, or a new"),
    ] = None,
    cpus: Annotated[
        int | None, typer.Option(help="ray, slurm: of each run; default: its threads")
    ] = None,
    gpus: Annotated[
        int | None, typer.Option(help="ray, slurm: of each run; default 0")
    ] = None,
    partition: Annotated[str | None, typer.Option(help="slurm")] = None,
    minutes: Annotated[
        int | None, typer.Option(help="slurm: of each job; default 60")
    ] = None,
) -> "Engine":
    """Where runs are carried out; an option of another executor is refused."""
    checks.one_of("executor", executor, EXECUTORS)
    every = {
        "address": address,
        "cpus": cpus,
        "gpus": gpus,
        "partition": partition,
        "minutes": minutes,
    }
    given: dict[str, Any] = {k: v for k, v in every.items() if v is not None}
    for name in given:
        if name not in EXECUTORS[executor]:
            whose = " or ".join(e for e, takes in EXECUTORS.items() if name in takes)
            raise checks.UserError(
                f"{name} must come with --executor {whose}, got {executor}"
            )
    if jobs is not None:
        checks.integer("jobs", jobs)
    if executor == "local":
        from acprop.bench.engines import LocalEngine

        return LocalEngine(jobs, threads)
    given = {"cpus": threads, **given, "threads": threads, "jobs": jobs}
    if executor == "ray":
        from acprop.bench.engines.ray import RayEngine

        return RayEngine(**given)
    from acprop.bench.engines.slurm import SlurmEngine

    return SlurmEngine(**given)
