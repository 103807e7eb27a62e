"""The command `acprop`: parse, call one function, print its value.

Bad input ends with exit code 2 and one line on stderr; 1 says that a claim of ours
failed, or that a run did; 130 that it was stopped.
"""

import codecs
import sys

from acprop.cli import stopping

BENCH = {"bench", "data", "report", "reproduce"}  # they need more than the lab does
# What a terminal shows that does not know our signs; of the same width, for tables.
ASCII = dict(zip("✓✗–−→…×·≤≥αβεη", "+x-->~x*<>abeh", strict=True))


def main() -> None:
    """The entry point."""
    stopping.begin()
    codecs.register_error("acprop", _in_ascii)
    if reconfigure := getattr(sys.stdout, "reconfigure", None):  # else nobody reads it
        reconfigure(errors="acprop")
    try:
        from acprop.cli.app import run

        run()
    except ImportError as error:
        package = _missing(error)
        if package is None:
            raise  # a defect, not an install without an extra
        extra = "bench" if BENCH & set(sys.argv[1:2]) else "lab"
        extra = "cluster" if package in ("ray", "submitit") else extra
        advice = f"run pip install 'acprop[{extra}]' ({package} is missing)"
        sys.exit(f"error: this command needs more packages; {advice}")
    finally:
        stopping.finish()


def _missing(error: ImportError) -> str | None:
    """The package that is not installed, if that is what went wrong."""
    for found in (error, error.__cause__):
        if isinstance(found, ModuleNotFoundError) and found.name:
            package = found.name.split(".")[0]
            return None if package == "acprop" else package
    return None


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(ASCII.get(sign, "?") for sign in signs), error.end
