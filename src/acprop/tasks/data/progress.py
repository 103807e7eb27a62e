"""How far a fetch has come: a bar on stderr, and nothing where nobody looks."""

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)


class Reporter:
    """One line that says what is being done, with a bar when the size is known."""

    def __init__(self, *, enabled: bool) -> None:
        console = Console(stderr=True, highlight=False)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not (enabled and console.is_terminal),
        )
        self._task = self._bars.add_task("", total=None, visible=False)

    def __enter__(self) -> "Reporter":
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def say(self, what: str, total: int | None = None) -> None:
        """Start a new piece of work; without a total the bar only moves."""
        self._bars.reset(self._task, description=what, total=total, visible=True)

    # What pooch wants of a progress bar: total, update, reset and close.

    @property
    def total(self) -> float | None:
        return self._bars.tasks[0].total

    @total.setter
    def total(self, total: int) -> None:
        self._bars.update(self._task, total=total or None)

    def update(self, n: int) -> None:
        self._bars.update(self._task, advance=n)

    def reset(self) -> None:
        self._bars.update(self._task, completed=0)

    def close(self) -> None:
        """The bar stays for the next piece of work."""
