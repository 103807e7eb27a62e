"""The cache: one folder per set, complete or absent.

A set is put together in a hidden folder beside its place, hashed, synced and renamed
into place in one step, so that a process killed at any moment leaves at worst a hidden
folder, which the next one sweeps away. A lock per set lets one process at a time do so.

    $ACPROP_DATA/mnist/train-images-idx3-ubyte …   the files
    $ACPROP_DATA/mnist/source.json                 where they came from
"""

# json gives what it gives: pyright: reportUnknownVariableType=false
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

from acprop.tasks.data.convert import sha256_of
from acprop.tasks.data.dataset import DataError, Dataset, File
from acprop.tasks.data.sets import describe

SOURCE = "source.json"


def cache_folder(cache: Path | None = None) -> Path:
    """The folder that is given, or ACPROP_DATA, or the platform's cache folder."""
    if cache is not None:
        return cache
    if given := os.environ.get("ACPROP_DATA"):
        return Path(given).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("acprop")


def folder_of(name: str, cache: Path | None = None) -> Path:
    return cache_folder(cache) / describe(name).name


def source_of(name: str, cache: Path | None = None) -> dict[str, Any]:
    """What source.json says: route, origin, sha256 of each file, time."""
    path = folder_of(name, cache) / SOURCE
    try:
        source = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            f"{name} must be fetched before it is used, got no {path}; "
            f"run acprop data fetch {name}"
        ) from None
    except ValueError:
        source = None
    if not isinstance(source, dict) or "origin" not in source:
        raise DataError(
            f"{path} must say where the set came from, got something else; "
            f"run acprop data fetch {name}"
        )
    return cast(dict[str, Any], source)


def is_present(name: str, cache: Path | None = None) -> bool:
    """Are all files there, of the right size? Cheap: only source.json is read."""
    data, folder = describe(name), folder_of(name, cache)
    try:
        source = source_of(name, cache)
    except DataError:
        return False
    if data.form == "folders":
        return Path(source["origin"], "train").is_dir()
    if not _is_current(data, source):
        return False
    return all(
        _size(folder / file.name) == _known(file, source, "n_bytes")
        for file in data.files
    )


def _is_current(data: Dataset, source: dict[str, Any]) -> bool:
    """Were pairs made as this version makes them?"""
    return data.bitext is None or source.get("recipe") == data.bitext.recipe


def _known(
    file: File, source: dict[str, Any], what: Literal["sha256", "n_bytes"]
) -> Any:
    """What the set's description says of a file; else what its fetch recorded."""
    known = getattr(file, what)
    return source.get(what, {}).get(file.name) if known is None else known


def whole(name: str, cache: Path | None = None) -> dict[str, Any]:
    """The source of a set that can be read; its sizes are checked, not its bytes."""
    source = source_of(name, cache)
    if not is_present(name, cache):
        raise DataError(
            f"{name} must be whole, got files that are missing, too short or an older "
            f"version's in {folder_of(name, cache)}; run acprop data fetch {name}"
        )
    return source


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1


def find_problems(data: Dataset, cache: Path | None = None) -> list[str]:
    """Read and hash every file; one sentence for each that is not as it should be."""
    folder = folder_of(data.name, cache)
    try:
        source = source_of(data.name, cache)
    except DataError as error:
        return [str(error)]
    if not _is_current(data, source):
        return [
            f"{folder} must be made by this version of acprop, got an older one's; "
            f"run acprop data fetch {data.name}"
        ]
    problems: list[str] = []
    for file in data.files:
        path = folder / file.name
        if not path.is_file():
            problems.append(f"{path} is missing; run acprop data fetch {data.name}")
        elif (found := sha256_of(path)) != (sha256 := _known(file, source, "sha256")):
            problems.append(
                f"{path} must have sha256 {str(sha256)[:12]}…, got {found[:12]}…; "
                f"run acprop data fetch {data.name}"
            )
    return problems


@contextmanager
def locked(
    data: Dataset, cache: Path | None, waiting: Callable[[], None]
) -> Generator[None]:
    """Hold the set's lock; ``waiting`` is called if another process has it.

    The lock dies with its process, however that ends. The file itself stays: removing
    it would let two processes lock two different files of the same name.
    """
    root = cache_folder(cache)
    try:
        root.mkdir(parents=True, exist_ok=True)
        handle = (root / f".lock-{data.name}").open("wb")
    except OSError as error:
        raise DataError(
            f"the data folder must be one that can be written, got {root} "
            f"({error.strerror}); set ACPROP_DATA to another"
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        prefix = f".{data.name}-"
        for left in root.glob(f"{prefix}*"):  # of a process that was killed
            if "-" not in left.name.removeprefix(prefix):  # else another set's
                shutil.rmtree(left, ignore_errors=True)
        yield


@contextmanager
def staging_folder(data: Dataset, cache: Path | None = None) -> Generator[Path]:
    """A hidden folder on the cache's own disk, gone at the end."""
    folder = tempfile.mkdtemp(prefix=f".{data.name}-", dir=cache_folder(cache))
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def install(
    data: Dataset,
    contents: Iterable[tuple[str, bytes]],
    work: Path,
    *,
    about: Callable[[], dict[str, Any]],
    cache: Path | None = None,
) -> Path:
    """Check every file, write them all, and only then let them be seen.

    about: route and origin, called at the end: some routes learn them on the way.
    """
    new = work / "new"
    new.mkdir()
    wanted = {file.name: file for file in data.files}
    sha256: dict[str, str] = {}
    n_bytes: dict[str, int] = {}
    for name, content in contents:
        found = hashlib.sha256(content).hexdigest()
        file = wanted[name]
        if found != (file.sha256 or found):  # None: it is recorded, not compared
            raise DataError(
                f"{name} must have sha256 {str(file.sha256)[:12]}…, got {found[:12]}… "
                f"({len(content)} bytes of {file.n_bytes})"
            )
        _write(new / name, content)
        sha256[name], n_bytes[name] = found, len(content)
    missing = [name for name in wanted if not (new / name).exists()]
    if missing:
        raise DataError(f"{', '.join(missing)} must be there, got nothing")
    facts: dict[str, Any] = {"sha256": {name: sha256[name] for name in wanted}}
    if data.bitext is not None:
        facts |= {"n_bytes": n_bytes, "recipe": data.bitext.recipe}
    return publish(data, new, {**about(), **facts}, cache=cache)


def publish(
    data: Dataset, new: Path, about: dict[str, Any], *, cache: Path | None = None
) -> Path:
    """Add source.json to a finished folder and put it in its place."""
    time = datetime.now(UTC).isoformat(timespec="seconds")
    source = {"name": data.name, **about, "time": time}
    _write(new / SOURCE, (json.dumps(source, indent=2) + "\n").encode())
    _sync(new)
    place = folder_of(data.name, cache)
    if place.exists():  # a damaged one; it goes with the staging folder
        os.replace(place, new.with_name("old"))
    os.replace(new, place)
    _sync(place.parent)
    return place


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _sync(folder: Path) -> None:
    """Names are data too: without this a power cut may forget the rename."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
