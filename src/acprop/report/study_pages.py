"""A study as its page shows it: written records, figures drawn from them, words."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from acprop import files
from acprop.records import (
    BadRecordError,
    Curves,
    Drawing,
    RunRecord,
    RunStatus,
    StudyRecord,
    write,
)
from acprop.report.captions import caption_of, study_command, study_sentence
from acprop.report.figures import draw_once
from acprop.report.gallery import Gallery, build_gallery
from acprop.report.paper import published_curves
from acprop.report.studies import StudyRuns, gather
from acprop.report.study_figures import sensitivity, study_figures
from acprop.report.tables import TextTable, study_table, trial_table

__all__ = ["Given", "PrepareStudy", "StudyPage", "StudySection", "study_pages"]

EMPTY = TextTable()
NO_PICTURES = Gallery()
Given = tuple[StudyRecord, Sequence[RunRecord], bool]  # of `StudyRuns`: is_here
MACHINE = ("system", "processor", "cores", "torch")  # what is quoted of one
FEW = 5  # runs without a record that are named one by one


@dataclass(frozen=True, slots=True)
class StudyFigure:
    """path: relative to the pages. is_ours: of this study, and so of its scale."""

    path: str
    caption: str
    alt: str
    is_ours: bool = True


@dataclass(frozen=True, slots=True)
class StudySection:
    """A study at one scale, by one ruleset, from one place; paths are relative.

    found     its runs; none if they could not be understood, see missing
    origin    on which machine and of which commit
    every     all settings, where the table has only the chosen ones
    missing   what was not run or could not be shown
    problems  its records that could not be shown, each with its place and why
    """

    found: StudyRuns
    records: str = ""
    counts: str = "not shown"
    origin: str = ""
    data: str = ""
    wall: str = "–"
    missing: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    figures: tuple[StudyFigure, ...] = ()
    gallery: Gallery = NO_PICTURES
    sentence: str = ""
    table: TextTable = EMPTY
    every: TextTable = EMPTY
    trials: TextTable = EMPTY
    problems: tuple[str, ...] = ()

    @property
    def record(self) -> StudyRecord:
        """The study itself."""
        return self.found.study

    @property
    def heading(self) -> str:
        """Small scale, ruleset tuned, 10 seeds."""
        where = "run on this machine, " if self.found.is_here else ""
        n = self.found.n_seeds
        parts = [
            f"{where}{self.record.scale} scale",
            *([] if self.record.ruleset == "paper" else [self.record.ruleset]),
            *([f"{n} seeds" if n > 1 else "one seed"] if n else []),
        ]
        return ", ".join(parts)

    @property
    def command(self) -> str:
        """What runs it again."""
        return study_command(self.record)


@dataclass(frozen=True, slots=True)
class StudyPage:
    """All that is known of a study: the evidence that weighs most comes first."""

    sections: tuple[StudySection, ...]

    @property
    def lead(self) -> StudySection:
        """By which the study is quoted elsewhere."""
        return self.sections[0]


def study_pages(sections: Iterable[StudySection]) -> list[StudyPage]:
    """Sections of one study on one page, in the order of their weight."""
    by_page: dict[str, list[StudySection]] = {}
    for section in sections:
        by_page.setdefault(section.found.page, []).append(section)
    return [
        StudyPage(tuple(sorted(some, key=lambda s: s.found.weight, reverse=True)))
        for some in by_page.values()
    ]


@dataclass(frozen=True, slots=True)
class PrepareStudy:
    """`prepare_study` as a value, which another process can be given."""

    out: Path
    artifacts: Mapping[str, Path]
    places: Mapping[str, str]

    def __call__(self, given: Given) -> StudySection:
        """Write a study's records, then draw from what was written.

        A record may have every type right and still make no sense (`BadRecordError`):
        it is named and left out, and the rest is shown.
        """
        study, able, is_here = given
        problems: list[str] = []
        while True:
            try:
                found = gather(study, able, is_here=is_here)
                section = _section(self.out, found, able, self.artifacts)
                return replace(section, problems=tuple(problems))
            except BadRecordError as error:
                where = self.places.get(error.run or study.key, f"study {study.name}")
                if error.run is None:
                    why = f"its runs could not be shown: {error}"
                    return StudySection(
                        StudyRuns(study, is_here=is_here),
                        missing=(why, *study.missing),
                        problems=(*problems, f"{where}: {why}"),
                    )
                problems.append(f"{where}: {error}")
                able = [run for run in able if run.run != error.run]


def _section(
    out: Path,
    found: StudyRuns,
    runs: Sequence[RunRecord],
    artifacts: Mapping[str, Path],
) -> StudySection:
    study = found.study
    known = {run.run for run in (*found.runs, *found.trials)}
    for stray in [run.run for run in runs if run.run not in known]:
        raise BadRecordError(f"a run must be one of its study's, got {stray}", stray)
    table = study_table(found)
    has_more = study.ruleset == "paper" and len(found.arms) > len(table.rows)
    drawings = [*study_figures(found), *sensitivity(found)]
    path = files.below(out, "studies", f"{found.key}.jsonl")
    write(path, [study, *found.runs, *found.trials, *drawings])
    return StudySection(
        found,
        records=path.relative_to(out).as_posix(),
        counts=_run_counts(study, found.runs),
        origin=_origin(found.runs),
        data="; ".join(sorted({_sources(run.data) for run in found.runs if run.data})),
        wall=_wall([*found.runs, *found.trials]),
        missing=tuple(_missing(study, found.runs)),
        messages=_messages([*found.runs, *_failed(found.trials)]),
        figures=_draw(out, found, drawings),
        gallery=build_gallery(out, found, artifacts),
        sentence=study_sentence(found),
        table=table,
        every=study_table(found, every=True) if has_more else EMPTY,
        trials=trial_table(found),
    )


def _origin(runs: Sequence[RunRecord]) -> str:
    """On which machines and of which commits; the records have more about both."""
    machines = dict.fromkeys(
        words({name: run.machine[name] for name in MACHINE if name in run.machine})
        for run in runs
    )
    commits = dict.fromkeys(run.commit or "no commit" for run in runs)
    return "; ".join(filter(None, [*machines, f"commit {', '.join(commits)}"]))


def _failed(trials: Sequence[RunRecord]) -> list[RunRecord]:
    """One that was stopped early has not failed."""
    return [run for run in trials if run.status is not RunStatus.INTERRUPTED]


def _missing(study: StudyRecord, runs: Sequence[RunRecord]) -> list[str]:
    known = {run.run for run in runs}
    lost = [run for run in dict.fromkeys(study.runs) if run not in known]
    if not lost:
        return [*study.missing]
    more = f" and {len(lost) - FEW} more" if len(lost) > FEW else ""
    names = f"{', '.join(lost[:FEW])}{more}"
    whole = len(dict.fromkeys(study.runs))
    return [*study.missing, f"{len(lost)} of {whole} runs have no record: {names}"]


def _draw(
    out: Path, found: StudyRuns, drawings: Sequence[Drawing]
) -> tuple[StudyFigure, ...]:
    """One figure for each kind of record."""
    kinds: dict[str, list[Drawing]] = {}
    for record in drawings:
        kinds.setdefault(_kind(found, record), []).append(record)
    key = found.key
    made: list[StudyFigure] = []
    for kind, records in kinds.items():
        name = f"{key}-{kind}" if made else key
        path = files.below(out, "studies", f"{name}.svg")
        draw_once(records, path, title="")
        alt = f"{found.study.title}, {found.study.scale} scale: {kind}"
        place = path.relative_to(out).as_posix()
        made.append(StudyFigure(place, caption_of(found, records), alt))
    return (*made, *_published(out, key, found))


def _kind(found: StudyRuns, record: Drawing) -> str:
    """What is drawn together."""
    if not isinstance(record, Curves):
        return record.record
    if record.drawn == "points":
        return "points"
    return "sensitivity" if record.x_label in found.study.axes else "curves"


def _published(out: Path, key: str, found: StudyRuns) -> list[StudyFigure]:
    """The authors' curves, a picture of their own: another scale is another picture."""
    curves = published_curves(found.study.name)
    if curves is None:
        return []
    place = f"studies/{curves.name}.svg"
    draw_once([curves], out / place, title="")
    caption = (
        "Not ours: the curves that the paper's authors publish: test accuracy on all "
        "of CIFAR-10, the full network, 200 epochs, one run each, learning rate × 0.1 "
        "after 150. Another scale than ours: compare shapes, not heights. The first "
        "epochs, below 80 %, are cut off."
    )
    return [
        StudyFigure(place, caption, f"published curves beside {key}", is_ours=False)
    ]


def _messages(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """What went wrong, once for each status and message, with how often it did."""
    seen = Counter(
        (run.status, run.message)
        for run in runs
        if run.message or run.status is not RunStatus.DONE
    )
    return tuple(
        f"{n} {'runs' if n > 1 else 'run'} {status}: {message or status.message}"
        for (status, message), n in seen.items()
    )


def _run_counts(study: StudyRecord, runs: Sequence[RunRecord]) -> str:
    """24 of 27 runs: 22 done, 2 diverged."""
    seen = Counter(run.status for run in runs)
    parts = [f"{n} {status}" for status, n in sorted(seen.items())]
    if not study.runs:
        return "none"
    return f"{len(runs)} of {len(study.runs)} runs" + (
        f": {', '.join(parts)}" if parts else ""
    )


def _wall(runs: Sequence[RunRecord]) -> str:
    known = [run.wall_seconds for run in runs if isfinite(run.wall_seconds)]
    return duration(sum(known)) if known else "–"


def _sources(data: Mapping[str, Any]) -> str:
    """Where each set came from; its checksums stand in the records."""
    return ", ".join(
        f"{name} ({source['route']}: {source['origin']})"
        if isinstance(source, Mapping) and {"route", "origin"} <= source.keys()
        else f"{name}: {words(source)}"
        for name, source in data.items()
    )


def words(value: Any) -> str:
    """Plain values as a person would list them."""
    if isinstance(value, Mapping):
        items: list[tuple[Any, Any]] = [*value.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return ", ".join(f"{k}: {words(v)}" for k, v in items)
    if isinstance(value, list | tuple):
        return ", ".join(words(v) for v in [*value])  # pyright: ignore[reportUnknownVariableType]
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    """A time a person can read."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
