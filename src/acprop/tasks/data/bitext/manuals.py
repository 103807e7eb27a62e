"""LibreOffice's help: the same page in every language, paragraphs with the same id."""

import re
from collections import Counter
from collections.abc import Iterator

from acprop.tasks.data.bitext.catalogs import Pair

# The pages are made by a program, every paragraph on one line and never nested.
PARAGRAPH = re.compile(r'<p id="(par_\w+)"[^>]*>(.*?)</p>', re.DOTALL)
PAGE = re.compile(
    r"usr/share/libreoffice/help/(?P<language>[\w-]+)/(?P<page>.+\.html)$"
)


def paragraphs(page: bytes) -> dict[str, str]:
    """The text of each paragraph, still with its tags; no id that comes twice."""
    found = PARAGRAPH.findall(page.decode("utf-8", errors="replace"))
    times = Counter(name for name, _ in found)
    return {name: text for name, text in found if times[name] == 1}


def aligned(english: bytes, other: bytes) -> Iterator[Pair]:
    """Paragraphs that both pages have."""
    ours, theirs = paragraphs(english), paragraphs(other)
    for name, text in ours.items():
        if name in theirs:
            yield text, theirs[name]
