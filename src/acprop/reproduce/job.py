"""`acprop reproduce`: every claim, every toy figure, every study, one page."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from acprop import checks
from acprop.bench.store import commit, machine
from acprop.bench.studies import Study, study_folder
from acprop.progress import Bar
from acprop.records import FigureRecord, Verdict
from acprop.report.page import Content, write_page
from acprop.reproduce import claims, figures
from acprop.reproduce.folder import JobFolder, open_folder
from acprop.reproduce.studies import Datasets, StudyResult, run_among_others

LAB = "lab"  # the part that is no study: claims and toy figures
NOT_BUILT = ("translation (Table 3), reinforcement learning (Fig. 8): not built",)


@dataclass(frozen=True, slots=True)
class JobResult:
    """What was found, and where the page is."""

    verdicts: list[Verdict]
    studies: list[StudyResult]
    page: Path

    @property
    def defects(self) -> list[Verdict]:
        """Claims of ours that fail."""
        return [v for v in self.verdicts if v.owner == "ours" and v.verdict == "fails"]

    @property
    def complaints(self) -> list[str]:
        """What should have a result and has none."""
        return [line for study in self.studies for line in study.complaints]


def reproduce(
    scale: str, out: Path, *, only: Sequence[str] = (), jobs: int | None = None
) -> JobResult:
    """Do what has not been done by this version of the code, and write the page.

    only: parts by name, "lab" or a study; none is all.
    """
    n_jobs = checks.whole("jobs", jobs) if jobs is not None else os.cpu_count() or 1
    known = study_folder()
    parts = [LAB, *known.names()]
    for part in only:
        checks.one_of("only", part, parts)
    studies = [known.study(name) for name in known.names() if name in (only or parts)]
    for study in studies:
        study.scale(scale)  # an unknown scale is an error before anything is done
    has_lab = LAB in (only or parts)
    started = time.monotonic()
    folder = open_folder(out)
    verdicts: list[Verdict] = []
    drawn: list[FigureRecord] = []
    with Bar("begin", _seconds(folder, studies, scale, has_lab)) as bar:
        if has_lab:
            verdicts = claims.check_all(folder, n_jobs, bar)
            drawn = figures.draw_all(out / "figures", n_jobs, bar)
        data = Datasets()
        results = [
            run_among_others(study, scale, folder.runs, data, n_jobs, bar)
            for study in studies
        ]
    skipped = [part for part in parts if part not in (only or parts)]
    page = write_page(
        out,
        Content(verdicts, drawn, [(r.study, r.runs) for r in results]),
        missing=[*(f"{part}: left out by --only" for part in skipped), *NOT_BUILT],
        about={
            "scale": scale,
            "commit": commit(),
            "acprop": version("acprop"),
            "wall_seconds": time.monotonic() - started,
            "time": time.strftime("%Y-%m-%d"),
            "machine": machine(),
        },
    )
    return JobResult(verdicts, results, page)


def _seconds(
    folder: JobFolder, studies: Sequence[Study], scale: str, has_lab: bool
) -> float:
    """How long it will take on one core, about."""
    total = sum(len(s.planned(scale)) * s.scale(scale).seconds for s in studies)
    if has_lab:
        total += claims.SECONDS * len(claims.unchecked(folder))
        total += figures.SECONDS * len(figures.undrawn(folder.root / "figures"))
    return total
