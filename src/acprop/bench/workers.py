"""Work for many processes: one for each core, and none that outlives this one.

Stopped by Ctrl-C, by a request to terminate, or left alone by a parent that was killed,
a worker ends: a run writes its checkpoint first, everything else ends at once. A worker
that the system kills takes one item with it, and no other worker notices.
"""

import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar

from acprop.bench.signals import signals_at_end

A = TypeVar("A")
B = TypeVar("B")

_LOOK_EVERY = 0.2  # seconds, for a signal and for what the workers report
_ASK_EVERY = 0.5  # seconds
_to_parent: Connection | None = None  # of a worker


class WorkerDiedError(RuntimeError):
    """The process that worked on an item is gone."""

    def __init__(self, exit_code: int | None) -> None:
        words = f"a worker ended with exit code {exit_code}"
        if exit_code is not None and exit_code < 0:
            words = f"a worker was killed by signal {-exit_code}"
        if exit_code == -signal.SIGKILL:
            words += ", perhaps for lack of memory"
        super().__init__(words)


class _Worker(NamedTuple):
    process: SpawnProcess
    pipe: "Connection[Any, Any]"


class Pool(Generic[A, B]):
    """Processes that call `work`; closed, it has none left."""

    def __init__(self, work: Callable[[A], B], size: int) -> None:
        # spawn: the native sweep and torch have threads, which a fork would lose
        self._context = get_context("spawn")
        self._work, self._size = work, size
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, A] = {}
        # Nobody writes to it. It ends when we close it, or when this process ends.
        self._lifeline, self._end = self._context.Pipe(duplex=False)

    @property
    def n_busy(self) -> int:
        """How many items are worked on."""
        return len(self._busy)

    @property
    def room(self) -> int:
        """How many more can be worked on at once."""
        return self._size - self.n_busy

    def submit(self, item: A) -> None:
        """Give an item to a worker that has none."""
        worker = self._idle.pop() if self._idle else self._start()
        self._busy[worker] = item
        with suppress(OSError):  # it was killed while it waited: `wait` will notice
            worker.pipe.send(item)

    def wait(self, seconds: float) -> list[tuple[A, float | Future[B]]]:
        """What was reported, and what is done, as soon as there is any of it."""
        if not self._busy:
            time.sleep(seconds)
            return []
        ready = wait([worker.pipe for worker in self._busy], seconds)
        found: list[tuple[A, float | Future[B]]] = []
        for worker in [worker for worker in self._busy if worker.pipe in ready]:
            item = self._busy[worker]
            found += [(item, news) for news in self._receive(worker)]
        return found

    def _receive(self, worker: _Worker) -> list[float | Future[B]]:
        found: list[float | Future[B]] = []
        try:
            while worker in self._busy and worker.pipe.poll():
                kind, value = worker.pipe.recv()
                if kind == "progress":
                    found.append(value)
                    continue
                del self._busy[worker]
                self._idle.append(worker)
                found.append(_future(kind, value))
        except (EOFError, OSError):
            del self._busy[worker]
            worker.process.join()
            worker.pipe.close()
            found.append(_future("error", WorkerDiedError(worker.process.exitcode)))
        return found

    def _start(self) -> _Worker:
        """Start a worker that ignores Ctrl-C, which a terminal sends to it as well.

        One that is not ready yet would die of it with a traceback. The signal is not
        lost: it is delivered to us when the mask is lifted.
        """
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_serve, args=(theirs, self._lifeline, self._work)
        )
        old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)
            theirs.close()
        return _Worker(process, ours)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        workers = [*self._idle, *self._busy]
        if kind is not None:
            self._end.close()
            for worker in workers:
                worker.process.terminate()  # at once, also one that is not ready yet
        for worker in workers:
            worker.pipe.close()  # who waits for an item, or for us to listen, ends
        for worker in workers:
            worker.process.join()
        self._end.close()
        self._lifeline.close()


def run_in_processes(
    work: Callable[[A], B],
    items: Sequence[A],
    jobs: int,
    ended: Callable[[A, Future[B]], None],
) -> None:
    """Work on every item in some process, and call `ended` as each is done.

    A signal raises KeyboardInterrupt, but not before all workers are gone.
    """
    if not items:
        return
    waiting = deque(items)
    with signals_at_end() as stop_requested, Pool(work, jobs) as pool:
        while waiting or pool.n_busy:
            while waiting and pool.room:
                pool.submit(waiting.popleft())
            found = pool.wait(_LOOK_EVERY)
            if stop_requested():  # what is done may have died of the same signal
                raise KeyboardInterrupt
            for item, news in found:
                if isinstance(news, Future):
                    ended(item, news)


def report_progress(share: float) -> None:
    """In a worker: how far its item is, for whoever waits for it."""
    if _to_parent is not None:
        with suppress(OSError):  # nobody listens any more
            _to_parent.send(("progress", share))


def _future(kind: str, value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    if kind == "error":
        future.set_exception(value)
    else:
        future.set_result(value)
    return future


def _serve(
    pipe: "Connection[Any, Any]",
    lifeline: "Connection[Any, Any]",
    work: Callable[[Any], Any],
) -> None:
    """In a worker: one item after another, until there is nobody to ask for one.

    Only the parent decides what Ctrl-C means.
    """
    global _to_parent
    _to_parent = pipe
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_leave_after, args=(lifeline,), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            _do(work, pipe.recv(), pipe)


def _do(work: Callable[[Any], Any], item: Any, pipe: "Connection[Any, Any]") -> None:
    try:
        kind, value = "done", work(item)
    except Exception as error:  # it is the item's, and the parent decides
        error.add_note("".join(traceback.format_exception(error)))
        kind, value = "error", error
    try:
        pipe.send((kind, value))
    except OSError:
        raise
    except Exception:  # a value that cannot be sent
        pipe.send(("error", RuntimeError(f"{type(value).__name__}: {value}")))


def _leave_after(lifeline: "Connection[Any, Any]") -> None:
    with suppress(OSError):
        lifeline.poll(None)
    while True:  # a run writes its checkpoint at the first, and is gone at the next
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_ASK_EVERY)
