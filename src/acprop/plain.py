"""Plain values: what JSON can say, and nothing else."""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

Plain = dict[str, Any]


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
