"""`acprop reproduce`: every claim, every toy figure, every study, one page."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from acprop import checks, files
from acprop.bench.conditions import commit, machine
from acprop.bench.engines import Engine, LocalEngine
from acprop.bench.studies import Study, study_folder
from acprop.progress import Bar
from acprop.records import FigureRecord, Verdict
from acprop.report.collect import collect
from acprop.report.site import Content, write_site
from acprop.reproduce import claims, figures
from acprop.reproduce.folder import JobFolder, open_folder
from acprop.reproduce.pages import content_of, on_all_cores
from acprop.reproduce.rulesets import PaperRuleset
from acprop.reproduce.runner import StudyResult, artifacts_of, cost, run

LAB = "lab"  # the part that is no study: claims and toy figures


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


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done, and which parts are left out."""

    scale: str
    has_lab: bool
    studies: list[Study]
    skipped: list[str]


def reproduce(
    scale: str,
    out: Path,
    *,
    only: Sequence[str] = (),
    engine: Engine | None = None,
    results: Path | None = None,
) -> JobResult:
    """Do what has not been done yet, and write the page.

    Args:
        only: parts by name, "lab" or a study; none is all.
        engine: where studies run; claims and figures are made here.
        results: stored evidence, which the page shows besides; None is the folder
            results beside that of the studies, if there is one.
    """
    engine = engine or LocalEngine()
    here = engine.jobs if isinstance(engine, LocalEngine) else None
    n_jobs = here or os.cpu_count() or 1
    files.check_folder("out", out)
    plan = _plan(scale, only)
    started = time.monotonic()
    folder = open_folder(out)
    verdicts: list[Verdict] = []
    drawn: list[FigureRecord] = []
    with Bar("begin", _seconds(folder, plan)) as bar:
        if plan.has_lab:
            verdicts = claims.check_all(folder, n_jobs, bar)
            drawn = figures.draw_all(out / "figures", n_jobs, bar)
        done = run(
            plan.studies, PaperRuleset(), engine, scale=scale, runs=folder.runs, bar=bar
        )
    content = _content(results or study_folder().root.parent / "results")
    page = write_site(
        out,
        replace(
            content,
            verdicts=verdicts,
            figures=drawn,
            artifacts={**content.artifacts, **artifacts_of(folder.runs, done)},
            here=[(r.study, r.runs) for r in done],
        ),
        missing=[f"{part}: left out by --only" for part in plan.skipped],
        about={
            "scale": scale,
            "commit": commit(),
            "acprop": version("acprop"),
            "wall_seconds": time.monotonic() - started,
            "time": time.strftime("%Y-%m-%d"),
            "machine": machine(),
        },
        each=on_all_cores if n_jobs > 1 else map,
    )
    return JobResult(verdicts, done, page)


def _content(results: Path) -> Content:
    """What was known before; an installed package has no such folder."""
    if not results.is_dir():
        return Content([], [], [])
    return content_of(collect([results]))


def _plan(scale: str, only: Sequence[str]) -> _Plan:
    """Refuse an unknown part or scale before anything is done."""
    known = study_folder()
    parts = [LAB, *known.names()]
    for part in only:
        checks.one_of("only", part, parts)
    wanted = [part for part in parts if not only or part in only]
    studies = [known.study(part) for part in wanted if part != LAB]
    for study in studies:
        study.scale(scale)
    skipped = [part for part in parts if part not in wanted]
    return _Plan(scale, LAB in wanted, studies, skipped)


def _seconds(folder: JobFolder, plan: _Plan) -> float:
    """How long it will take on one core, about."""
    total = cost(plan.studies, PaperRuleset(), plan.scale)
    if plan.has_lab:
        total += claims.SECONDS * len(claims.unchecked(folder))
        total += figures.SECONDS * len(figures.undrawn(folder.root / "figures"))
    return total
