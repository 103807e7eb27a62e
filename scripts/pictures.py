"""Take the pictures of the documents, from the records in results/.

python scripts/pictures.py docs/figures           those of README and docs
python scripts/pictures.py --all build/pictures   every page and view of the
                                                  explorer, wide and narrow, light
                                                  and dark
"""

import argparse
import tempfile
from itertools import product
from pathlib import Path

import browser
import effects_picture
import interval_picture

from acprop.records import RunRecord, StudyRecord, read
from acprop.report.figures import draw
from acprop.report.studies import gather
from acprop.report.study_figures import study_figures
from acprop.reproduce.pages import build_page

RESULTS = Path(__file__).resolve().parents[1] / "results"
# A page, from which part of it on, how wide and how high; and a study's
# figure, by its kind.
SHOWN = {
    "site-start": ("index.html", "against", 1080, 790),
    "site-paper": ("paper-fig-9.html", "", 1080, 1180),
    "site-claims": ("claims.html", "claim-theorem-4.1-as-printed", 1080, 560),
    "explorer": ("explorer.html", "", 1280, 1010),
}
DRAWN = {
    "dqn-four-rooms": ("rl/dqn-four-rooms-small.jsonl", "curves"),
    "dial": ("corners/dial-small-tuned.jsonl", "sensitivity"),
}
VIEWS = {
    "explorer-sparse": "explorer.html#problem=sparse&P=12&beta2=0.6&focus=adashift"
    "&show=acprop,acprop-paper,adashift,adam",
    "explorer-hazard": "explorer.html#view=hazard",
}
# What stands before a part of the page is left out.
FROM = (
    "document.querySelectorAll('.top, .skip').forEach(e => e.remove());"
    "for (let e = document.getElementById(arguments[0]); e.id !== 'content';"
    "     e = e.parentElement)"
    "  while (e.previousElementSibling) e.previousElementSibling.remove();"
)
# Pictures further down are loaded only when they are seen.
LOAD = (
    "document.querySelectorAll('img').forEach(i => i.loading = 'eager');"
    "const all = [...document.images].map(i => i.decode().catch(() => 0));"
    "Promise.all(all).then(arguments[0]);"
)


def take(driver, address, path, part="", width=1280, height=None, *, dark=False):
    driver.get("about:blank")  # else another fragment of a page is no other page
    browser.look(driver, width=width, dark=dark)
    driver.get(address)
    if part:
        driver.execute_script(FROM, part)
    driver.execute_async_script(LOAD)
    browser.settle(driver)
    browser.picture(driver, path, height=height)


def draw_studies(to: Path) -> None:
    for name, (file, kind) in DRAWN.items():
        study, *runs = read(RESULTS / file)
        assert isinstance(study, StudyRecord)
        found = gather(study, [run for run in runs if isinstance(run, RunRecord)])
        title = f"{study.title} ({study.scale} scale)"
        draw(study_figures(found)[kind], to / f"{name}.png", title=title)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("to", type=Path)
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser.opened() as driver:
        site = build_page([RESULTS], Path(folder)).page.parent
        if not given.all:
            interval_picture.draw(given.to / "compared.png")
            effects_picture.draw(given.to / "effects.png")
            draw_studies(given.to)
            for name, (page, *how) in SHOWN.items():
                take(driver, f"{site.as_uri()}/{page}", given.to / f"{name}.png", *how)
            return
        pages = {page.stem: page.name for page in sorted(site.glob("*.html"))} | VIEWS
        for (name, page), width, dark in product(
            pages.items(), (1280, 360), (False, True)
        ):
            path = given.to / f"{name}-{width}-{'dark' if dark else 'light'}.png"
            take(driver, f"{site.as_uri()}/{page}", path, width=width, dark=dark)


if __name__ == "__main__":
    main()
