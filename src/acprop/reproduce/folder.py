"""The folder of the main job: what was done already, and need not be done again.

version                       the code that decided the verdicts and the figures
verdicts/CLAIM.jsonl          one file for each claim: a stop loses at most one
figures/records/NAME.jsonl    what a figure shows
figures/NAME.svg              the figure
runs/ID/                      the training runs, found by what decides them
studies/…, index.html         the page, see acprop.report.site
"""

import re
from fnmatch import fnmatch
from pathlib import Path

from acprop import checks, files, sources

_MARK = re.compile(r"verdicts [0-9a-f]{16}\nfigures [0-9a-f]{16}\n")


def open_folder(root: Path) -> None:
    """Make the folder; verdicts and figures of other code are removed, runs never are.

    A folder with files in it that is not marked as ours is refused.
    """
    mark = root / "version"
    known = mark.read_text("utf-8", errors="replace") if mark.is_file() else ""
    names = [path.name for path in root.iterdir()] if root.exists() else []
    foreign = [name for name in names if not fnmatch(name, f".version{files.PARTS}")]
    if foreign and not _MARK.fullmatch(known):
        raise checks.UserError(
            "out must be a new or empty folder, or one that acprop reproduce made, got "
            f"{root} with {min(foreign)} in it; give another folder"
        )
    verdicts = f"verdicts {sources.digest('acprop.lab.claims')}"
    figures = f"figures {sources.digest('acprop.lab.figures', 'acprop.report.figures')}"
    outdated = ["verdicts/*.jsonl"] if verdicts not in known else []
    if figures not in known:
        outdated += ["figures/*.svg", "figures/records/*.jsonl"]
    for path in [path for pattern in outdated for path in root.glob(pattern)]:
        path.unlink()
    if known != (now := f"{verdicts}\n{figures}\n"):
        files.write(mark, now)
