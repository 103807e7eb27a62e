"""How far a fetch has come: the one progress bar, as pooch wants it."""

from rich.progress import (
    DownloadColumn,
    ProgressColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

from acprop.progress import Bar


class DownloadBar(Bar):
    """A bar in bytes; without a total it only moves."""

    def columns(self) -> tuple[ProgressColumn, ...]:
        """Bytes and their speed."""
        return DownloadColumn(), TransferSpeedColumn(), TimeElapsedColumn()

    def begin(self, words: str) -> None:
        """Start a new piece of work, of unknown length."""
        self._progress.reset(self._row, description=words)
        # reset() takes None for "as it was"
        self._progress.tasks[0].total = None

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
