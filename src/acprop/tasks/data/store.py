"""The cache: one folder per set, complete or absent.

A set is put together in a hidden folder beside its place and renamed into place in one
step, so that a process killed at any moment leaves at worst a hidden folder, which the
next one sweeps away. A lock per set lets one process at a time do so.

    $ACPROP_DATA/mnist/train-images-idx3-ubyte …   the files
    $ACPROP_DATA/mnist/source.json                 where they came from
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from acprop import files
from acprop.tasks.data.archives import Named, sha256_of
from acprop.tasks.data.folders import examine
from acprop.tasks.data.sets import RECIPE, DataError, Dataset, describe

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
        source: Any = json.loads(path.read_bytes())
        source["origin"]
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            f"{name} must be fetched before it is used, got no {path}; "
            f"run acprop data fetch {name}"
        ) from None
    except (ValueError, TypeError, KeyError):
        raise DataError(
            f"{path} must say where the set came from, got something else; "
            f"run acprop data fetch {name}"
        ) from None
    return cast(dict[str, Any], source)


def find_problems(
    name: str, cache: Path | None = None, *, by_size: bool = False
) -> list[str]:
    """One sentence for each file that is not as it should be; every one is hashed.

    by_size: cheap; only sizes are compared. Of pictures in folders, only names are.
    """
    data, folder = describe(name), folder_of(name, cache)
    try:
        source = source_of(name, cache)
        if data.form == "folders":
            return _moved(name, source, by_size=by_size)
    except (DataError, ValueError) as error:
        return [str(error)]
    remedy = f"; run acprop data fetch {name}"
    if data.form == "pairs" and source.get("recipe") != RECIPE:
        return [
            f"{folder} must be made by this version of acprop, got an older one's"
            + remedy
        ]
    problems: list[str] = []
    for file in data.files:
        path = folder / file.name
        # What is not known beforehand was recorded.
        n_bytes = source.get("n_bytes", {}).get(file.name, file.n_bytes)
        sha256 = str(file.sha256 or source.get("sha256", {}).get(file.name))
        found = path.stat().st_size if path.is_file() else "no file"
        if found != n_bytes:
            problems.append(f"{path} must have {n_bytes} bytes, got {found}{remedy}")
        elif not by_size and (hashed := sha256_of(path)) != sha256:
            problems.append(
                f"{path} must have sha256 {sha256[:12]}…, got {hashed[:12]}…{remedy}"
            )
    return problems


def _moved(name: str, source: dict[str, Any], *, by_size: bool) -> list[str]:
    """Of a set in the user's own folder: what has changed since it was fetched."""
    folder = Path(source["origin"])
    if by_size and (folder / "train").is_dir():
        return []
    return [
        f"{folder} must have {key} {source.get(key)}, got {value}; "
        f"run acprop data fetch {name} --from FOLDER"
        for key, value in examine(folder).items()
        if source.get(key) != value
    ]


def is_present(name: str, cache: Path | None = None) -> bool:
    """Are all files there, of the right size?"""
    return not find_problems(name, cache, by_size=True)


def complete(name: str, cache: Path | None = None) -> tuple[Path, dict[str, Any]]:
    """Folder and source of a set that can be read; its sizes are checked."""
    source = source_of(name, cache)
    if problems := find_problems(name, cache, by_size=True):
        raise DataError(problems[0])
    return folder_of(name, cache), source


@contextmanager
def staging_folder(
    data: Dataset, cache: Path | None, waiting: Callable[[], None]
) -> Generator[Path]:
    """An empty hidden folder on the cache's own disk, under the set's lock.

    ``waiting`` is called if another process has the lock, which dies with its process,
    however that ends. Its file stays: removing it would let two processes lock two
    different files of the same name.
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
    work = root / f".{data.name}.part"
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        shutil.rmtree(work, ignore_errors=True)  # of a process that was killed
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def install(
    data: Dataset,
    contents: Iterable[Named],
    work: Path,
    about: dict[str, Any],
    cache: Path | None = None,
) -> Path:
    """Check every file, write them all, and only then let them be seen.

    about: route and origin; read at the end, as some routes learn them on the way.
    """
    new = work / "new"
    sha256: dict[str, str] = {}
    n_bytes: dict[str, int] = {}
    wanted = {file.name: file for file in data.files}
    for name, content in contents:
        found = hashlib.sha256(content).hexdigest()
        file = wanted[name]
        if found != (file.sha256 or found):  # None: it is recorded, not compared
            raise DataError(
                f"{name} must have sha256 {str(file.sha256)[:12]}…, got {found[:12]}… "
                f"({len(content)} bytes of {file.n_bytes})"
            )
        files.write(new / name, content)
        sha256[name], n_bytes[name] = found, len(content)
    missing = [name for name in wanted if name not in sha256]
    if missing:
        raise DataError(f"{', '.join(missing)} must be there, got nothing")
    facts: dict[str, Any] = {"sha256": {name: sha256[name] for name in wanted}}
    if data.form == "pairs":
        facts |= {"n_bytes": n_bytes, "recipe": RECIPE}
    return publish(data, new, {**about, **facts}, cache)


def publish(
    data: Dataset, new: Path, about: dict[str, Any], cache: Path | None = None
) -> Path:
    """Add source.json to a finished folder and put it in its place."""
    time = datetime.now(UTC).isoformat(timespec="seconds")
    source = {"name": data.name, **about, "time": time}
    files.write(new / SOURCE, json.dumps(source, indent=2) + "\n")
    place = folder_of(data.name, cache)
    if place.exists():  # a damaged one; it goes with the staging folder
        os.replace(place, new.with_name("old"))
    os.replace(new, place)
    return place
