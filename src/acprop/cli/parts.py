"""The parts of `acprop reproduce`: each finds what is done and does the rest."""

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from acprop.bench.execute import execute_planned
from acprop.bench.studies import Planned, Study
from acprop.bench.tasks import dataset_of
from acprop.bench.workers import spread
from acprop.lab.claims import CLAIMS, verify
from acprop.lab.figures import FIGURES
from acprop.records import RunRecord, StudyRecord, Verdict, read, write
from acprop.report.figures import draw
from acprop.tasks.data import DataError, fetch

Advance = Callable[[str, float], None]  # what is worked on, and how many seconds of it
CLAIM_SECONDS, FIGURE_SECONDS = 0.5, 2.5  # on one core, for the time that is left


@dataclass(slots=True)
class Folder:
    """Where everything goes.

    Verdicts, figures and runs belong to one version of the code: another version
    begins with none of them.
    """

    root: Path
    version: str = field(default_factory=lambda: fingerprint())

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        mark = self.root / "version"
        if not mark.exists() or mark.read_text("utf-8") != self.version:
            for stale in ("verdicts", "figures", "runs"):
                shutil.rmtree(self.root / stale, ignore_errors=True)
            mark.write_text(self.version, "utf-8")

    @property
    def runs(self) -> Path:
        """All training runs, by id."""
        return self.root / "runs"

    def verdict(self, claim: str) -> Path:
        """A file for each claim: an interruption loses at most the one in work."""
        return self.root / "verdicts" / f"{claim}.jsonl"

    def figure(self, name: str) -> Path:
        """A picture; its records are in a folder beside it."""
        return self.root / "figures" / f"{name}.png"


def fingerprint() -> str:
    """The hash of the package's own sources."""
    package = Path(__file__).resolve().parents[1]
    endings = {".py", ".c", ".h", ".inc"}
    hashed = hashlib.sha256()
    for file in sorted(package.rglob("*")):
        if file.suffix in endings:
            hashed.update(file.relative_to(package).as_posix().encode())
            hashed.update(file.read_bytes())
    return hashed.hexdigest()[:16]


def claims(folder: Folder, jobs: int, advance: Advance) -> list[Verdict]:
    """Check what has not been checked by this version."""
    todo = [name for name in CLAIMS if not folder.verdict(name).exists()]
    advance("claims", CLAIM_SECONDS * (len(CLAIMS) - len(todo)))

    def checked(name: str, verdict: Future[Verdict]) -> None:
        write(folder.verdict(name), [verdict.result()])
        advance("claims", CLAIM_SECONDS)

    spread(verify, todo, jobs, checked)
    found = [next(read(folder.verdict(name))) for name in CLAIMS]
    return [verdict for verdict in found if isinstance(verdict, Verdict)]


def figures(
    folder: Folder, jobs: int, advance: Advance
) -> list[tuple[str, str, str, str]]:
    """Draw what has not been drawn: name, place, caption and path within the folder."""
    todo = [name for name in FIGURES if not folder.figure(name).exists()]
    advance("figures", FIGURE_SECONDS * (len(FIGURES) - len(todo)))

    def drawn(name: str, nothing: Future[None]) -> None:
        del name
        nothing.result()
        advance("figures", FIGURE_SECONDS)

    spread(_Draw(folder), todo, jobs, drawn)
    return [
        (f.name, f.place, f.caption, f"figures/{f.name}.png") for f in FIGURES.values()
    ]


@dataclass(frozen=True, slots=True)
class _Draw:
    folder: Folder

    def __call__(self, name: str) -> None:
        made = FIGURES[name]
        records = self.folder.root / "figures" / "records" / f"{name}.jsonl"
        write(records, made.make())
        title = f"{made.caption} ({made.place})"
        draw(list(read(records)), self.folder.figure(name), title=title)


@dataclass(slots=True)
class Data:
    """Which datasets are there; asked once each."""

    missing: dict[str, str] = field(default_factory=dict[str, str])
    there: set[str] = field(default_factory=set[str])

    def has(self, name: str | None) -> bool:
        """Fetch it if need be; None is no set, which is always there."""
        if name is None:
            return True
        if name not in self.there and name not in self.missing:
            try:
                fetch(name, progress=False)
                self.there.add(name)
            except (DataError, ValueError, OSError) as error:
                self.missing[name] = str(error)
        return name in self.there


@dataclass(frozen=True, slots=True)
class StudyResult:
    """lost: what should have run and did not."""

    record: StudyRecord
    runs: list[RunRecord]
    lost: list[str]


def study(
    folder: Folder, found: Study, scale: str, data: Data, jobs: int, advance: Advance
) -> StudyResult:
    """Run what has not been run."""
    planned = found.planned(scale)
    able = [p for p in planned if data.has(dataset_of(p.spec))]
    seconds = found.scale(scale).seconds
    advance(found.name, seconds * (len(planned) - len(able)))
    shares: dict[str, float] = {}

    def heard(run: str, share: float) -> None:
        gained = max(0.0, share - shares.get(run, 0.0))
        shares[run] = shares.get(run, 0.0) + gained
        advance(found.name, gained * seconds)

    runs, lost = execute_planned(
        able, folder.runs, study=found.name, scale=scale, jobs=jobs, on_progress=heard
    )
    unable = _without_data(planned, able, data)
    record = found.record(scale, [run.run for run in runs], [*unable, *lost])
    needed = [p for p in planned if p not in able and not p.optional]
    return StudyResult(record, runs, lost + (unable if needed else []))


def _without_data(planned: list[Planned], able: list[Planned], data: Data) -> list[str]:
    wanted = Counter(dataset_of(p.spec) for p in planned if p not in able)
    return [
        f"{n} runs on {name}: {data.missing[name]}"
        for name, n in wanted.items()
        if name is not None
    ]
