"""Check claims, one on each core."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from acprop.lab.claims import CLAIMS, find, verify
from acprop.progress import Bar
from acprop.records import Verdict, read, write
from acprop.reproduce.parts import JobPart, on_all_cores


def check_claims(
    names: Sequence[str], on_verdict: Callable[[Verdict], None], *, quiet: bool = False
) -> list[Verdict]:
    """Check the claims of these names, or all; `on_verdict` gets each, in order."""
    wanted = find(list(names))
    with Bar("claims", len(wanted), quiet=quiet) as bar:

        def checked(verdict: Verdict) -> None:
            bar.advance()
            on_verdict(verdict)

        return on_all_cores(verify, wanted, on_result=checked)


def defects(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Claims of ours that fail."""
    return [v for v in verdicts if v.owner == "ours" and v.verdict == "fails"]


def claims_part(folder: Path) -> JobPart:
    """All claims, a file for each verdict: a stop loses at most one on each core."""
    work = partial(_check, folder)
    return JobPart("claims", list(CLAIMS), folder, ".jsonl", work, seconds=0.5)


def _check(folder: Path, name: str) -> None:
    write(folder / f"{name}.jsonl", [verify(name)])


def stored_verdicts(folder: Path) -> list[Verdict]:
    """In the order of the claims."""
    stored = [next(read(folder / f"{name}.jsonl")) for name in CLAIMS]
    return [verdict for verdict in stored if isinstance(verdict, Verdict)]
