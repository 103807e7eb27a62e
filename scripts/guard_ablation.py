"""What bounds a step, and what that costs: hazards and the paper's problems.

    python scripts/guard_ablation.py

writes results/guard/ablation.json and prints two tables. About a minute on one core.
"""

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from guard_hazards import Step, hazards, of_reference, spike_ratio, worst_step

from acprop.lab.boundaries import RESOLVED
from acprop.lab.drift import drift
from acprop.lab.methods import Method
from acprop.lab.problems import periodic
from acprop.rule import (
    ACPROP,
    ACPROP_MOMENTUM,
    ADAM,
    ADASHIFT,
    AUTHORS,
    GUARDED,
    OPTAX,
    PAPER,
    TORCH,
    Convention,
    Rule,
)

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "guard" / "ablation.json"
Record = dict[str, Any]

PERIODS = (3, 4, 5, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
ONE_MINUS_BETA2 = np.geomspace(0.9, 1e-4, 41)
BETA1 = (0.5, 0.9)
STEPS = {"10⁴": 1e4, "10⁶": 1e6, "limit": inf}


@dataclass(frozen=True, slots=True)
class Variant:
    """One row: a convention with its clip, a rule, a momentum."""

    name: str
    convention: Convention
    rule: Rule = ACPROP
    momentum: float = 0.0

    def step(self) -> Step:
        return of_reference(self.convention, self.rule, momentum=self.momentum)


VARIANTS = (
    Variant("guarded", GUARDED, ACPROP_MOMENTUM),
    Variant("guarded, numerator g", GUARDED),
    Variant("guarded, momentum of u", GUARDED, momentum=0.9),
    Variant("guarded AdaShift", GUARDED, ADASHIFT),
    Variant("numerator g, clip 1", replace(GUARDED, clip=1.0)),
    Variant("numerator g, clip 10", replace(GUARDED, clip=10.0)),
    Variant("numerator g, ε = 1e-8", replace(GUARDED, eps=1e-8)),
    Variant("paper, clip t^¼", replace(PAPER, clip="t**0.25")),
    Variant("authors, clip t^¼", replace(AUTHORS, clip="t**0.25")),
    Variant("paper", PAPER),
    Variant("authors", AUTHORS),
    Variant("authors, ε = 1e-8", replace(AUTHORS, eps=1e-8)),
    Variant("optax", OPTAX),
    Variant("Adam", TORCH, ADAM),
)


def right_drift(variant: Variant, kind: str) -> dict[str, list[float]]:
    """Share of the (P, β2) plane with the right drift, by step; one for each β1."""
    method = Method(variant.name, variant.rule, momentum=variant.momentum)
    problems = [periodic(kind, P) for P in PERIODS if kind == "dense" or P > 3]

    def share(t: float) -> list[float]:
        right = [
            drift(
                problem,
                method,
                variant.convention,
                beta1=np.array(BETA1)[:, None],
                beta2=1 - ONE_MINUS_BETA2,
                t=t,
            )
            > RESOLVED
            for problem in problems
        ]
        return np.mean(right, axis=(0, 2)).tolist()

    return {name: share(t) for name, t in STEPS.items()}


def measure(variant: Variant) -> Record:
    advance = variant.step()
    settings = asdict(variant)
    return {
        "variant": settings.pop("name"),
        "settings": settings,
        "worst_step": {n: worst_step(advance, h) for n, h in hazards().items()},
        "spike": spike_ratio(advance),
        "right_drift": {k: right_drift(variant, k) for k in ("dense", "sparse")},
    }


def definitions() -> Record:
    """What each field of a row means."""
    return {
        "worst_step": {
            "": "largest |step|/lr of any element; β = (0.9, 0.999)",
            **{name: hazard.definition for name, hazard in hazards().items()},
        },
        "spike": " ".join((spike_ratio.__doc__ or "").split()),
        "right_drift": {
            "": "share of the plane that drifts towards x* with the clip of step t",
            "P": PERIODS,
            "1 - beta2": ONE_MINUS_BETA2.tolist(),
            "beta1": BETA1,
        },
    }


def _number(x: float | None) -> str:
    if x is None:
        return "diverged"
    text = f"{x:.2g}" if x < 100 else f"{x:.3g}" if x < 1000 else f"{x:.0e}"
    return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def _table(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---"] * len(header)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *rows])


def hazard_table(record: Record) -> str:
    """Worst step/lr, and what a spike does to a noisy quadratic."""
    names = list(record["rows"][0]["worst_step"])
    rows = [
        [
            row["variant"],
            *(_number(row["worst_step"][n]) for n in names),
            _number(row["spike"]),
        ]
        for row in record["rows"]
    ]
    return _table(["", *names, "loss after it"], rows)


def drift_table(record: Record) -> str:
    """Shares in percent, β1 = 0.5 / 0.9."""
    columns = [(kind, t) for kind in ("dense", "sparse") for t in STEPS]
    rows = [
        [
            row["variant"],
            *(
                " / ".join(f"{100 * x:.0f}" for x in row["right_drift"][kind][t])
                for kind, t in columns
            ),
        ]
        for row in record["rows"]
    ]
    return _table(["", *(f"{kind}, {t}" for kind, t in columns)], rows)


def write(record: Record, path: Path) -> None:
    """Write all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    os.replace(part, path)


def main() -> None:
    rows = []
    for variant in VARIANTS:
        rows.append(measure(variant))
        print(variant.name, file=sys.stderr)
    record = {
        "schema": 2,
        "machine": platform.machine(),
        "numpy": np.__version__,
        "measures": definitions(),
        "rows": rows,
    }
    write(record, RECORD)
    print(hazard_table(record), drift_table(record), sep="\n\n")


if __name__ == "__main__":
    main()
