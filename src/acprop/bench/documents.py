"""TOML files that people write: a mistake is named by its file and its key."""

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from acprop import checks
from acprop.checks import UserError

Place = tuple[str | int, ...]  # a key as ("arms", 0, "settings", "lr")


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
    wrong = f"{name} must be a valid {what}, got "
    try:
        made = kind(**tomllib.loads(path.read_bytes().decode("utf-8")))
    except UnicodeDecodeError as error:
        raise UserError(f"{name} must be in UTF-8, got {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # says its line itself
        raise UserError(f"{wrong}{error}") from error
    except ValidationError as error:
        found = [_mistake(item, kind) for item in error.errors()]
        raise UserError(wrong + _in_words(found)) from error
    if found := list(mistakes(made)):
        raise UserError(wrong + _in_words(found))
    return made


def _in_words(found: Iterable[Mistake]) -> str:
    """arms[0].settings.lr: lr must be …; …"""
    return "; ".join(
        f"{_key_path(place)}: {words}" if place else words for place, words in found
    )


def _key_path(place: Place) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return "".join(parts).removeprefix(".")


def _mistake(item: Any, kind: type[Strict]) -> Mistake:
    place: Place = tuple(item["loc"])
    if item["type"] == "extra_forbidden":
        return Mistake(place, f"no such key{checks.meant(place[-1], _keys(kind))}")
    return Mistake(place, item["msg"])


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
