"""How far a fetch has come: the one progress bar, as pooch wants it."""

from rich.progress import (
    DownloadColumn,
    ProgressColumn,
    Task,
    TimeElapsedColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from acprop.progress import Bar


class _Amount(DownloadColumn):
    """Bytes, or the number of things where those are counted."""

    def render(self, task: Task) -> Text:
        if task.fields.get("things"):
            return Text(f"{task.completed:.0f}/{task.total or 0:.0f}")
        return super().render(task)


class _Speed(TransferSpeedColumn):
    """Bytes per second; of things it says nothing."""

    def render(self, task: Task) -> Text:
        return Text() if task.fields.get("things") else super().render(task)


class DownloadBar(Bar):
    """A bar in bytes, or in packages; without a total it only moves."""

    def columns(self) -> tuple[ProgressColumn, ...]:
        """Bytes and their speed."""
        return _Amount(), _Speed(), TimeElapsedColumn()

    def begin(self, words: str, total: int | None = None) -> None:
        """Start a new piece of work, in bytes."""
        self._progress.reset(self._row, description=words, things=False)
        # reset() takes None for "as it was"
        self._progress.tasks[0].total = total

    def count(self, words: str, done: int, total: int) -> None:
        """So many of so many packages are here; the next one is on its way."""
        self._progress.update(
            self._row, description=words, completed=done, total=total, things=True
        )

    # What pooch wants of a progress bar: total, update, reset and close.

    @property
    def total(self) -> float | None:
        return self._progress.tasks[0].total

    @total.setter
    def total(self, total: int) -> None:
        self._progress.update(self._row, total=total or None)

    def update(self, n: int) -> None:
        self.advance(n)

    def reset(self) -> None:
        self._progress.update(self._row, completed=0)

    def close(self) -> None:
        """The bar stays for the next piece of work."""
