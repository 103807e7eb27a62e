"""Pictures of the site, for the documents and for whoever changes it.

    python scripts/draw_site.py docs/figures
    python scripts/draw_site.py --all build/pictures --records results build/reproduce

The first builds the site from results/ and takes the two pictures of the README; the
second takes every page, light and dark, wide and narrow.
"""

import argparse
import tempfile
from itertools import product
from pathlib import Path

import browser

from acprop.reproduce.pages import build_page

# Of the README: a page, where on it to begin, and how high the picture is.
SHOWN = {
    "site-paper": ("paper.html#fig-9", 1120),
    "site-claims": ("claims.html#claim-theorem-4.1-as-printed", 560),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("to", type=Path)
    parser.add_argument("--records", type=Path, nargs="+", default=[Path("results")])
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser.opened() as driver:
        site = build_page(given.records, Path(folder)).page.parent
        if given.all:
            take_all(driver, site, given.to)
            return
        for name, (page, height) in SHOWN.items():
            browser.look(driver, width=1080)
            driver.get(f"{site.as_uri()}/{page}")
            take_from(driver, given.to / f"{name}.png", page.partition("#")[2], height)


def take_from(driver, path: Path, part: str, height: int) -> None:
    """The page from a part of it on: what stands before is left out."""
    driver.execute_script(
        "const part = document.getElementById(arguments[0]);"
        "document.querySelectorAll('.top, .skip').forEach(e => e.remove());"
        "for (let e = part; e.id !== 'content'; e = e.parentElement)"
        "  while (e.previousElementSibling) e.previousElementSibling.remove();",
        part,
    )
    load(driver)
    browser.picture(driver, path, height=height)


def load(driver) -> None:
    """Pictures further down are loaded only when they are seen."""
    driver.execute_async_script(
        "document.querySelectorAll('img').forEach(i => i.loading = 'eager');"
        "const all = [...document.images].map(i => i.decode().catch(() => 0));"
        "Promise.all(all).then(arguments[0]);"
    )
    browser.settle(driver)


def take_all(driver, site: Path, to: Path) -> None:
    for page, width, dark in product(
        sorted(site.glob("*.html")), (1280, 360), (False, True)
    ):
        browser.look(driver, width=width, dark=dark)
        driver.get(page.as_uri())
        load(driver)
        name = f"{page.stem}-{width}-{'dark' if dark else 'light'}.png"
        browser.picture(driver, to / name)


if __name__ == "__main__":
    main()
