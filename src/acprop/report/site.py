"""The site: everything that was run, and what was not, in static HTML files.

They need no network, no server and, but for the explorer, no script. What they say
comes from records, which lie beside them; the same records give the same bytes.

    out/index.html             the start: what stands, what was not run, where and how
    out/paper.html             every table and figure of the paper, and ours
    out/claims.html            every claim, its verdict and its formula
    out/studies.html           all studies; each has a page, study-NAME.html
    out/figures.html           the toy figures
    out/about.html             how to read all this
    out/explorer.html          the explorer, which shows no records
    out/verdicts.jsonl         the claims
    out/figures/NAME.svg       the toy figures, which are drawn before
    out/studies/KEY.jsonl      a study, its runs, and what its figures show
    out/studies/KEY.svg        a figure of a study; a second kind, KEY-KIND.svg
    out/studies/artifacts/     pictures that its runs left behind
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from acprop import files
from acprop.records import FigureRecord, RunRecord, StudyRecord, Verdict, write
from acprop.report.claim_groups import KIND_WORDS, group_claims
from acprop.report.explorer import write_explorer
from acprop.report.paper import PaperEntry, entries, published_about
from acprop.report.paper_entries import EntryResult, entry_result, paper_words
from acprop.report.study_pages import (
    Given,
    PrepareStudy,
    StudyPage,
    StudySection,
    duration,
    study_pages,
    words,
)
from acprop.report.style import OPTIMIZERS, display, for_dark, optimizer_of
from acprop.report.templating import environment, policy

__all__ = ["Content", "write_site"]

Each = Callable[[PrepareStudy, Sequence[Given]], Iterable[StudySection]]
Studies = Sequence[tuple[StudyRecord, Sequence[RunRecord]]]


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that the site shows; a figure is in figures/NAME.svg below it.

    studies: stored evidence. here: what this machine has just run.
    artifacts: the folder of a run's files to look at, for each that has one.
    places: file and line of each run by its id, and of each study by its key.
    problems: records that could not be read, in words; `write_site` adds those that it
        could not show.
    """

    verdicts: Sequence[Verdict]
    figures: Sequence[FigureRecord]
    studies: Studies
    artifacts: Mapping[str, Path] = field(default_factory=dict[str, Path])
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: list[str] = field(default_factory=list[str])
    here: Studies = ()


@dataclass(frozen=True, slots=True)
class SiteFigure:
    """A figure; the paths of its picture and its records, relative to the pages."""

    about: FigureRecord
    picture: str
    records: str
    places: tuple[str, ...]


def write_site(
    out: Path,
    content: Content,
    *,
    missing: Sequence[str],
    about: Mapping[str, Any],
    each: Each = map,
) -> Path:
    """Write all pages and the records beside them; return the start page's path.

    A figure without a picture is named among what is missing.

    Args:
        missing: what was not run, and why.
        about: facts about the whole: "command", "scale", "time", "wall_seconds",
            "machine", "commit", "versions" …; the clock is not read here, so that the
            same records give the same bytes.
        each: calls a function for every study, here or in other processes: drawing is
            what takes long.
    """
    figures = [_figure(out, figure) for figure in content.figures]
    shown = [figure for figure in figures if figure.picture]
    lost = [figure.about for figure in figures if not figure.picture]
    prepare = PrepareStudy(out, content.artifacts, content.places)
    stored = [(study, runs, False) for study, runs in content.studies]
    fresh = [(study, runs, True) for study, runs in content.here]
    sections = list(each(prepare, [*stored, *fresh]))
    studies = study_pages(sections)
    content.problems.extend(line for one in sections for line in one.problems)
    results = _results(studies, shown, content.verdicts)
    if content.verdicts:
        write(out / "verdicts.jsonl", content.verdicts)
    given: dict[str, Any] = {
        "about": _about(about),
        "owners": group_claims(content.verdicts),
        "claims": {v.claim: v for v in content.verdicts},
        "results": results,
        "figures": shown,
        "studies": studies,
        "pictures": {one.found.key: one.figures for one in sections},
        "places": _places(),
        "problems": content.problems,
        "missing": [
            *missing,
            *(f"figure {f.name} ({f.place}): no file" for f in lost),
            *(f"{s.record.title}: {why}" for s in sections for why in s.missing),
        ],
    }
    pages = _render(given, studies)
    write_explorer(out, home="index.html")
    # The start page last: it is there when all that it leads to is.
    for name in sorted(pages, key=lambda name: name == "index.html"):
        files.write(out / name, pages[name])
    return out / "index.html"


def _render(given: Mapping[str, Any], studies: Sequence[StudyPage]) -> dict[str, str]:
    made = _environment()
    names = ["index.html", "about.html", "paper.html"]
    names += [
        page
        for page, key in (
            ("claims.html", "owners"),
            ("studies.html", "studies"),
            ("figures.html", "figures"),
        )
        if given[key]
    ]
    everywhere = {**given, "pages": frozenset(names)}
    pages = {
        name: made.get_template(name).render(**everywhere, here=name) for name in names
    }
    template = made.get_template("study.html")
    for study in studies:
        pages[study.lead.found.page] = template.render(
            **everywhere, here="studies.html", study=study
        )
    return pages


def _environment() -> Environment:
    made = environment()
    ours: dict[str, Callable[..., Any]] = {
        "url": quote,
        "key": files.key_of,
        "display": display,
        "anywhere": _breakable,
        "printed": paper_words,
        "swatch": optimizer_of,
    }
    made.filters.update(ours)  # pyright: ignore[reportUnknownMemberType]
    style = made.get_template("style.css").render() + _colours()
    made.globals.update(  # pyright: ignore[reportUnknownMemberType]
        style=Markup(style),
        # From disk a browser may give every file an origin, which 'self' is not.
        policy=policy("'self' file: data:", style=style),
        kind_words=KIND_WORDS,
        optimizers=OPTIMIZERS,
        published_about=published_about(),
    )
    return made


def _colours() -> str:
    """One colour for each optimizer, also on a dark page."""
    light = "".join(
        f".o-{name}{{background:{colour}}}\n"
        for name, (_, colour) in OPTIMIZERS.items()
    )
    dark = "".join(
        f".o-{name}{{background:{for_dark(colour)}}}\n"
        for name, (_, colour) in OPTIMIZERS.items()
        if for_dark(colour) != colour
    )
    return f"{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def _results(
    studies: Sequence[StudyPage],
    figures: Sequence[SiteFigure],
    verdicts: Sequence[Verdict],
) -> list[EntryResult]:
    by_name = {
        study.lead.record.name: [section.found for section in study.sections]
        for study in studies
    }
    shown = {figure.about.name: figure.about for figure in figures}
    known = {verdict.claim: verdict for verdict in verdicts}
    return [entry_result(entry, by_name, shown, known) for entry in entries()]


def _places() -> dict[str, list[PaperEntry]]:
    """Where the paper has a study."""
    places: dict[str, list[PaperEntry]] = {}
    for entry in entries():
        for name in entry.studies:
            places.setdefault(name, []).append(entry)
    return places


def _about(about: Mapping[str, Any]) -> dict[str, str]:
    """Every fact in words; wall_seconds as a time a person can read."""
    facts: dict[str, str] = {}
    for name, value in about.items():
        if value in (None, "", {}, []):
            continue
        is_wall = name == "wall_seconds"
        key = "time taken" if is_wall else name.replace("_", " ")
        facts[key] = duration(float(value)) if is_wall else words(value)
    return facts


def _figure(out: Path, figure: FigureRecord) -> SiteFigure:
    """Where its files are; empty for one that is not there."""

    def there(*names: str) -> str:
        return "/".join(names) if files.below(out, *names).is_file() else ""

    picture = there("figures", f"{figure.name}.svg")
    picture = picture or there("figures", f"{figure.name}.png")
    records = there("figures", "records", f"{figure.name}.jsonl")
    places = tuple(entry.label for entry in entries() if figure.name in entry.figures)
    return SiteFigure(figure, picture, records, places)


def _breakable(text: str) -> list[str]:
    """Pieces between which a long word may break."""
    return re.split(r"(?<=[-_/])", text)
