"""Check every link of built pages, without a network.

    python scripts/links.py build/docs

A link to a file must find it, and a fragment its id; exit 1 and a line for each that
does not. Links to elsewhere are not fetched: they are listed in links.txt beside the
pages, with the pages that have them.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ATTRIBUTES = ("href", "src")
# The explorer reads its fragment itself: a setting, no place on the page.
SETTINGS = "="


class Page(HTMLParser):
    """The ids of a page, and where it links to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ATTRIBUTES and value:
                self.links.append(value)


def check(root: Path) -> tuple[list[str], dict[str, set[str]]]:
    """What is broken, in words; and the pages by the address elsewhere they link to."""
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    known = {path.resolve(): page for path, page in pages.items()}
    broken: list[str] = []
    elsewhere: dict[str, set[str]] = {}
    for path, page in pages.items():
        here = path.relative_to(root).as_posix()
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                elsewhere.setdefault(link, set()).add(here)
            elif not parts.scheme:  # no data: of a page itself
                why = _why_broken(known, path, unquote(parts.path), parts.fragment)
                broken += [f"{here}: {link}: {why}"] if why else []
    return broken, elsewhere


def _why_broken(known: dict[Path, Page], path: Path, to: str, fragment: str) -> str:
    target = (path.parent / to).resolve() if to else path.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "no such file"
    page = known.get(target)
    if page is None or not fragment or SETTINGS in fragment:
        return ""
    return "" if unquote(fragment) in page.ids else "no such place on the page"


def main() -> None:
    root = Path(sys.argv[1])
    broken, elsewhere = check(root)
    listed = [
        f"{link}  {' '.join(sorted(on))}" for link, on in sorted(elsewhere.items())
    ]
    (root / "links.txt").write_text("\n".join(listed) + "\n", "utf-8")
    print(f"{len(elsewhere)} links to elsewhere, not fetched: {root}/links.txt")
    if broken:
        sys.exit("\n".join(broken))


if __name__ == "__main__":
    main()
