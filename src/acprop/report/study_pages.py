"""A study as its page shows it: written records, figures drawn from them, words."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from acprop import files
from acprop.plain import Plain
from acprop.records import (
    BadRecordError,
    Curves,
    Drawing,
    RunRecord,
    RunStatus,
    StudyRecord,
    write,
)
from acprop.report.factorial import effect_line, effect_table
from acprop.report.figures import draw_once, image_sizes
from acprop.report.gallery import Gallery, build_gallery
from acprop.report.paper import published_curves
from acprop.report.results import ComparedArm, ResultLine, compared_arms, result_line
from acprop.report.studies import SEARCH, StudyRuns, gather
from acprop.report.study_figures import study_figures
from acprop.report.tables import TextTable, settings_table, study_table, trial_table
from acprop.report.words import duration, plain_words, study_command

EMPTY = TextTable()
NO_PICTURES = Gallery()
NO_RESULT = ResultLine("no result", "none", "No run has a result to show.")
MACHINE = ("system", "processor", "cores", "torch")  # what is quoted of one
FEW = 5  # runs without a record that are named one by one

# How to read a figure, by the kind of what it shows.
CAPTIONS = {
    "surface": "Means over the finished runs of each cell; div.: diverged. A large "
    "field of one colour is a robust optimizer.",
    "bars": "Bars are means over the finished runs at the end, dots single seeds, "
    "lines 95 % intervals; a × at the edge is a run that failed.",
    "effects": "What a factor changes on average over all corners of the design, with "
    "its 95 % interval. β2 has four levels: by a little is from 0.95 to 0.99 and from "
    "0.999 to 0.9999, by much from 0.95 to 0.999 and from 0.99 to 0.9999.",
    "points": "Every trial of the search: the mean over the seeds of tuning at the "
    "last epoch. A wide hill is easy to find, a narrow one needs luck.",
    "sensitivity": "The end of training over {axes}: a flat line does not care, a peak "
    "must be found. Of runs that share a place, the setting that validation prefers; "
    "dots are single seeds.",
    "curves": "Lines are means over finished runs, bands one standard deviation over "
    "seeds, dots the seeds at the end. Which differences are shown, the table says.",
    "published": "Not ours: the curves that the paper's authors publish: test accuracy "
    "on all of CIFAR-10, the full network, 200 epochs, one run each, learning rate "
    "× 0.1 after 150. Another scale than ours: compare shapes, not heights. The first "
    "epochs, below 80 %, are cut off.",
}


class GivenStudy(NamedTuple):
    """A study and its runs. is_here, searched: as in `StudyRuns`."""

    study: StudyRecord
    runs: Sequence[RunRecord]
    is_here: bool = False
    searched: tuple[Plain, ...] = ()


class StudyFigure(NamedTuple):
    """path: relative to the pages. sizes: of the picture, then of its panels."""

    path: str
    caption: str
    alt: str
    sizes: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class StudySection:
    """A study at one scale, by one ruleset, from one place; paths are relative.

    found     its runs; none if they could not be understood, see missing
    origin    on which machine and of which commit
    compared  every arm that is shown, beside its reference
    line      the result in one sentence
    settings  of the arms in the table
    every     all settings, where the table has only the chosen ones or effects
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
    compared: tuple[ComparedArm, ...] = ()
    line: ResultLine = NO_RESULT
    table: TextTable = EMPTY
    settings: TextTable = EMPTY
    every: TextTable = EMPTY
    trials: TextTable = EMPTY
    problems: tuple[str, ...] = ()

    @property
    def record(self) -> StudyRecord:
        """The study itself."""
        return self.found.study

    @property
    def heading(self) -> str:
        """run on this machine, small scale, tuned, 10 seeds."""
        n = self.found.n_seeds
        parts = [
            "run on this machine" if self.found.is_here else "",
            f"{self.record.scale} scale",
            "" if self.record.ruleset == "paper" else self.record.ruleset,
            f"{n} seeds" if n > 1 else "one seed" if n else "",
        ]
        return ", ".join(filter(None, parts))

    @property
    def is_ranked(self) -> bool:
        """May somebody win at this scale?"""
        return self.record.scale not in ("smoke", SEARCH)

    @property
    def command(self) -> str:
        """What runs it again."""
        return study_command(self.record)


def replaced_by(pages: Mapping[str, Sequence[StudySection]]) -> dict[str, StudySection]:
    """By the name of a study: the one of the same task that has taken its place."""
    ranked = [s for sections in pages.values() for s in sections if s.is_ranked]
    return {name: section for section in ranked for name in section.record.replaces}


def by_page(sections: Iterable[StudySection]) -> dict[str, list[StudySection]]:
    """All that is known of each study: the evidence that weighs most comes first."""
    pages: dict[str, list[StudySection]] = {}
    for section in sections:
        pages.setdefault(section.found.page, []).append(section)
    for page in pages.values():
        page.sort(key=lambda section: section.found.weight, reverse=True)
    return pages


@dataclass(frozen=True, slots=True)
class PrepareStudy:
    """From a study and its runs to its section; also in another process.

    artifacts, places: as in `Content`.
    """

    out: Path
    artifacts: Mapping[str, Path]
    places: Mapping[str, str]

    def __call__(self, given: GivenStudy) -> StudySection:
        """Write a study's records, then draw from what was written.

        A record may have every type right and still make no sense (`BadRecordError`):
        it is named and left out, and the rest is shown.
        """
        study, able, is_here, searched = given
        problems: list[str] = []
        while True:
            try:
                found = gather(study, able, is_here=is_here, searched=searched)
                _check_strays(found, able)
                return replace(self._section(found), problems=tuple(problems))
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

    def _section(self, found: StudyRuns) -> StudySection:
        study, runs = found.study, (*found.runs, *found.trials)
        compared = compared_arms(found)
        table = study_table(found, compared)
        line, every = result_line(found, compared), EMPTY
        if study.shows == "effects":
            line, every, table = effect_line(found), table, effect_table(found)
        elif study.ruleset == "paper" and len(found.arms) > len(table.rows):
            every = settings_table(found, every=True)
        drawings = study_figures(found)
        path = files.below(self.out, "studies", f"{found.key}.jsonl")
        write(path, [study, *runs, *chain(*drawings.values())])
        known = [run.wall_seconds for run in runs if isfinite(run.wall_seconds)]
        data = {_sources(run.data) for run in found.runs if run.data}
        return StudySection(
            found,
            records=path.relative_to(self.out).as_posix(),
            counts=_run_counts(found),
            origin=_origin(found.runs),
            data="; ".join(sorted(data)),
            wall=duration(sum(known)) if known else "–",
            missing=(*study.missing, *_without_record(found)),
            messages=_messages(runs),
            figures=tuple(self._draw(found, drawings)),
            gallery=build_gallery(self.out, found, self.artifacts),
            compared=tuple(compared),
            line=line,
            table=table,
            settings=settings_table(found),
            every=every,
            trials=trial_table(found),
        )

    def _draw(
        self, found: StudyRuns, drawings: Mapping[str, Sequence[Drawing]]
    ) -> Iterable[StudyFigure]:
        """One figure for each kind; the authors' curves, another scale, are another."""
        for i, (kind, records) in enumerate(drawings.items()):
            name = f"{found.key}-{kind}" if i else found.key
            path = files.below(self.out, "studies", f"{name}.svg")
            draw_once(records, path, title="")
            axes = " and ".join(r.x_label for r in records if isinstance(r, Curves))
            caption = CAPTIONS[kind].format(axes=axes)
            alt = f"{found.study.title}, {found.study.scale} scale: {kind}"
            place = path.relative_to(self.out).as_posix()
            yield StudyFigure(place, caption, alt, image_sizes(path))
        if (curves := published_curves(found.study.name)) is not None:
            place = f"studies/{curves.name}.svg"
            draw_once([curves], self.out / place, title="")
            alt = f"published curves beside {found.key}"
            sizes = image_sizes(self.out / place)
            yield StudyFigure(place, CAPTIONS["published"], alt, sizes)


def searched_settings(studies: Iterable[GivenStudy]) -> dict[str, tuple[Plain, ...]]:
    """The settings that validation prefers at scale "search", by the study's name."""
    found: dict[str, tuple[Plain, ...]] = {}
    for study, runs, *_ in studies:
        if study.scale == SEARCH:
            try:
                methods = gather(study, runs).methods
            except BadRecordError:  # which is named where the search itself is shown
                continue
            found[study.name] = tuple(arm.settings for arm in methods)
    return found


def _check_strays(found: StudyRuns, runs: Sequence[RunRecord]) -> None:
    known = {run.run for run in (*found.runs, *found.trials)}
    for stray in [run.run for run in runs if run.run not in known]:
        raise BadRecordError(f"a run must be one of its study's, got {stray}", stray)


def _origin(runs: Sequence[RunRecord]) -> str:
    """On which machines and of which commits; the records have more about both."""
    quoted = [{k: run.machine[k] for k in MACHINE if k in run.machine} for run in runs]
    machines = dict.fromkeys(map(plain_words, quoted))
    commits = dict.fromkeys(run.commit or "no commit" for run in runs)
    named = [f"commit {', '.join(commits)}"] if commits else []
    return "; ".join(filter(None, [*machines, *named]))


def _without_record(found: StudyRuns) -> list[str]:
    known, wanted = {run.run for run in found.runs}, dict.fromkeys(found.study.runs)
    lost = [run for run in wanted if run not in known]
    more = f" and {len(lost) - FEW} more" if len(lost) > FEW else ""
    names = f"{', '.join(lost[:FEW])}{more}"
    text = f"{len(lost)} of {len(wanted)} runs have no record: {names}"
    return [text] if lost else []


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


def _run_counts(found: StudyRuns) -> str:
    """24 of 27 runs: 22 done, 2 diverged."""
    n_wanted = len(found.study.runs)
    seen = Counter(run.status for run in found.runs)
    parts = [f"{n} {status}" for status, n in sorted(seen.items())]
    if n_wanted == 0 or parts == [f"{n_wanted} done"]:
        return f"all {n_wanted} done" if n_wanted else "none"
    counts = f": {', '.join(parts)}" if parts else ""
    return f"{len(found.runs)} of {n_wanted} runs{counts}"


def _sources(data: Mapping[str, Any]) -> str:
    """Where each set came from; its checksums stand in the records."""
    return ", ".join(
        f"{name} ({source['route']}: {source['origin']})"
        if isinstance(source, Mapping) and {"route", "origin"} <= source.keys()
        else f"{name}: {plain_words(source)}"
        for name, source in data.items()
    )
