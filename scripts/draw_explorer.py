"""Pictures of the explorer, for the documents and for whoever changes it.

    python scripts/draw_explorer.py docs/figures/explorer.png
    python scripts/draw_explorer.py --all build/explorer

The second takes both views, light and dark, wide and narrow, as a folder of pictures.
"""

import argparse
import tempfile
from itertools import product
from pathlib import Path

import browser

from acprop.report.explorer import write_explorer

VIEWS = {
    "drift": "",
    "sparse": "#problem=sparse&P=12&beta2=0.6&focus=adashift"
    "&show=acprop,acprop-paper,adashift,adam",
    "hazard": "#view=hazard",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("to", type=Path)
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, browser.opened() as driver:
        address = write_explorer(Path(folder), home="index.html").as_uri()

        def take(path: Path, view: str, **looks) -> None:
            driver.get("about:blank")
            browser.look(driver, **looks)
            driver.get(address + VIEWS[view])
            browser.settle(driver)
            browser.picture(driver, path, height=None if given.all else 1010)

        if not given.all:
            take(given.to, "drift")
            return
        given.to.mkdir(parents=True, exist_ok=True)
        for view, width, dark in product(VIEWS, (1280, 360), (False, True)):
            name = f"{view}-{width}-{'dark' if dark else 'light'}.png"
            take(given.to / name, view, width=width, dark=dark)


if __name__ == "__main__":
    main()
