"""Compare the verdicts of `acprop reproduce` with the recorded ones.

    python scripts/same_verdicts.py [build/reproduce/verdicts]

`acprop reproduce` itself fails if a claim of ours does. Here a claim of the paper's
whose verdict changed is found as well: either something broke, or the record and the
documents that quote it have to change.
"""

import sys
from pathlib import Path

from acprop.records import Verdict, read

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "results" / "lab" / "verdicts.jsonl"


def verdicts(*files: Path) -> dict[str, str]:
    found = [record for file in files for record in read(file)]
    return {v.claim: v.verdict for v in found if isinstance(v, Verdict)}


def differences(fresh: dict[str, str], recorded: dict[str, str]) -> list[str]:
    """One line for each claim whose verdict is not the recorded one."""
    return [
        f"{claim}: {fresh.get(claim, 'not decided')}, "
        f"recorded: {recorded.get(claim, 'nothing')}"
        for claim in {**recorded, **fresh}
        if fresh.get(claim) != recorded.get(claim)
    ]


def main() -> None:
    folder = Path(sys.argv[1] if sys.argv[1:] else ROOT / "build/reproduce/verdicts")
    fresh = verdicts(*sorted(folder.glob("*.jsonl")))
    if lines := differences(fresh, verdicts(RECORDED)):
        sys.exit("\n".join(["these verdicts differ from the record:", *lines]))
    print(f"{len(fresh)} verdicts, all as recorded")


if __name__ == "__main__":
    main()
