"""What Ctrl-C, or a request to terminate, does to a command: one line, exit code 130.

The signal ends the process where it is: in an import, a computation, a download. That
is safe, since every file of ours is whole or not there; and it cannot be lost, wrapped
in another error or answered with a traceback, as a KeyboardInterrupt can. What has more
to do first holds the signal back (acprop.bench.signals) and then raises
KeyboardInterrupt, which the tree of commands answers with the same line and code.
"""

import os
import signal
from typing import NoReturn

INTERRUPTED = 130  # as the shell counts a Ctrl-C
SIGNALS = (signal.SIGINT, signal.SIGTERM)
words = "stopped"


def begin() -> None:
    """From now on a signal ends the process.

    Also where a script started it in the background, where Ctrl-C is ignored: whoever
    sends the signal there means it.
    """
    for number in SIGNALS:
        signal.signal(number, _leave)


def finish() -> None:
    """From now on no signal changes the exit code: the command is done."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def answer_with(line: str) -> None:
    """Answer a signal with this line."""
    global words
    words = line


def _leave(number: int, frame: object) -> NoReturn:
    del number, frame
    # Not through sys.stderr: we may be in the middle of a write to it. On a terminal a
    # bar may stand in the line, and the cursor may be hidden.
    clear = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""
    os.write(2, f"{clear}{words}\n".encode())
    os._exit(INTERRUPTED)
