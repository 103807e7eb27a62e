"""TOML files that people write: a mistake is named by its file and its key."""

import tomllib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from acprop import checks
from acprop.checks import UserError


class Strict(BaseModel):
    """What a file may say: these keys, these types, and nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


S = TypeVar("S", bound=Strict)


def load(path: Path, kind: type[S], name: str, check: Callable[[S], object]) -> S:
    """Read a file, or say what is wrong with it.

    Args:
        name: of the file, for messages.
        check: raises a ValueError, or a TypeError, about what types do not show.
    """
    try:
        made = kind(**tomllib.loads(path.read_bytes().decode("utf-8")))
        check(made)
    except UnicodeDecodeError as error:
        raise UserError(f"{name} must be in UTF-8, got {error}") from error
    except ValidationError as error:
        found = "; ".join(_mistake(item, kind) for item in error.errors())
        raise UserError(f"{name} must be a valid file, got {found}") from error
    except (ValueError, TypeError, RecursionError) as error:  # also TOML's, by its line
        raise UserError(f"{name} must be a valid file, got {error}") from error
    return made


@contextmanager
def at(*place: str | int) -> Generator[None]:
    """Name the key of what is refused within: arms[0]: lr must be …"""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise UserError(f"{_key_path(place)}: {error}") from error


def _key_path(place: tuple[str | int, ...]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return "".join(parts).removeprefix(".")


def _mistake(item: Any, kind: type[Strict]) -> str:
    place, words = item["loc"], item["msg"]
    if item["type"] == "literal_error":
        words += checks.meant(item["input"], item["ctx"]["expected"].split("'"))
    if place[-1:] == ("[key]",):  # the name of a key, where a table may have some only
        place = place[:-1]
    if item["type"] == "extra_forbidden":
        schema = kind.model_json_schema()
        tables = [schema, *schema.get("$defs", {}).values()]
        keys = {key for table in tables for key in table.get("properties", {})}
        words = f"no such key{checks.meant(item['loc'][-1], keys)}"
    return f"{_key_path(place)}: {words}"
