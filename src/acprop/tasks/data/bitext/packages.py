"""The packages of a set of pairs: downloaded, or found in a folder."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import groupby
from pathlib import Path

from acprop.tasks.data.bitext.harvest import harvest
from acprop.tasks.data.convert import Named, sha256_of
from acprop.tasks.data.dataset import Bitext, DataError, Dataset, Package
from acprop.tasks.data.progress import DownloadBar
from acprop.tasks.data.routes import Origin, download_all, need, only, version_of

Found = list[tuple[Package, Path]]

LOOK_SECONDS = 0.2  # how often the bar is moved


def packages_of(data: Dataset) -> tuple[Package, ...]:
    """Those that the pairs of a set are harvested from; none for any other set."""
    if data.bitext is None or not isinstance(data.bitext.origin, tuple):
        return ()
    return data.bitext.origin


def from_registries(
    data: Dataset, work: Path, bar: DownloadBar, origin: Origin
) -> Iterator[Named]:
    """Download all, then read them. One that cannot be had ends it, and is named."""
    packages = packages_of(data)
    for manager, some in groupby(packages, lambda package: package.manager):
        with ThreadPoolExecutor(1) as pool:
            job = pool.submit(download_all, list(some), work)
            is_done = False
            while not is_done:
                n = sum(any(work.glob(p.archive.file)) for p in packages)
                bar.count(f"{data.name}: {manager}", n, len(packages))
                is_done = not wait([job], LOOK_SECONDS).not_done
            job.result()
    found = [(package, only(work, package.archive)) for package in packages]
    yield from _harvested(found, data, bar, origin)


def from_folder(
    folder: Path, data: Dataset, _: Path, bar: DownloadBar, origin: Origin
) -> Iterator[Named]:
    """The same packages, in the user's own folder."""
    need("dpkg-deb", "dpkg-deb is not installed")
    places = [place for name in data.layouts if (place := folder / name).is_dir()]
    found: Found = []
    missing: list[str] = []
    for package in packages_of(data):
        paths = [p for at in places for p in sorted(at.glob(package.archive.file))]
        found.extend((package, path) for path in paths[-1:])
        missing.extend([package.archive.file] if not paths else [])
    if missing:
        few = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise DataError(
            f"it must hold {len(found) + len(missing)} packages, got {len(found)}; "
            f"{few} cannot be found"
        )
    yield from _harvested(found, data, bar, origin)


def _harvested(
    found: Found, data: Dataset, bar: DownloadBar, origin: Origin
) -> Iterator[Named]:
    assert isinstance(data.bitext, Bitext)
    for package, path in found:
        wanted = package.archive.sha256
        if wanted is not None and (got := sha256_of(path)) != wanted:
            raise DataError(
                f"{path.name} must have sha256 {wanted[:12]}…, got {got[:12]}…"
            )
        _, at, version = package.name.partition("@")
        version = version if at else version_of(path)
        name = package.name.partition("@")[0]
        origin.came(path, package=name, version=version)
    bar.begin(f"{data.name}: reading {len(found)} packages")
    yield from harvest([(path, p.archive.kind) for p, path in found], data.bitext)
