"""ARCHITECTURE.md is a map: every module stands on it once, and nothing else does."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "acprop"
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
# What every package has, and what pytest, Python and readers do not look for.
UNNAMED = {"__init__.py", "__main__.py"}


def sections():
    """The text below each heading; what comes before the first has none."""
    parts = re.split(r"^## (.*)\n", TEXT, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def rooms_with_a_table():
    return {name for heading in sections() for name in quoted(heading)}


def named_files():
    """Every module of the tables: by its path, or with all others of its folder.

    A path begins at the package, at a folder of the heading, or where the last one was.
    """
    for heading, text in sections().items():
        for line in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE):
            starts = [*quoted(heading), ""]
            for name in quoted(line):
                known = [Path(s) / name for s in starts if (SOURCE / s / name).exists()]
                path = known[0] if known else Path(name)
                starts.insert(0, str(path.parent))
                if not (SOURCE / path).is_dir():
                    yield str(path)
                elif heading or name not in rooms_with_a_table():
                    found = sorted((SOURCE / path).glob("*.py"))
                    yield from (str(f.relative_to(SOURCE)) for f in found)


def test_every_module_is_named_once_and_no_other():
    modules = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.name not in UNNAMED
    }
    named = Counter(name for name in named_files() if Path(name).name not in UNNAMED)
    assert named.keys() - modules == set()
    assert modules - named.keys() == set()
    assert {name for name, n in named.items() if n > 1} == set()


@pytest.mark.parametrize("heading", ["Follow one gradient", "Follow one record"])
def test_a_walk_goes_from_file_to_file(heading):
    steps = re.findall(r"^(\d+)\. (.*)", sections()[heading], re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    for _, step in steps:
        (place, *_) = [name for name in quoted(step) if "/" in name or "." in name]
        assert (SOURCE / place).is_file() or (ROOT / place).is_file(), place
