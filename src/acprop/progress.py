"""The one progress bar, on stderr, for everything that is long."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Bar:
    """A bar that knows how much there is to do, in any unit.

    Where stderr is no terminal, a log file say, there is a line for each part that is
    finished instead; if it is to be quiet, there is nothing.
    """

    def __init__(
        self, words: str, total: float | None = None, *, quiet: bool = False
    ) -> None:
        console = Console(stderr=True, highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._row = self._progress.add_task(words, total=total)
        self._console, self._started = console, time.monotonic()
        self._has_lines = not quiet and not console.is_terminal
        self._shares: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def show(self, words: str) -> None:
        """Say what is worked on."""
        self._progress.update(self._row, description=words)

    def advance(self, amount: float = 1.0) -> None:
        """So much more is done."""
        self._progress.update(self._row, advance=amount)

    def set(self, words: str, completed: float, total: float) -> None:
        """Say what is worked on, how much of it is done, and of how much."""
        self._progress.update(
            self._row, description=words, completed=completed, total=total
        )

    def share(self, name: str, share: float, weight: float = 1.0) -> None:
        """So large a share of one of several things is done; never less than before."""
        gained = max(0.0, share - self._shares.get(name, 0.0))
        self._shares[name] = self._shares.get(name, 0.0) + gained
        self.advance(gained * weight)

    def finish_part(self, name: str) -> None:
        """One of several parts is done: a line in a log, with the time that is left."""
        if not self._has_lines:
            return
        row = self._progress.tasks[self._row]
        spent = time.monotonic() - self._started
        words = f"{name}: done after {duration(spent)}"
        if row.total and 0 < row.completed < row.total:
            left = spent * (row.total - row.completed) / row.completed
            share = f"{row.completed / row.total:.0%} of the work"
            words += f"; {share}, about {duration(left)} left"
        self._console.print(words, soft_wrap=True, markup=False)


def duration(seconds: float) -> str:
    """90 as 1 min 30 s."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
