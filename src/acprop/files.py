"""Files that are whole or not there, however the process that writes them ends."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PARTS = ".*.part"  # what a killed process may leave in a folder


@contextmanager
def replacing(path: Path) -> Generator[IO[bytes]]:
    """Open a file that takes the place of `path` once all of it is on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of this process's own: another may be writing the same file.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def check_folder(name: str, path: Path) -> None:
    """Refuse a path at which no folder can be: it, or one above it, is a file."""
    for part in (path, *path.parents):
        if part.exists() and not part.is_dir():
            raise ValueError(f"{name} must be a folder, got the file {part}")


def write(path: Path, content: str | bytes) -> None:
    """Write a whole file, text in UTF-8."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
