"""Names a stranger understands: one class, one name; no word that is a riddle."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "acprop"
PYTHON = sorted(SOURCE.rglob("*.py"))
KINDS = {".py", ".js", ".html", ".css", ".c", ".h", ".inc", ".toml"}
# Not even in a sentence: what is meant has a name (STYLE: plain English).
NOWHERE = re.compile(
    r"\bjudg(e|es|ed|ing|e?ment|e?ments)\b|\b(asked|said|kicks?|kicked)\b"
    r"|\b(hears?|heard) of\b|\bHyper\b",
    re.IGNORECASE,
)
HYPHENATED = re.compile(r"hyper-parameter", re.IGNORECASE)
# Words of a sentence, not of a name.
NOT_IN_A_NAME = {"judge", "judged", "asked", "said", "told", "tell", "kick", "hyper"}


def words_of(name: str) -> set[str]:
    """judged_by, JudgedBy → judged, by."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def names_in(text: str) -> set[str]:
    """All names of a Python file, without its comments and strings."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


def test_no_public_class_has_the_name_of_another():
    places = defaultdict(list)
    for file in PYTHON:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(file.relative_to(SOURCE)))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert twice == {}


def test_no_name_is_a_riddle():
    found = {
        (str(file.relative_to(SOURCE)), name)
        for file in PYTHON
        for name in names_in(file.read_text("utf-8"))
        if words_of(name) & NOT_IN_A_NAME
    }
    assert found == set()


def test_no_function_is_called_whole():
    """An integer, a full tensor, a complete file: each has a word of its own."""
    found = {
        str(file.relative_to(SOURCE))
        for file in PYTHON
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == "whole"
    }
    assert found == set()


def test_no_sentence_speaks_in_riddles():
    found = []
    for file in sorted(SOURCE.rglob("*")):
        if file.suffix not in KINDS:
            continue
        lines = file.read_text("utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if NOWHERE.search(HYPHENATED.sub("", line)):
                found.append(f"{file.relative_to(SOURCE)}:{number}: {line.strip()}")
    assert found == []
