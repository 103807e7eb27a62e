"""All cases, in two ranks, then in four, then in one process; see launch.py.

python program.py FOLDER       writes FOLDER/report.json: for each number of ranks a row
                               for each case
"""

import json
import os
import sys
from pathlib import Path

import torch
import torch._dynamo  # before the ranks part: each of them would import it
from cases import CASES
from launch import in_ranks


def report(world: int, folder: Path) -> None:
    """Every rank runs all cases, the first one writes down what it saw."""
    torch.set_num_threads(1)
    only = os.environ.get("ONLY", "")
    rows = {
        name: case(folder)
        for (name, ranks), case in CASES.items()
        if ranks == world and only in name
    }
    if os.environ.get("RANK", "0") == "0":
        (folder / f"{world}.json").write_text(json.dumps(rows))


def main(folder: Path) -> None:
    for world in (2, 4):
        in_ranks(world, lambda world=world: report(world, folder), folder)
    report(1, folder)
    rows = {n: json.loads((folder / f"{n}.json").read_text()) for n in (1, 2, 4)}
    (folder / "report.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
