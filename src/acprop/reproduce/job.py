"""`acprop reproduce`: every claim, every toy figure, every study, one page."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from acprop import checks, files
from acprop.bench.conditions import commit, machine
from acprop.bench.engines import Engine, LocalEngine
from acprop.bench.studies import study_folder
from acprop.lab.figures import FIGURES
from acprop.progress import Bar
from acprop.records import Verdict
from acprop.report.collect import Content, collect
from acprop.report.site import write_site
from acprop.reproduce.claims import claims_part, defects, stored_verdicts
from acprop.reproduce.figures import figure_record, figures_part
from acprop.reproduce.folder import open_folder
from acprop.reproduce.parts import JobPart, on_all_cores
from acprop.reproduce.rulesets import PaperRuleset
from acprop.reproduce.runner import StudyOutcome, artifacts_of, cost, run

LAB = "lab"  # the part that is no study: claims and toy figures


@dataclass(frozen=True, slots=True)
class JobResult:
    """What was found, and where the page is."""

    verdicts: list[Verdict]
    studies: list[StudyOutcome]
    page: Path

    @property
    def defects(self) -> list[Verdict]:
        """Claims of ours that fail."""
        return defects(self.verdicts)

    @property
    def complaints(self) -> list[str]:
        """What should have a result and has none."""
        return [line for study in self.studies for line in study.complaints]


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
    wanted, skipped = _parts(only)
    studies = [study_folder().study(name) for name in wanted if name != LAB]
    for study in studies:
        study.scale(scale)  # refused before anything is done
    started = time.monotonic()
    open_folder(out)
    lab: list[JobPart] = []
    if LAB in wanted:
        lab = [claims_part(out / "verdicts"), figures_part(out / "figures")]
    seconds = sum(part.cost for part in lab) + cost(studies, PaperRuleset(), scale)
    runs = out / "runs"
    with Bar("begin", seconds) as bar:
        for part in lab:
            part.finish(n_jobs, bar)
        done = run(studies, PaperRuleset(), engine, scale=scale, runs=runs, bar=bar)
    verdicts = stored_verdicts(out / "verdicts") if lab else []
    # An installed package has no results beside it: then only what was run is shown.
    stored = results or study_folder().root.parent / "results"
    content = collect([stored]) if stored.is_dir() else Content()
    content.verdicts = verdicts
    content.figures = [figure_record(name) for name in FIGURES] if lab else []
    content.here = [(outcome.study, outcome.runs) for outcome in done]
    content.artifacts |= artifacts_of(runs, done)
    content.missing += [f"{part}: left out by --only" for part in skipped]
    page = write_site(
        out,
        content,
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


def _parts(only: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that are wanted, and those that are left out."""
    parts = [LAB, *study_folder().names()]
    for part in only:
        checks.one_of("only", part, parts)
    wanted = [part for part in parts if not only or part in only]
    return wanted, [part for part in parts if part not in wanted]
