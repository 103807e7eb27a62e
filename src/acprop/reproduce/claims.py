"""Check claims, one on each core."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from acprop.bench.workers import run_in_processes
from acprop.lab.claims import CLAIMS, find, verify
from acprop.progress import Bar
from acprop.records import Verdict, read, write
from acprop.reproduce.folder import JobFolder

SECONDS = 0.5  # of one claim on one core, for the time that is left


def check_claims(
    names: Sequence[str], on_verdict: Callable[[Verdict], None], *, quiet: bool = False
) -> list[Verdict]:
    """Check the claims of these names, or all; `on_verdict` gets each, in order."""
    wanted = find(list(names))
    if len(wanted) == 1:  # no process is worth it
        on_verdict(verdict := verify(wanted[0]))
        return [verdict]
    verdicts: list[Verdict] = []
    early: dict[str, Verdict] = {}
    with Bar("claims", len(wanted), quiet=quiet) as bar:

        def checked(name: str, future: Future[Verdict]) -> None:
            early[name] = future.result()
            bar.advance()
            while len(verdicts) < len(wanted) and wanted[len(verdicts)] in early:
                verdicts.append(early[wanted[len(verdicts)]])
                on_verdict(verdicts[-1])

        run_in_processes(verify, wanted, os.cpu_count() or 1, checked)
    return verdicts


def unchecked(folder: JobFolder) -> list[str]:
    """The claims that today's code has not checked yet."""
    return [name for name in CLAIMS if not folder.verdict(name).exists()]


def check_all(folder: JobFolder, jobs: int, bar: Bar) -> list[Verdict]:
    """Check what is unchecked; all verdicts, in the order of the claims."""

    def checked(name: str, future: Future[Verdict]) -> None:
        write(folder.verdict(name), [future.result()])
        bar.advance(SECONDS)

    bar.show("claims")
    run_in_processes(verify, unchecked(folder), jobs, checked)
    bar.finish_part("claims")
    stored = [next(read(folder.verdict(name))) for name in CLAIMS]
    return [verdict for verdict in stored if isinstance(verdict, Verdict)]
