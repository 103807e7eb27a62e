"""The folder of the main job: what one version of the code has done already.

verdicts/CLAIM.jsonl          one file for each claim: a stop loses at most one
figures/records/NAME.jsonl    what a figure shows
figures/NAME.png              the figure
runs/ID/                      the training runs
studies/…, index.html         the page, see acprop.report.site
"""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from acprop import files


@dataclass(frozen=True, slots=True)
class JobFolder:
    """Verdicts, figures and runs belong to one version of the code."""

    root: Path

    @property
    def runs(self) -> Path:
        """All training runs, by id."""
        return self.root / "runs"

    def verdict(self, claim: str) -> Path:
        """The file of one verdict."""
        return self.root / "verdicts" / f"{claim}.jsonl"


def open_folder(root: Path) -> JobFolder:
    """Make the folder, and empty it of what another version of the code has done."""
    mark, version = root / "version", fingerprint()
    if not mark.exists() or mark.read_text("utf-8") != version:
        for stale in ("verdicts", "figures", "runs"):
            shutil.rmtree(root / stale, ignore_errors=True)
        files.write(mark, version)
    return JobFolder(root)


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
