"""Files that are whole or not there, however the process that writes them ends."""

import hashlib
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

PARTS = ".*.part"  # what a killed process may leave in a folder
NAME = r"[a-z0-9][a-z0-9._-]{0,149}"  # what a record may call a file
_MARK = b"sha256:"
_SEAL = len(_MARK) + 65  # bytes: the mark, 64 digits, a newline


class UnsealedError(ValueError):
    """A file ends with no SHA-256."""


@contextmanager
def replacing(path: Path, older: Path | None = None) -> Generator[IO[bytes]]:
    """Open a file that takes the place of `path` once all of it is on disk.

    older: where what was there is kept. Killed between the two renames, a process
    leaves that one alone.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of this process's own: another may be writing the same file.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if older is not None and path.exists():
            os.replace(path, older)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def check_folder(name: str, path: Path) -> None:
    """Refuse a path where no folder can be, or none that we may write to."""
    for part in (path, *path.parents):
        if part.exists() and not part.is_dir():
            raise ValueError(f"{name} must be a folder, got the file {part}")
        if part.is_dir():
            _check_writable(name, path, part)
            return


def check_file(name: str, path: Path) -> None:
    """Refuse a path where no file can be written."""
    if path.is_dir():
        raise ValueError(f"{name} must be a file, got the folder {path}")
    check_folder(f"the place of {name}", path.parent)


def _check_writable(name: str, path: Path, there: Path) -> None:
    """By writing: rights do not tell of a read-only disk. there: the part that is."""
    try:
        with TemporaryFile(dir=there):
            pass
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ValueError(
            f"{name} must be a folder that we may write to, got {path} ({why} in "
            f"{there}); give another"
        ) from error


def below(folder: Path, *names: str) -> Path:
    """The path of these names in a folder: the one way from a record's names to a path.

    A record may come from anyone. Its names have a short alphabet, and no link on the
    way leads elsewhere.
    """
    for name in names:
        if not re.fullmatch(NAME, name):
            raise ValueError(
                "a file's name must be small letters, digits, dots, hyphens and "
                f"underscores, 150 at most, got {name!r}"
            )
    path, real = folder.joinpath(*names), folder.resolve().joinpath(*names)
    if path.resolve() != real:
        raise ValueError(f"a file must be in {folder} itself, got the link {path}")
    return path


def key_of(text: str) -> str:
    """Text as a file's name or an anchor."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "unnamed"


def write(
    path: Path, content: str | bytes | memoryview, *, older: Path | None = None
) -> None:
    """Write a whole file, text in UTF-8. older: where what was there is kept."""
    with replacing(path, older) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def seal(content: bytes | memoryview) -> bytes:
    """What a file of this content ends with: its SHA-256.

    In the same file: no kill can part them, and torch ignores what follows.
    """
    return _MARK + hashlib.sha256(content).hexdigest().encode() + b"\n"


def read_sealed(path: Path) -> bytes:
    """The content before the seal; ValueError if it is not what was written."""
    whole = path.read_bytes()
    content, end = whole[:-_SEAL], whole[-_SEAL:]
    if not end.startswith(_MARK):
        raise UnsealedError(f"{path} must end with the SHA-256 of the rest, got none")
    if end != seal(content):
        raise ValueError(f"{path} must end with the SHA-256 of the rest, got another")
    return content
