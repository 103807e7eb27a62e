"""The site: everything that was run, and what was not, in static HTML files.

They need no network, no server and, but for the explorer, no script. What they say
comes from records, which lie beside them; the same records give the same bytes.

    out/index.html             the start: what stands, what was not run, where and how
    out/paper.html             every table and figure of the paper; each has a page,
                               paper-NAME.html, with ours
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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from acprop import files
from acprop.records import FigureRecord, write
from acprop.report.claim_groups import KIND_WORDS, group_claims
from acprop.report.collect import Content
from acprop.report.evidence import evidence_of
from acprop.report.explorer import write_explorer
from acprop.report.figures import image_sizes
from acprop.report.headline import effects, findings, reach
from acprop.report.paper import PaperEntry, entries, published_about
from acprop.report.paper_entries import entry_result
from acprop.report.questions import QUESTIONS
from acprop.report.sentences import SENTENCES
from acprop.report.study_pages import (
    GivenStudy,
    PrepareStudy,
    StudySection,
    by_page,
    replaced_by,
    searched_settings,
)
from acprop.report.style import OPTIMIZERS, display, for_dark, optimizer_of
from acprop.report.templating import environment, policy
from acprop.report.words import duration, plain_words

Each = Callable[[PrepareStudy, Sequence[GivenStudy]], Iterable[StudySection]]
# `make docs` puts the site below its own pages; Sphinx leaves its mark there.
DOCS, MARK = "../index.html", "objects.inv"
# In the order of the navigation; one that is not written is left out.
PAGES = {
    DOCS: "Documentation",
    "index.html": "Results",
    "paper.html": "Paper versus ours",
    "claims.html": "Claims",
    "studies.html": "Studies",
    "figures.html": "Figures",
    "explorer.html": "Explorer",
    "about.html": "How to read this",
}


class SiteFigure(NamedTuple):
    """A figure; the paths of its picture and its records, relative to the pages."""

    about: FigureRecord
    picture: str
    records: str
    places: tuple[str, ...]
    sizes: Sequence[tuple[int, int]]


def write_site(
    out: Path, content: Content, *, about: Mapping[str, Any], each: Each = map
) -> Path:
    """Write all pages and the records beside them; return the start page's path.

    A figure without a picture is named among what is missing, and what cannot be shown
    is added to the problems of the content.

    Args:
        about: facts about the whole: "command", "scale", "time", "wall_seconds",
            "machine", "commit", "versions" …; the clock is not read here, so that the
            same records give the same bytes.
        each: calls a function for every study, here or in other processes: drawing is
            what takes long.
    """
    figures = [_figure(out, figure) for figure in content.figures]
    shown = [figure for figure in figures if figure.picture]
    lost = [figure.about for figure in figures if not figure.picture]
    given_studies = [
        *(GivenStudy(study, runs) for study, runs in content.studies),
        *(GivenStudy(study, runs, is_here=True) for study, runs in content.here),
    ]
    searched = searched_settings(given_studies)
    given_studies = [
        one._replace(searched=searched.get(one.study.name, ())) for one in given_studies
    ]
    prepare = PrepareStudy(out, content.artifacts, content.places)
    sections = list(each(prepare, given_studies))
    content.problems.extend(line for one in sections for line in one.problems)
    seen = evidence_of(one.found for one in sections)
    verdicts = [*content.verdicts]
    if seen.studies:
        verdicts += [one.verdict(seen) for one in (*SENTENCES, *QUESTIONS)]
    if verdicts:
        write(out / "verdicts.jsonl", verdicts)
    studies = by_page(sections)
    by_name = {s[0].record.name: [one.found for one in s] for s in studies.values()}
    named = {figure.about.name: figure.about for figure in shown}
    claims = {verdict.claim: verdict for verdict in verdicts}
    owners, against = group_claims(verdicts), effects(studies)
    given: dict[str, Any] = {
        "about": _about(about),
        "owners": owners,
        "effects": against,
        "reach": reach(against),
        "findings": findings(against, studies, owners, claims),
        "results": [entry_result(e, by_name, named, claims) for e in entries()],
        "figures": shown,
        "studies": studies,
        "replaced": replaced_by(studies),
        "sections": {one.found.key: one for one in sections},
        "n_done": sum(one.found.n_done for one in sections),
        "places": _places(),
        "problems": content.problems,
        "missing": [
            *content.missing,
            *(f"figure {f.name} ({f.place}): no file" for f in lost),
            *(f"{s.record.title}: {why}" for s in sections for why in s.missing),
        ],
    }
    has_docs = (out.parent / MARK).is_file()
    pages = _render(given, has_docs=has_docs)
    write_explorer(out, _navigation(pages, has_docs=has_docs))
    # The start page last: it is there when all that it leads to is.
    for name in sorted(pages, key=lambda name: name == "index.html"):
        files.write(out / name, pages[name])
    return out / "index.html"


def _navigation(names: Collection[str], *, has_docs: bool) -> dict[str, str]:
    known = {*names, "explorer.html", *([DOCS] if has_docs else [])}
    return {page: title for page, title in PAGES.items() if page in known}


def _render(given: Mapping[str, Any], *, has_docs: bool) -> dict[str, str]:
    made = _environment()
    optional = {"claims": "owners", "studies": "studies", "figures": "figures"}
    names = ["index.html", "about.html", "paper.html"]
    names += [f"{page}.html" for page, key in optional.items() if given[key]]
    everywhere = {**given, "pages": _navigation(names, has_docs=has_docs)}
    pages = {
        name: made.get_template(name).render(**everywhere, here=name) for name in names
    }
    template = made.get_template("study.html")
    for page, study in given["studies"].items():
        pages[page] = template.render(**everywhere, here="studies.html", study=study)
    template = made.get_template("entry.html")
    results = given["results"]
    for before, a, after in zip(
        [None, *results[:-1]], results, [*results[1:], None], strict=True
    ):
        around = {"a": a, "before": before, "after": after}
        name = f"paper-{a.entry.id}.html"
        pages[name] = template.render(**everywhere, here="paper.html", **around)
    return pages


def _environment() -> Environment:
    made = environment()
    ours: dict[str, Callable[..., Any]] = {
        "url": quote,
        "key": files.key_of,
        "display": display,
        # Pieces between which a long word may break.
        "anywhere": re.compile(r"(?<=[-_/])").split,
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
    light, dark = (
        "".join(
            f".o-{name}{{background:{shade(colour)}}}\n"
            for name, (_, colour) in OPTIMIZERS.items()
        )
        for shade in (str, for_dark)
    )
    return f"{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def _places() -> dict[str, list[PaperEntry]]:
    """Where the paper has a study."""
    places: dict[str, list[PaperEntry]] = {}
    for entry in entries():
        for name in entry.studies:
            places.setdefault(name, []).append(entry)
    return places


def _about(about: Mapping[str, Any]) -> dict[str, str]:
    """Every fact in words; wall_seconds as a time a person can read."""
    facts = {name.replace("_", " "): plain_words(v) for name, v in about.items() if v}
    if facts.pop("wall seconds", None):
        facts["time taken"] = duration(float(about["wall_seconds"]))
    return facts


def _figure(out: Path, figure: FigureRecord) -> SiteFigure:
    """Where its files are; empty for one that is not there."""

    def there(*names: str) -> str:
        return "/".join(names) if files.below(out, *names).is_file() else ""

    picture = there("figures", f"{figure.name}.svg")
    picture = picture or there("figures", f"{figure.name}.png")
    sizes = image_sizes(out / picture) if picture else []
    records = there("figures", "records", f"{figure.name}.jsonl")
    places = tuple(entry.label for entry in entries() if figure.name in entry.figures)
    return SiteFigure(figure, picture, records, places, sizes)
