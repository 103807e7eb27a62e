"""Take the guard apart: every piece alone, against every published convention.

    python scripts/guard_ablation.py

writes results/guard/ablation.json and prints the two tables of docs/guard.md. About
four minutes on one core.
"""

import json
import os
import platform
import sys
import time
from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from typing import Any

import guard_limits as limits
import numpy as np
from guard_hazards import (
    N_LOUD,
    Variant,
    hazards,
    worst_step_scalar,
    worst_step_tensor,
)
from guard_problems import (
    LEARNT_NOTHING,
    LRS,
    N_SEEDS,
    N_SEEDS_RECKLESS,
    RECKLESS_LR,
    SPIKE,
    SPIKE_AT,
    SPIKE_LR,
    Task,
    final_losses,
    network,
    tasks,
)

from acprop.rule import ACPROP, ADAM, AUTHORS, GUARDED, OPTAX, PAPER, TORCH

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "results" / "guard" / "ablation.json"
Record = dict[str, Any]

PERIODS = (3, 4, 5, 7, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
ONE_MINUS_BETA2 = np.geomspace(0.9, 1e-4, 41)
DRIFT_BETA1 = {"dense": (0.5, 0.9), "pair": (0.5, 0.9), "sparse": (0.85, 0.9)}
CLIP_HORIZON = 10**6


def guarded(name: str, **changes: Any) -> Variant:
    return Variant(name, replace(GUARDED, **changes))


VARIANTS = (
    Variant("guarded", GUARDED),
    guarded("without the prior", n0=0.0),
    guarded("without the floor", kappa=0.0),
    guarded("without the clamp", clamp=inf),
    guarded("first step sgd", first_step="sgd"),
    guarded("κ = 0.05", kappa=0.05),
    guarded("κ = 0.03", kappa=0.03),
    guarded("κ = 0.3", kappa=0.3),
    guarded("n0 = 1", n0=1.0),
    guarded("n0 = 4", n0=4.0),
    guarded("n0 = 1000", n0=1000.0),
    Variant("clock from the first", GUARDED, clock="since the first"),
    Variant("clock of nonzeros", GUARDED, clock="nonzero"),
    Variant("A a slow mean", GUARDED, rise=False),
    Variant("A a slow mean, κ = 0.03", replace(GUARDED, kappa=0.03), rise=False),
    Variant("guarded, clip t^¼", GUARDED, clip="t**0.25"),
    Variant("authors, clip t^¼", AUTHORS, clip="t**0.25"),
    Variant("paper, ε = 1e-16", PAPER, eps=1e-16),
    Variant("paper, ε = 1e-8", PAPER, eps=1e-8),
    Variant("authors, ε = 1e-16", AUTHORS, eps=1e-16),
    Variant("authors, ε = 1e-8", AUTHORS, eps=1e-8),
    Variant("optax, ε = 1e-16", OPTAX, eps=1e-16),
    Variant("optax, ε = 1e-8", OPTAX, eps=1e-8),
    Variant("Adam", TORCH, rule=ADAM),
)


def right_drift(variant: Variant) -> dict[str, list[float]] | None:
    """Fraction of the (P, β2) grid with the right drift, one number for each β1."""
    if variant.rule != ACPROP:
        return None
    convention = variant.convention
    bound = inf if variant.clip is None else CLIP_HORIZON**0.25
    problems = {
        "dense": [limits.dense(P) for P in PERIODS],
        "pair": [limits.dense(P)._replace(ahead=1) for P in PERIODS],
        "sparse": [limits.sparse(P) for P in PERIODS if P > 3],
    }

    def fractions(name: str) -> list[float]:
        right = [
            limits.drift(
                problem,
                convention,
                beta1=np.array(DRIFT_BETA1[name])[:, None],
                beta2=1 - ONE_MINUS_BETA2,
                eps=convention.eps if variant.eps is None else variant.eps,
                clip=bound,
                rise=variant.rise,
            )
            > 0
            for problem in problems[name]
        ]
        return np.mean(right, axis=(0, 2)).tolist()

    return {name: fractions(name) for name in problems}


def best(losses: Any) -> dict[str, float | None]:
    """The learning rate with the lowest mean loss; None where every run diverged."""
    mean = losses.mean(axis=0)
    i = int(np.argmin(mean))
    if mean[i] == inf:
        return {"lr": None, "mean": None, "std": None}
    std = losses[:, i].std(ddof=1)
    return {"lr": LRS[i], "mean": float(mean[i]), "std": float(std)}


def measure(variant: Variant, problems: dict[str, Task], reckless: Task) -> Record:
    started = time.perf_counter()
    steps = {
        name: [worst_step_scalar(variant, hazard), worst_step_tensor(variant, hazard)]
        for name, hazard in hazards().items()
    }
    calm, spiked = (
        float(np.mean(final_losses(variant, problems["quadratic"], (SPIKE_LR,), at)))
        for at in (None, SPIKE_AT)
    )
    losses = {n: best(final_losses(variant, t, LRS)) for n, t in problems.items()}
    lost = final_losses(variant, reckless, (RECKLESS_LR,)) > LEARNT_NOTHING
    settings = asdict(variant)
    if settings["convention"]["clamp"] == inf:  # JSON has no infinity
        settings["convention"]["clamp"] = None
    return {
        "variant": settings.pop("name"),
        "settings": settings,
        "worst_step": steps,
        "spike": spiked / calm if spiked < inf else None,
        "right_drift": right_drift(variant),
        "loss": losses,
        "lost": float(np.mean(lost)),
        "wall_seconds": round(time.perf_counter() - started, 1),
    }


def definitions(problems: dict[str, Task]) -> Record:
    """What each field of a row means."""
    return {
        "worst_step": {
            "": "max |step|/lr of [a scalar, an element of 1000] over the "
            f"{N_LOUD} (or 1000) loud gradients; β = (0.9, 0.999)",
            **{name: hazard.definition for name, hazard in hazards().items()},
        },
        "spike": f"quadratic at lr {SPIKE_LR}, one gradient × {SPIKE:g} at step "
        f"{SPIKE_AT}: final loss over the final loss without it, null if diverged",
        "right_drift": {
            "": "fraction of the grid where the periodic limit moves towards x*; "
            f"with a clip, its bound at t = {CLIP_HORIZON}",
            "dense": "Eq. 1 in a tensor of its own",
            "pair": "Eq. 1 twice in one tensor, the other one step ahead",
            "sparse": "Eq. 2 in a tensor of its own",
            "P": PERIODS,
            "1 - beta2": ONE_MINUS_BETA2.tolist(),
            "beta1": DRIFT_BETA1,
        },
        "loss": {
            "": f"final loss at the best of lr {LRS}, mean and std of {N_SEEDS} seeds",
            **{name: task.definition for name, task in problems.items()},
        },
        "lost": f"network at lr {RECKLESS_LR}: fraction of {N_SEEDS_RECKLESS} seeds "
        f"that end above {LEARNT_NOTHING}, where answering 0 is 1",
    }


def _number(x: float | None) -> str:
    if x is None:
        return "diverged"
    return _short(f"{x:.2g}" if x < 100 else f"{x:.3g}" if x < 1000 else f"{x:.0e}")


def _short(text: str) -> str:
    return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def _fraction(x: float | None) -> str:
    return "–" if x is None else f"{x:.3g}"


def _fit(loss: Record) -> str:
    if loss["mean"] is None:
        return "diverged"
    return _short(f"{loss['mean']:.2g} ± {loss['std']:.1g}")


def _table(header: list[str], rows: list[list[str]]) -> str:
    rule = ["---"] * len(header)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *rows])


def hazard_table(record: Record) -> str:
    names = list(record["rows"][0]["worst_step"])
    rows = []
    for row in record["rows"]:
        pairs = [[_number(x) for x in row["worst_step"][n]] for n in names]
        cells = [a if a == b else f"{a} / {b}" for a, b in pairs]
        rows.append([row["variant"], *cells, _number(row["spike"])])
    return _table(["", *names, "spike"], rows)


def training_table(record: Record) -> str:
    names = list(record["rows"][0]["loss"])
    rows = []
    for row in record["rows"]:
        fits = [_fit(row["loss"][n]) for n in names]
        drift = row["right_drift"] or {name: [None, None] for name in DRIFT_BETA1}
        cells = [" / ".join(_fraction(x) for x in drift[n]) for n in DRIFT_BETA1]
        rows.append([row["variant"], *fits, _fraction(row["lost"]), *cells])
    return _table(["", *names, "lost", *DRIFT_BETA1], rows)


def write(record: Record, path: Path) -> None:
    """Write all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    os.replace(part, path)


def main() -> None:
    problems, reckless = tasks(), network(N_SEEDS_RECKLESS)
    rows = []
    for variant in VARIANTS:
        rows.append(measure(variant, problems, reckless))
        print(f"{variant.name}: {rows[-1]['wall_seconds']} s", file=sys.stderr)
    record = {
        "schema": 1,
        "machine": platform.machine(),
        "numpy": np.__version__,
        "measures": definitions(problems),
        "rows": rows,
    }
    write(record, RECORD)
    print(hazard_table(record), training_table(record), sep="\n\n")


if __name__ == "__main__":
    main()
