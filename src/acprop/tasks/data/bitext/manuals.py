"""LibreOffice's help: the same page in every language, paragraphs with the same id."""

import re
from collections import Counter
from collections.abc import Iterator

from acprop.tasks.data.bitext.catalogs import Pair

PAGE = re.compile(
    r"usr/share/libreoffice/help/(?P<language>[\w-]+)/(?P<page>.+\.html)$"
)
# The pages are made by a program, and paragraphs are never nested.
PARAGRAPH = re.compile(r'<p id="(par_\w+)"[^>]*>(.*?)</p>', re.DOTALL)
# What is shown on a Mac only, before what is shown elsewhere; one span deep.
MAC_ONLY = re.compile(
    r'<span hidden="true"[^>]*class="MAC"[^>]*>'
    r"(?:[^<]|<(?!/?span)[^>]*>|<span[^>]*>[^<]*</span>)*</span>"
)
# What is shown in one program only: the text of all of them makes no sentence.
ONE_PROGRAM = re.compile(r'<span hidden="true"[^>]*class="[A-Z]+"')


def paragraphs(page: bytes) -> dict[str, str]:
    """The text of each paragraph, still with its tags; no id that comes twice."""
    found = PARAGRAPH.findall(page.decode("utf-8", errors="replace"))
    times = Counter(name for name, _ in found)
    texts = {name: MAC_ONLY.sub("", text) for name, text in found if times[name] == 1}
    return {name: t for name, t in texts.items() if not ONE_PROGRAM.search(t)}


def aligned(english: bytes, other: bytes) -> Iterator[Pair]:
    """Paragraphs that both pages have."""
    ours, theirs = paragraphs(english), paragraphs(other)
    for name, text in ours.items():
        if name in theirs:
            yield text, theirs[name]
