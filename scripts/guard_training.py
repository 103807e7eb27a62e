"""Train the roads not taken and write results/guard/training.json.

    python scripts/guard_training.py [--only floor] [--tasks default/gpt-bytes]

Every road on two studies of `studies/default` at their search scale, seed 0, at the
learning rate that was best there. A result that is there already is kept, so the script
may be stopped at any time. About ten minutes on one core.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from rich.progress import track

from acprop import files
from acprop.bench.roads import ROADS, Factory, train
from acprop.bench.studies import study_folder

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "guard" / "training.json"
LR = 3e-3
WEIGHT_DECAY = {"default/vgg-plain": 0.01, "default/gpt-bytes": 0.1}


def save(record: dict[str, Any]) -> None:
    """Write all or nothing: the record holds earlier results too."""
    files.write(RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default=",".join(WEIGHT_DECAY))
    parser.add_argument("--only", default="", help="roads whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(1)
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    names = [name for name in ROADS if options.only in name]
    wanted = [(task, name) for task in options.tasks.split(",") for name in names]
    for task, name in track(wanted, description="roads"):
        runs = record.setdefault(task, {}).setdefault(name, {})
        if str(LR) not in runs:
            study = study_folder(ROOT / "studies").study(task)
            make = Factory(LR, WEIGHT_DECAY[task], ROADS[name])
            with tempfile.TemporaryDirectory() as folder:
                runs[str(LR)] = train(study, make, Path(folder) / "run")
            save(record)


if __name__ == "__main__":
    main()
