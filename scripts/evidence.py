"""Run the studies of docs/evidence.md, or check the default on a fresh seed.

    python scripts/evidence.py run [NAME…]      what results/ holds is not run again
    python scripts/evidence.py keep             finished runs of unfinished studies
    python scripts/evidence.py check [NAME…]    has the default fallen behind?

`run` writes a file for each study that is done, and begins with every run in results/,
those that `keep` left in unfinished.jsonl.xz too, so that another machine goes on where
one was stopped.
`check` runs the default once more, as the records have it but with a seed that they do
not have, and fails if the value is worse than 99 of 100 such values would be.
"""

import argparse
import lzma
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import stats

from acprop.bench.spec import RunSpec
from acprop.bench.store import RunFolder, Store
from acprop.bench.studies import study_folder
from acprop.metrics import metric_of
from acprop.records import RunRecord, RunStatus, StudyRecord, from_json, read, to_json
from acprop.report.statistics import Arm, over_seeds, value_of
from acprop.report.studies import StudyRuns, gather
from acprop.reproduce.runs import run_one

ROOT = Path(__file__).resolve().parents[1]
UNFINISHED = ROOT / "results" / "unfinished.jsonl.xz"
SCALE = "small"
THREE = ("gpt-bytes", "vgg-batchnorm", "vgg-plain")
# In the order in which they are run.
STUDIES = [
    ("vision/cifar10-vgg11", "paper"),
    ("vision/cifar10-vgg11", "tuned"),
    ("rl/dqn-four-rooms", "paper"),
    ("vision/mnist-mlp", "paper"),
    *((f"corners/{task}", "tuned") for task in THREE),
    *((f"factorial/{task}", "tuned") for task in THREE),
    *((f"beta2/{task}", "tuned") for task in THREE),
    *((f"today/{task}", "tuned") for task in THREE[:2]),
    ("vision/vgg-lr-eps", "paper"),
    ("vision/vgg-adashift-lr", "paper"),
    ("vision/vgg-amsgrad-lr", "paper"),
    ("vision/vgg-beta1", "paper"),
    ("vision/vgg-beta2", "paper"),
    ("corners/published-eps", "tuned"),
    ("corners/dial", "tuned"),
    *((f"nmt/{pair}", "tuned") for pair in ("ro-en", "de-en", "en-vi", "ja-en")),
    ("vision/cifar10-resnet34", "paper"),
    ("vision/wrn-avagrad", "paper"),
    *((f"gan/{kind}", "tuned") for kind in ("dcgan", "sngan", "rlgan", "sagan")),
    ("vision/cifar10-densenet121", "paper"),
    ("language/gpt-bytes", "tuned"),
    ("language/gpt-code", "tuned"),
    ("second-look/de-en", "tuned"),
    ("second-look/mnist-eps", "paper"),
    ("second-look/resnet34", "tuned"),
    ("second-look/densenet121", "tuned"),
    ("second-look/dcgan", "tuned"),
    ("second-look/rlgan", "tuned"),
]
# Those by which the default was chosen.
CHECKED = ["default/gpt-bytes", "default/vgg-batchnorm", "default/vgg-plain"]


def file_of(name: str, ruleset: str) -> Path:
    """Where a study's records are kept."""
    rules = "" if ruleset == "paper" else f"-{ruleset}"
    return ROOT / "results" / f"{name}-{SCALE}{rules}.jsonl"


def is_whole(path: Path) -> bool:
    """Does the file have all runs of its study?"""
    found = list(read(path)) if path.exists() else []
    known = {r.run for r in found if isinstance(r, RunRecord)}
    about = [r for r in found if isinstance(r, StudyRecord)]
    return bool(about) and not about[0].missing and set(about[0].runs) <= known


def repeatable(text: str) -> Iterator[RunRecord]:
    """Those of these lines that are runs of code that can be had again."""
    for record in map(from_json, text.splitlines()):
        if isinstance(record, RunRecord) and not record.commit.endswith("-dirty"):
            yield record


def published() -> list[RunRecord]:
    """The runs of the studies that are done."""
    files = [file_of(*study) for study in STUDIES]
    whole = [file.read_text() for file in files if is_whole(file)]
    return [record for text in whole for record in repeatable(text)]


def run(names: list[str], runs: Path) -> None:
    """One study after the other; a failure of one does not end the rest."""
    store = Store(runs)
    # Studies share runs: what another study has made is not made again.
    known = published()
    if UNFINISHED.exists():
        known += repeatable(lzma.decompress(UNFINISHED.read_bytes()).decode())
    for record in known:
        store.restore(record, UNFINISHED.parent / "artifacts")
    failed: list[str] = []
    for name, ruleset in STUDIES:
        out = file_of(name, ruleset)
        if (names and name not in names) or is_whole(out):
            continue
        words = ["bench", "study", name, "--scale", SCALE, "--ruleset", ruleset]
        places = ["--runs", str(runs), "--out", str(out)]
        print(f"{name}, {ruleset}", flush=True)
        if subprocess.run([sys.executable, "-m", "acprop", *words, *places]).returncode:
            failed.append(name)
    sys.exit(f"not finished: {', '.join(failed)}" if failed else 0)


def keep(runs: Path) -> None:
    """Write what is finished in the store and in no file of a finished study."""
    known = {record.run for record in published()}
    folders = [RunFolder(p.parent) for p in sorted(runs.glob("*/run.json"))]
    left = [f for f in folders if f.has_result() and f.path.name not in known]
    records = [f.record(study=f.read().get("study", ""), scale=SCALE) for f in left]
    text = "".join(to_json(record) + "\n" for record in records)
    UNFINISHED.write_bytes(lzma.compress(text.encode()))
    print(f"{len(records)} runs in {UNFINISHED.relative_to(ROOT)}")


def recorded(name: str) -> tuple[StudyRuns, Arm]:
    """The default at the settings that validation preferred."""
    found = list(read(ROOT / "results" / f"{name}-{SCALE}.jsonl"))
    (about,) = [r for r in found if isinstance(r, StudyRecord)]
    runs = gather(about, [r for r in found if isinstance(r, RunRecord)])
    return runs, next(arm for arm in runs.methods if arm.optimizer == "acprop")


def worst_expected(values: list[float], sign: int) -> float:
    """What one more value of the same kind is better than, 99 times of 100."""
    n, spread = len(values), float(np.std(values, ddof=1))
    reach = stats.t.ppf(0.99, n - 1) * spread * (1 + 1 / n) ** 0.5
    return float(np.mean(values)) - sign * float(reach)


def check(names: list[str]) -> None:
    """Run the default with a fresh seed, and compare."""
    behind: list[str] = []
    for name in names or CHECKED:
        found, arm = recorded(name)
        metric, spec = found.metric, RunSpec(**arm.runs[0].spec)
        sign = metric_of(metric).sign
        limit = worst_expected([value_of(r, metric) for r in arm.done], sign)
        seed = 1 + max(r.seed for r in found.runs)
        study = study_folder().study(name)
        with tempfile.TemporaryDirectory() as folder:
            made = run_one(
                study.name, SCALE, spec.optimizer, spec.settings, seed,
                task_settings={}, runs=Path(folder), resume=False, restart=False,
                device="cpu", threads=1, time_limit=None, checkpoint_seconds=600.0,
                tensorboard=None, quiet=False,
            )  # fmt: skip
        record = made.record
        is_done = record is not None and record.status is RunStatus.DONE
        value = value_of(record, metric) if record and is_done else float("nan")
        mean = over_seeds(arm, metric).mean
        print(
            f"{name}: {metric} {value:.4g} with seed {seed}; recorded {mean:.4g}, "
            f"limit {limit:.4g}"
        )
        if not sign * (value - limit) >= 0:
            behind.append(name)
    sys.exit(f"the default fell behind: {', '.join(behind)}" if behind else 0)


def main() -> None:
    parser = argparse.ArgumentParser(description="The studies of docs/evidence.md.")
    parser.add_argument("what", choices=["run", "keep", "check"])
    parser.add_argument("names", nargs="*", help="of studies; none is all")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs")
    given = parser.parse_args()
    if given.what == "run":
        run(given.names, given.runs)
    elif given.what == "keep":
        keep(given.runs)
    else:
        check(given.names)


if __name__ == "__main__":
    main()
