"""Work for many processes: one for each core, and none that outlives this one.

Stopped by Ctrl-C, by a request to terminate, or left alone by a parent that was killed,
a worker ends: a run writes its checkpoint first, everything else ends at once.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, wait
from multiprocessing import active_children, get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from acprop.bench.signals import held

A = TypeVar("A")
B = TypeVar("B")
Prepare = tuple[Callable[..., None], *tuple[Any, ...]]  # a function and its arguments

_LOOK_EVERY = 0.2  # seconds, for a signal and for what the workers say
_ASK_EVERY = 0.5  # seconds
_leaving = threading.Event()  # of a worker


def spread(
    work: Callable[[A], B],
    items: Sequence[A],
    jobs: int,
    ended: Callable[[A, Future[B]], None],
    *,
    prepare: Prepare | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Work on every item in some process, and call `ended` as each is done.

    A signal raises KeyboardInterrupt, but not before all workers are gone.

    Args:
        prepare: called in each worker before its first item.
        meanwhile: called here a few times a second.
    """
    if not items:
        return
    # spawn: the native sweep and torch have threads, which a fork would lose
    context = get_context("spawn")
    with held() as asked:
        # Nobody writes to it. It ends when we close it, or when we are no more.
        lifeline, end = context.Pipe(duplex=False)
        others = set(active_children())
        pool = ProcessPoolExecutor(
            min(jobs, len(items)),
            mp_context=context,
            initializer=_begin,
            initargs=(lifeline, prepare),
        )
        with lifeline, end, pool:
            try:
                waiting = _submit(pool, work, items)
                while waiting:
                    done, _ = wait(waiting, _LOOK_EVERY, "FIRST_COMPLETED")
                    if meanwhile is not None:
                        meanwhile()
                    if asked():  # what is done may have died of the same signal
                        raise KeyboardInterrupt
                    for future in done:
                        ended(waiting.pop(future), future)
            except BaseException:
                end.close()
                for worker in set(active_children()) - others:
                    worker.terminate()  # at once, also one that is not ready yet
                pool.shutdown(cancel_futures=True)
                raise


def _submit(
    pool: ProcessPoolExecutor, work: Callable[[A], B], items: Sequence[A]
) -> dict[Future[B], A]:
    """Start the workers deaf to Ctrl-C, which a terminal sends to them as well.

    A worker that is not ready yet would die of it with a traceback. The signal is not
    lost to us: it waits until we hear again.
    """
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return {pool.submit(_call, work, item): item for item in items}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _begin(lifeline: Connection, prepare: Prepare | None) -> None:
    """In a worker: only the parent decides what Ctrl-C means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_leave_after, args=(lifeline,), daemon=True).start()
    if prepare is not None:
        function, *arguments = prepare
        function(*arguments)


def _leave_after(lifeline: Connection) -> None:
    lifeline.poll(None)
    _leaving.set()
    while True:  # a run writes its checkpoint at the first, and is gone at the next
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_ASK_EVERY)


def _call(work: Callable[[A], B], item: A) -> B:
    """The pool has handed out items that cannot be taken back; they are not begun."""
    if _leaving.is_set():
        raise CancelledError
    return work(item)
