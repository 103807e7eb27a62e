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

Asked = Callable[[], bool]  # has a signal come?
STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def noted() -> Generator[Asked]:
    """Turn the signals into a flag; whoever asks decides what follows."""
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
def held() -> Generator[Asked]:
    """As `noted`; at the end a signal that came is raised as KeyboardInterrupt.

    It replaces any other error: what failed after the signal failed because of it.
    """
    asked: Asked = bool
    try:
        with noted() as asked:
            yield asked
    finally:
        if asked():  # only now: until the old handlers are back, another may come
            raise KeyboardInterrupt
