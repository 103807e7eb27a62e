"""The command `acprop`: parse, call one function, print its value.

Bad input ends with exit code 2 and one line on stderr; 1 says that a claim of ours
failed, or that a run did; 130 that it was stopped.
"""

import sys

from acprop.cli import stopping

BENCH = ("bench", "data", "reproduce")  # the commands that need more than the lab does


def main() -> None:
    """The entry point."""
    stopping.begin()
    try:
        _main()
    finally:
        stopping.finish()


def _main() -> None:
    try:
        from acprop.cli.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "acprop":
            raise
        extra = "bench" if sys.argv[1:2] and sys.argv[1] in BENCH else "lab"
        advice = f"run pip install 'acprop[{extra}]' ({error.name} is missing)"
        sys.exit(f"error: the command line needs more packages; {advice}")
    run()
