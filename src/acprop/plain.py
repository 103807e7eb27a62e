"""Plain values: what JSON can say, and nothing else."""

import json
import math
from collections.abc import Mapping
from functools import cache
from reprlib import repr as brief
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

Plain = dict[str, Any]
T = TypeVar("T")
_FEW = 3  # mistakes that are told of one text


def checked(kind: type[T], text: str | bytes) -> T:
    """JSON as a value of this kind, its types as they are declared; else a ValueError.

    However deep its brackets are, it is read or refused.
    """
    try:
        return _adapter(kind).validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False)
        words = [_mistake(item) for item in found[:_FEW]]
        words += ["…"] if len(found) > _FEW else []
        raise ValueError("; ".join(words)) from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _mistake(item: Any) -> str:
    name = ".".join(map(str, item["loc"])) or "it"
    match item["type"]:
        case "json_invalid":
            return f"it is cut off or no JSON ({item['ctx']['error']})"
        case "missing":
            return f"{name} must be there, got none"
        case "unexpected_keyword_argument":
            return f"{name} must not be there: no such field"
        case _:
            rule = item["msg"].removeprefix("Value error, ")
            rule = rule.replace("Input should", "must").replace("String should", "must")
            return f"{name} {rule}, got {brief(item['input'])}"


def jsonable(value: Any) -> Any:
    """Plain values with NaN and ∞ as null, which JSON has neither of."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        table = cast(Mapping[str, Any], value)
        return {key: jsonable(item) for key, item in table.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in cast(list[Any], value)]
    return value


def to_line(value: Any) -> str:
    """One line of JSON, with NaN and ∞ as null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError):  # the way that takes longer, and is seldom needed
        return json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False)


def canonical(value: Any) -> str:
    """The one text of equal values: keys sorted, no spaces, numbers as floats.

    1 and 1.0 are the same learning rate, so they have the same text. NaN, ∞ and what
    JSON does not know are refused.
    """
    return json.dumps(
        _normal(value), sort_keys=True, separators=(",", ":"), allow_nan=False
    )


def _normal(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Mapping):
        table = cast(Mapping[str, Any], value)
        return {key: _normal(item) for key, item in table.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in cast(list[Any], value)]
    raise TypeError(f"{value!r} is not a JSON value")
