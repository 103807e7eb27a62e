"""The pages of reference, made from what they describe; scripts/tables.py writes them.

The command line from typer's tree, records from their dataclasses, a study's file from
the models that read it. What a docstring says of a field stands above its table.
"""

import inspect
import types
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typing_extensions import is_typeddict

from acprop import records
from acprop.bench import studies
from acprop.cli.app import app
from acprop.metrics import Metric
from acprop.report.tables import TextTable, markdown

WORDS = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Any: "any value",
    type(None): "null",
}
HEAD = ("field", "type", "if left out")


def cli() -> str:
    """Every command: what it does, how it is called, its options."""
    root = typer.main.get_command(app)
    return "\n".join(_commands("acprop", root))


def _commands(path: str, command: Any) -> Iterator[str]:
    context = command.make_context(path, [], resilient_parsing=True)
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            yield from _commands(f"{path} {name}", found)
        return
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## {path}\n\n{inspect.cleandoc(command.help or '')}\n"
    yield f"```text\n{path} {usage}\n```\n"
    rows = [_option(p) for p in command.params if p.name != "help"]
    if rows:
        yield _table(("option", "meaning", "default"), rows)


def _option(param: Any) -> tuple[str, ...]:
    is_option = param.param_type_name == "option"
    name = " ".join(param.opts) if is_option else param.metavar or param.name.upper()
    value = param.default
    is_plain = isinstance(value, str | int | float | Path) and value is not False
    shown = "required" if param.required else f"`{value}`" if is_plain else ""
    return f"`{name}`", getattr(param, "help", None) or "", shown


def record_types() -> str:
    """Every kind of line, and the values that stand within one."""
    kinds = [
        kind
        for _, kind in inspect.getmembers(records, is_dataclass)
        if kind.__module__ == records.__name__
    ]
    lines = [kind for kind in kinds if hasattr(kind, "record")]
    within = [kind for kind in kinds if not hasattr(kind, "record")]
    parts = [_kind(f'"record": "{kind.record}"', kind) for kind in lines]
    parts += [
        _kind(f"within a line: {kind.__name__}", kind) for kind in (*within, Metric)
    ]
    return "\n".join(parts)


def _kind(title: str, kind: Any) -> str:
    rows = [(f"`{f.name}`", _type(f.type), _default(f)) for f in fields(kind)]
    return f"## {title}\n\n{_doc(kind)}\n{_table(HEAD, rows)}"


def _default(field: Any) -> str:
    if field.default_factory is not MISSING:
        return "empty"
    return "required" if field.default is MISSING else _value(field.default)


def study_file() -> str:
    """The keys of a study's file, table by table."""
    tables = {
        "the file itself": studies.Study,
        "`[[arms]]`": studies.StudyArm,
        "`[scales.NAME]`": studies.Scale,
        "`tuning`, in a scale": studies.Tuning,
    }
    parts: list[str] = []
    for title, model in tables.items():
        rows = [
            (
                f"`{name}`",
                _type(field.annotation),
                "required" if field.is_required() else _value(_filled(field)),
            )
            for name, field in model.model_fields.items()
        ]
        parts.append(f"## {title}\n\n{_doc(model)}\n{_table(HEAD, rows)}")
    return "\n".join(parts)


def _filled(field: Any) -> Any:
    return field.get_default(call_default_factory=True)


def _value(value: Any) -> str:
    if value in (None, "") or isinstance(value, studies.Strict | dict | list | tuple):
        return f"`{value}`" if isinstance(value, list) and value else "empty"
    return f'`"{value}"`' if isinstance(value, str) and value else f"`{value!r}`"


def _type(kind: Any) -> str:
    """A type in a reader's words: list of number; "higher" or "lower"."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _type(inside[0])
    if origin is Literal:
        return _any_of(f'`"{value}"`' for value in inside)
    if origin in (Union, types.UnionType):
        return _any_of(map(_type, inside))
    if origin is tuple and Ellipsis not in inside:
        return f"list of {len(inside)}: {', '.join(map(_type, inside))}"
    if origin in (list, tuple):
        return f"list of {_type(inside[0])}"
    if origin is dict or kind is dict or is_typeddict(kind):
        return "table"
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _any_of(f'`"{value}"`' for value in kind)
    return WORDS.get(kind) or f"{kind.__name__}, below"


def _any_of(words: Iterable[str]) -> str:
    return " or ".join(words)


def _doc(kind: Any) -> str:
    return f"```text\n{inspect.cleandoc(kind.__doc__)}\n```\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return markdown(TextTable(head, tuple(rows)))
