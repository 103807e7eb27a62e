"""The code that decides a result, as one hash: a change elsewhere redoes nothing."""

import ast
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parent
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def digest(*modules: str, package: Path = _PACKAGE) -> str:
    """The hash of these modules and all of ours that they import.

    Of their code without comments and docstrings, and the JSON, TOML and C beside them.
    """
    found: dict[Path, str] = {}
    waiting = list(modules)
    while waiting:
        file = _file(package, waiting.pop())
        if file is None or file in found:
            continue
        tree = ast.parse(file.read_bytes())
        waiting += _imported(tree)
        found[file] = _code(tree)
        for data in file.parent.iterdir():
            if data.suffix in {".json", ".toml"}:
                found[data] = data.read_text("utf-8")
            elif data.suffix in {".c", ".h", ".inc"}:
                code = _C_COMMENT.sub("", data.read_text("utf-8"))
                found[data] = " ".join(code.split())
    parts = [(f.relative_to(package).as_posix(), found[f]) for f in sorted(found)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _file(package: Path, module: str) -> Path | None:
    """None if it is not ours, is no module, or is `acprop`, which loads lazily."""
    first, *rest = module.split(".")
    place = package.joinpath(*rest)
    files = (place / "__init__.py", place.with_suffix(".py"))
    is_ours = first == "acprop" and rest
    return next((file for file in files if is_ours and file.is_file()), None)


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _code(tree: ast.AST) -> str:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            del node.body[0]
    return ast.dump(tree)
