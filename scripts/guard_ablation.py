"""Measure every variant of the guard again and write results/guard/ablation.jsonl.

    python scripts/guard_ablation.py

About three minutes on one core. `scripts/tables.py` makes a table of it.
"""

from pathlib import Path

from rich.progress import track

from acprop.lab.guard import VARIANTS, records
from acprop.records import write

RECORD = Path(__file__).resolve().parents[1] / "results" / "guard" / "ablation.jsonl"

if __name__ == "__main__":
    write(RECORD, records(track(VARIANTS, description="variants")))
