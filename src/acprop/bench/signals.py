"""Ctrl-C, and a request to terminate, where they may not interrupt.

Python raises KeyboardInterrupt wherever the main thread happens to be: while a pool
starts a process, in a destructor, which loses it, in the middle of a callback. A loop
that has something to put in order takes the signal as a flag instead, and looks at it
when it is ready.
"""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

StopRequested = Callable[[], bool]  # has a signal come?
STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_as_flag() -> Generator[StopRequested]:
    """Turn the signals into a flag; whoever looks at it decides what follows."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag.is_set
        return

    def note(number: int, frame: object) -> None:
        del number, frame
        flag.set()

    old = {n: signal.signal(n, note) for n in STOPPING}
    try:
        yield flag.is_set
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextmanager
def signals_at_end() -> Generator[StopRequested]:
    """As `signals_as_flag`; a signal that came is a KeyboardInterrupt at the end.

    It replaces any other error: what failed after the signal failed because of it.
    """
    stop_requested: StopRequested = bool
    try:
        with signals_as_flag() as stop_requested:
            yield stop_requested
    finally:
        if stop_requested():  # only now: until the old handlers are back, more may come
            raise KeyboardInterrupt
