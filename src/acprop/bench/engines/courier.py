"""A worker on another node: it says how far it is, and sends what it has if need be."""

import tempfile
import threading
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from acprop.bench import leases
from acprop.bench.engines.contract import End, Job
from acprop.bench.engines.work import work
from acprop.bench.store import OLDER, RunFolder, Store
from acprop.records import RunStatus

_SEND_EVERY = 1.0  # seconds


class News(NamedTuple):
    """What a worker says of its run. files: those that have changed."""

    share: float
    files: Mapping[str, bytes]


class Mailbox:
    """An actor beside the driver: what workers have sent, until the driver asks."""

    def __init__(self) -> None:
        self._news: dict[str, News] = {}
        self._is_stopping = False

    def put(self, run: str, share: float, contents: Mapping[str, bytes]) -> bool:
        """Keep the newest of each file; say whether the run should stop."""
        old = self._news.get(run, News(0.0, {}))
        self._news[run] = News(share, {**old.files, **contents})
        return self._is_stopping

    def take(self) -> dict[str, News]:
        """Everything that is new."""
        news, self._news = self._news, {}
        return news

    def stop(self) -> None:
        """Ask every run to stop."""
        self._is_stopping = True


def can_see(token: Path) -> bool:
    """Is the driver's store on a disk of this node's?"""
    return token.exists()


def carry(
    job: Job, mailbox: Any, token: Path | None, contents: Mapping[str, bytes]
) -> End:
    """Carry out a job on this node.

    Args:
        token: a file that the driver has put into its store; None if the run should be
            sent back.
        contents: the run's folder so far, in that case.
    """
    if token is None:
        with tempfile.TemporaryDirectory(prefix="acprop-") as name:
            own = replace(job, root=Path(name), dead=None)
            folder = Store(own.root).folder(job.spec)
            if contents:
                folder.unpack(contents)
            with _Courier(job.spec.id, mailbox, folder) as courier:
                end = work(own, courier.tell, courier.is_stopping)
            return replace(end, files=folder.pack())
    if not can_see(token):
        return End(
            RunStatus.ERROR,
            f"the node {leases.host()} does not see {job.root}; add --send-back",
            "failed",
        )
    with _Courier(job.spec.id, mailbox, None) as courier:
        return work(job, courier.tell, courier.is_stopping)


class _Courier:
    """A thread that talks to the mailbox. folder: what it sends; None sends nothing."""

    def __init__(self, run: str, mailbox: Any, folder: RunFolder | None) -> None:
        self._run, self._mailbox, self._folder = run, mailbox, folder
        self._share = 0.0
        self._sent: dict[str, bytes] = {}
        self._done, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._talk, daemon=True)

    def tell(self, share: float) -> None:
        self._share = share

    def is_stopping(self) -> bool:
        return self._stop.is_set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()  # nothing old may arrive after the end

    def _talk(self) -> None:
        ray: Any = import_module("ray")
        while not self._done.wait(_SEND_EVERY):
            try:
                new = self._changed()
                said = self._mailbox.put.remote(self._run, self._share, new)
                if ray.get(said):
                    self._stop.set()
            except Exception:  # the driver is no more: nobody wants the rest
                self._stop.set()
                return

    def _changed(self) -> dict[str, bytes]:
        """Whole files; each is replaced by the next, never written in part."""
        if self._folder is None:
            return {}
        now = self._folder.pack(artifacts=False)
        now.pop(OLDER, None)  # the driver has it: the one that it was sent before
        new = {name: c for name, c in now.items() if self._sent.get(name) != c}
        self._sent = now
        return new
