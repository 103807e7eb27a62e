"""Work for every core: results in order, and parts of the main job that are kept."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from acprop.bench.workers import run_in_processes
from acprop.progress import Bar

FEW = 5  # that are done here: a process begins as slowly as a figure is drawn
A = TypeVar("A")
B = TypeVar("B")


def on_all_cores(
    work: Callable[[A], B],
    items: Sequence[A],
    *,
    jobs: int | None = None,
    on_result: Callable[[B], None] = lambda _: None,
) -> list[B]:
    """Call it for every item; in processes, if that is worth their start.

    on_result: gets each result as soon as it and all before it are there.
    """
    results: list[B] = []
    early: dict[int, B] = {}  # by the identity of the item

    def ended(item: A, future: Future[B]) -> None:
        early[id(item)] = future.result()
        while len(results) < len(items) and id(items[len(results)]) in early:
            results.append(early[id(items[len(results)])])
            on_result(results[-1])

    if len(items) < FEW:
        for item in items:
            results.append(work(item))
            on_result(results[-1])
    else:
        run_in_processes(work, items, jobs or os.cpu_count() or 1, ended)
    return results


@dataclass(frozen=True, slots=True)
class JobPart:
    """One part of the main job: things by name, each made once and kept in a file.

    folder, suffix: where their files are.
    make: writes the file of a name; also in another process.
    seconds: of one of them on one core, for the time that is left.
    """

    name: str
    names: Sequence[str]
    folder: Path
    suffix: str
    make: Callable[[str], None]
    seconds: float

    @property
    def missing(self) -> list[str]:
        """What has not been made yet."""
        paths = {name: self.folder / f"{name}{self.suffix}" for name in self.names}
        return [name for name, path in paths.items() if not path.exists()]

    @property
    def cost(self) -> float:
        """Seconds on one core, about."""
        return self.seconds * len(self.missing)

    def finish(self, jobs: int, bar: Bar) -> None:
        """Make what is missing."""

        def made(_: None) -> None:
            bar.advance(self.seconds)

        bar.show(self.name)
        on_all_cores(self.make, self.missing, jobs=jobs, on_result=made)
        bar.finish_part(self.name)
