"""The index page: everything that was run, and what was not, in one HTML file.

The page needs no network, no script and no server. What it says comes from records,
which lie beside it; the same records give the same bytes.

    out/index.html            the page
    out/explorer.html         the explorer, which shows no records
    out/verdicts.jsonl        the claims
    out/figures/NAME.png      the toy figures, which are drawn before
    out/studies/NAME.jsonl    a study, its runs, and what its figure shows
    out/studies/NAME.svg      the figure of a study; a second kind, NAME-KIND.svg
    out/studies/artifacts/    pictures that its runs left behind
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from acprop import files
from acprop.records import (
    KINDS,
    FigureRecord,
    Record,
    RunRecord,
    RunStatus,
    StudyRecord,
    Verdict,
    read,
    write,
)
from acprop.report.explorer import write_explorer
from acprop.report.figures import draw
from acprop.report.gallery import Gallery, build_gallery
from acprop.report.metrics import label_of
from acprop.report.studies import gather, study_figures
from acprop.report.tables import Table, study_sentence, study_table

__all__ = ["Content", "write_page"]

VERDICTS = ("fails", "undecided", "holds")


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that a page shows; a figure is in figures/NAME.png below it.

    artifacts: the folder of a run's files to look at, for each that has one.
    """

    verdicts: Sequence[Verdict]
    figures: Sequence[FigureRecord]
    studies: Sequence[tuple[StudyRecord, Sequence[RunRecord]]]
    artifacts: Mapping[str, Path] = field(default_factory=dict[str, Path])


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure; the paths of its picture and its records, relative to the page."""

    about: FigureRecord
    picture: str
    records: str


@dataclass(frozen=True, slots=True)
class _StudyFigure:
    """kind: of the records that it shows."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Study:
    """A study as the page shows it; records and figures relative to the page."""

    record: StudyRecord
    key: str
    figures: tuple[_StudyFigure, ...]
    gallery: Gallery
    records: str
    sentence: str
    table: Table
    every: Table | None
    counts: str
    data: str
    wall: str
    missing: tuple[str, ...]
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """Claims with the same owner and the same verdict."""

    owner: str
    verdict: str
    title: str
    claims: tuple[Verdict, ...]
    is_open: bool


def write_page(
    out: Path, content: Content, *, missing: Sequence[str], about: Mapping[str, Any]
) -> Path:
    """Write out/index.html and the records beside it; return the page's path.

    A figure without a picture is named among what is missing.

    Args:
        missing: what was not run, and why.
        about: facts about the whole: "command", "scale", "time", "wall_seconds",
            "machine", "commit", "versions" …; the clock is not read here, so that the
            same records give the same bytes.
    """
    verdicts = content.verdicts
    figures = [_figure(out, figure) for figure in content.figures]
    shown = [figure for figure in figures if figure.picture]
    lost = [figure.about for figure in figures if not figure.picture]
    absent = [*missing, *(f"figure {f.name} ({f.place}): no file" for f in lost)]
    prepared = [
        _prepare(out, study, runs, content.artifacts) for study, runs in content.studies
    ]
    if verdicts:
        write(out / "verdicts.jsonl", verdicts)
    text = (
        _environment()
        .get_template("index.html")
        .render(
            about=_about(about),
            claims=_count(verdicts),
            kinds={kind: _count(verdicts, kind) for kind in KINDS},
            groups=_groups(verdicts),
            corrected={v.claim for v in verdicts},
            figures=shown,
            studies=prepared,
            missing=[*absent, *(m for study in prepared for m in study.missing)],
        )
    )
    write_explorer(out, home="index.html")
    files.write(out / "index.html", text)
    return out / "index.html"


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("acprop.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    ours = {"url": quote, "key": _key, "label": label_of, "anywhere": _breakable}
    made.filters.update(ours)  # pyright: ignore[reportUnknownMemberType]
    return made


def _prepare(
    out: Path,
    study: StudyRecord,
    runs: Sequence[RunRecord],
    artifacts: Mapping[str, Path],
) -> _Study:
    """Write a study's records, then draw from what was written."""
    key = _key(f"{study.name}-{study.scale}")
    path = out / "studies" / f"{key}.jsonl"
    found = gather(study, runs)
    write(path, [study, *found.runs, *study_figures(found)])
    table = study_table(found)
    lost = len(set(study.runs)) - len(found.runs)
    gone = [f"{lost} of {len(study.runs)} runs have no record"] if lost else []
    return _Study(
        record=study,
        key=key,
        figures=_draw(out, key, study),
        gallery=build_gallery(out, found, artifacts),
        records=f"studies/{key}.jsonl",
        sentence=study_sentence(found),
        table=table,
        every=(
            study_table(found, every=True)
            if len(found.arms) > len(table.rows)
            else None
        ),
        counts=_run_counts(study, found.runs),
        data="; ".join(sorted({_sources(run.data) for run in found.runs if run.data})),
        wall=_duration(sum(r.wall_seconds for r in found.runs)) if found.runs else "–",
        missing=tuple(f"{study.title}: {why}" for why in (*study.missing, *gone)),
        messages=_messages(found.runs),
    )


def _draw(out: Path, key: str, study: StudyRecord) -> tuple[_StudyFigure, ...]:
    """One figure for each kind of record, from the file that was written."""
    kinds: dict[str, list[Record]] = {}
    for record in read(out / "studies" / f"{key}.jsonl"):
        if not isinstance(record, StudyRecord | RunRecord):
            kinds.setdefault(record.record, []).append(record)
    made: list[_StudyFigure] = []
    for kind, records in kinds.items():
        name = f"{key}-{kind}" if made else key
        place = f"studies/{name}.svg"
        draw(records, out / place, title=f"{study.title} ({study.scale} scale)")
        made.append(_StudyFigure(place, kind))
    return tuple(made)


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


def _count(
    verdicts: Sequence[Verdict], kind: str | None = None
) -> dict[str, Counter[str]]:
    """By owner, of one kind or of all."""
    of = [v for v in verdicts if kind in (None, v.kind)]
    return {
        owner: Counter(v.verdict for v in of if v.owner == owner)
        for owner in ("paper", "ours")
    }


def _groups(verdicts: Sequence[Verdict]) -> list[_Group]:
    """The paper's that fail first; ours that fail are defects and come next."""
    whose = {"paper": "Claims of the paper", "ours": "Our own claims"}
    what = {"fails": "that fail", "undecided": "left undecided", "holds": "that hold"}
    groups: list[_Group] = []
    for verdict in VERDICTS:
        for owner in ("paper", "ours"):
            found = [v for v in verdicts if (v.owner, v.verdict) == (owner, verdict)]
            title = f"{whose[owner]} {what[verdict]}"
            is_open = verdict != "holds"
            groups.append(_Group(owner, verdict, title, tuple(found), is_open))
    return [group for group in groups if group.claims]


def _about(about: Mapping[str, Any]) -> dict[str, str]:
    """Every fact in words; wall_seconds as a time a person can read."""
    said: dict[str, str] = {}
    for name, value in about.items():
        if value in (None, "", {}, []):
            continue
        is_wall = name == "wall_seconds"
        key = "time taken" if is_wall else name.replace("_", " ")
        said[key] = _duration(float(value)) if is_wall else _words(value)
    return said


def _sources(data: Mapping[str, Any]) -> str:
    """Where each set came from; its checksums stand in the records."""
    return ", ".join(
        f"{name} ({source['route']}: {source['origin']})"
        if isinstance(source, Mapping) and {"route", "origin"} <= source.keys()
        else f"{name}: {_words(source)}"
        for name, source in data.items()
    )


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        items: list[tuple[Any, Any]] = [*value.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return ", ".join(f"{k}: {_words(v)}" for k, v in items)
    if isinstance(value, list | tuple):
        return ", ".join(_words(v) for v in [*value])  # pyright: ignore[reportUnknownVariableType]
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _figure(out: Path, figure: FigureRecord) -> PageFigure:
    """Where its files are; empty for one that is not there."""
    if _key(figure.name) != figure.name:
        raise ValueError(
            f"a figure's name must be small letters, digits, dots and hyphens, "
            f"got {figure.name!r}"
        )
    places = f"figures/{figure.name}.png", f"figures/records/{figure.name}.jsonl"
    picture, records = (place if (out / place).is_file() else "" for place in places)
    return PageFigure(figure, picture, records)


def _key(text: str) -> str:
    """Text as a file's name or an anchor."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "unnamed"


def _breakable(text: str) -> list[str]:
    """Pieces between which a long word may break."""
    return re.split(r"(?<=[-_/])", text)
