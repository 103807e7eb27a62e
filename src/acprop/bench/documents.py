"""TOML files that people write: a mistake is told with its file, line and remedy.

tomllib knows no lines. We find them in the text: tables, keys and the keys of tables
within a line, which is all that our files are made of.
"""

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from acprop import checks

Place = tuple[str | int, ...]  # a key as ("arms", 0, "settings", "lr")
_KEY = r'[A-Za-z0-9_-]+|"[^"]*"'
_HEADER = re.compile(rf"^\s*(\[\[?)\s*((?:{_KEY})(?:\s*\.\s*(?:{_KEY}))*)\s*\]")
_ASSIGNMENT = re.compile(rf"^\s*({_KEY})\s*=")
_WITHIN = re.compile(rf"(?:[{{,])\s*({_KEY})\s*=")
_QUOTED = re.compile(r'"[^"]*"' + r"|'[^']*'|#.*")


class Strict(BaseModel):
    """What a file may say: these keys, these types, and nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Mistake(NamedTuple):
    """Where, and what."""

    place: Place
    words: str


S = TypeVar("S", bound=Strict)


def load(
    path: Path,
    kind: type[S],
    *,
    name: str,
    what: str,
    mistakes: Callable[[S], Iterable[Mistake]],
) -> S:
    """Read a file, or say what is wrong with it.

    Args:
        name: of the file, for messages. what: it should be: "study", "space".
        mistakes: those that its types alone do not show.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{name} must be in UTF-8, got another byte: line {line}: {error}"
        ) from error
    try:
        made = kind(**tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # says its line itself
        raise ValueError(f"{name} must be a valid {what}, got {error}") from error
    except ValidationError as error:
        found = [_mistake(item, kind) for item in error.errors()]
        raise ValueError(_told(name, what, text, found)) from error
    if found := list(mistakes(made)):
        raise ValueError(_told(name, what, text, found))
    return made


def line_of(text: str, place: Place) -> int | None:
    """The line of a key, or of the nearest table around it."""
    known = _lines(text)
    for n in range(len(place), 0, -1):
        if place[:n] in known:
            return known[place[:n]]
    return None


def _told(name: str, what: str, text: str, found: Iterable[Mistake]) -> str:
    parts: list[str] = []
    for place, words in found:
        line = line_of(text, place)
        parts.append(words if line is None else f"line {line}: {words}")
    return f"{name} must be a valid {what}, got {'; '.join(parts)}"


def _mistake(item: Any, kind: type[Strict]) -> Mistake:
    place: Place = tuple(item["loc"])
    key = ".".join(map(str, place))
    if item["type"] == "extra_forbidden":
        known = _keys(kind)
        return Mistake(place, f"{key}: no such key{checks.meant(place[-1], known)}")
    # pydantic's own words end without a stop and begin with a capital
    return Mistake(place, f"{key}: {item['msg']}".removeprefix(": "))


def _keys(kind: type[Strict]) -> set[str]:
    """Every key that a file of this kind may have, at any depth."""
    found: set[str] = set()
    for name, field in kind.model_fields.items():
        found.add(field.alias or name)
        for inner in _models(field.annotation):
            found |= _keys(inner)
    return found


def _models(annotation: Any) -> Iterable[type[Strict]]:
    if isinstance(annotation, type) and issubclass(annotation, Strict):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _lines(text: str) -> dict[Place, int]:
    """The line of every table and key."""
    found: dict[Place, int] = {}
    counts: dict[Place, int] = {}  # tables so far, of each array of tables
    table: Place = ()
    depth = 0  # of brackets that are still open
    for number, line in enumerate(text.splitlines(), 1):
        bare = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), line)
        header = _HEADER.match(line) if depth == 0 else None
        assignment = _ASSIGNMENT.match(line) if depth == 0 else None
        if header is not None:
            names = _names(header[2])
            table = _table(names, counts, is_array=header[1] == "[[")
            found.setdefault(table, number)
        elif assignment is not None:
            key = (*table, assignment[1].strip('"'))
            found[key] = number
            for within in _WITHIN.finditer(line):
                found.setdefault((*key, within[1].strip('"')), number)
        if header is None:
            depth += sum(bare.count(c) for c in "[{") - sum(bare.count(c) for c in "]}")
    return found


def _names(dotted: str) -> list[str]:
    return [part.strip('"') for part in re.findall(_KEY, dotted)]


def _table(names: list[str], counts: dict[Place, int], *, is_array: bool) -> Place:
    """The place that a header opens; within an array of tables, of its last."""
    place: Place = ()
    for i, name in enumerate(names):
        place = (*place, name)
        if is_array and i == len(names) - 1:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place
