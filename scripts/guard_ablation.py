"""Measure every variant of the guard again and write results/guard/ablation.json.

    python scripts/guard_ablation.py

About three minutes on one core. `scripts/tables.py` makes a table of it.
"""

import json
from pathlib import Path

from rich.progress import track

from acprop.lab.guard.ablation import VARIANTS, ablation

RECORD = Path(__file__).resolve().parents[1] / "results" / "guard" / "ablation.json"

if __name__ == "__main__":
    record = ablation(track(VARIANTS, description="variants"))
    text = json.dumps(record, indent=1, ensure_ascii=False)
    RECORD.write_text(text + "\n", "utf-8")
