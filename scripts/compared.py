"""Where ACProp's default stands beside other optimizers: the records, task by task.

README's table, its picture and the words of docs/ are made from these, by tables.py and
pictures.py. Who is better is what `acprop.report` says.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from acprop.records import RunRecord, StudyRecord, read
from acprop.report.comparisons import Comparison, compare_all
from acprop.report.statistics import Arm
from acprop.report.studies import StudyRuns, gather

ROOT = Path(__file__).resolve().parents[1]
# Studies whose scale "search" chose settings on another seed. How a column and a
# sentence call each.
DEFAULT = {
    "default/mnist-mlp": ("MNIST, MLP", "MNIST"),
    "default/vgg-batchnorm": (
        "CIFAR-10, VGG-11 with BatchNorm",
        "VGG-11 with BatchNorm",
    ),
    "default/vgg-plain": (
        "CIFAR-10, VGG-11 without BatchNorm",
        "VGG-11 without BatchNorm",
    ),
    "default/gpt-bytes": ("Moby-Dick, GPT", "the GPT"),
    "default/ro-en": ("Romanian to English", "RO-EN at width 128"),
    "default/dcgan": ("CIFAR-10, DCGAN", "DCGAN with 480 steps"),
}
SEARCHED = {**DEFAULT, "rl/dqn-four-rooms": ("Four rooms, DQN", "the four rooms")}
# Studies by the ruleset "tuned": equally many trials for everyone.
TUNED = {
    "vision/mnist-tuned-small": ("MNIST, 2000 images", "2000 images of MNIST"),
    "vision/cifar10-vgg11-small-tuned": (
        "CIFAR-10, VGG-11, 20,000 images",
        "VGG-11 with 20,000 images",
    ),
    "language/gpt-bytes-small-tuned": ("Moby-Dick, 3000 steps", "the longer GPT"),
    "language/gpt-code-small-tuned": ("Code, 3000 steps", "the longer GPT for code"),
    **{
        f"nmt/{pair}-small-tuned": (pair.upper(), pair.upper())
        for pair in ("de-en", "en-vi", "ja-en", "ro-en")
    },
    **{
        f"gan/{kind}-small-tuned": (kind.upper(), kind.upper())
        for kind in ("dcgan", "rlgan", "sngan", "sagan")
    },
    **{
        f"second-look/{net.lower().replace('-', '')}-small-tuned": (net, net)
        for net in ("ResNet-34", "DenseNet-121")
    },
}
# Whom README compares with.
PEERS = ("adamw", "adopt", "adabelief")


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task: the default, the others, and each of them compared with it."""

    title: str
    words: str
    found: StudyRuns
    arms: dict[str, Arm]
    compared: dict[str, Comparison]


def _file(name: str) -> Path:
    return ROOT / "results" / f"{name}.jsonl"


@cache
def records(name: str) -> StudyRuns:
    """A study and its runs, of results/NAME.jsonl."""
    found = list(read(_file(name)))
    (about,) = [record for record in found if isinstance(record, StudyRecord)]
    return gather(about, [run for run in found if isinstance(run, RunRecord)])


@cache
def newer() -> dict[str, str]:
    """By the study whose place it takes: a later one, everyone tuned alike."""
    files = sorted((ROOT / "results").glob("today/*-small-tuned.jsonl"))
    studies = [f"today/{file.stem}" for file in files]
    return {old: name for name in studies for old in records(name).study.replaces}


@cache
def chosen(name: str) -> list[tuple[Arm, Comparison | None]]:
    """Each method at the settings that its search preferred, beside the default."""
    wanted = tuple(arm.settings for arm in records(f"{name}-search").methods)
    found = replace(records(f"{name}-small"), searched=wanted)
    return _beside_the_default(found, found.methods)


@cache
def tasks() -> list[TaskResult]:
    """Every task on which someone of PEERS was compared with the default."""
    made: list[TaskResult] = []
    for name, (title, words) in SEARCHED.items():
        if name not in newer():
            found = records(f"{name}-small")
            made.append(_task(title, words, found, chosen(name)))
    later = {study: SEARCHED[name] for name, study in newer().items()}
    for name, (title, words) in {**later, **TUNED}.items():
        if not _file(name).exists():
            continue  # not run yet
        found = records(name)
        pairs = _beside_the_default(found, list(found.arms))
        made.append(_task(title, words, found, pairs))
    return made


def against_adamw() -> list[TaskResult]:
    """Those on which AdamW was run too."""
    return [task for task in tasks() if "adamw" in task.compared]


def _beside_the_default(
    found: StudyRuns, arms: list[Arm]
) -> list[tuple[Arm, Comparison | None]]:
    arms.sort(key=lambda arm: arm.optimizer != "acprop")  # the default first
    compared = compare_all(arms, arms[0], found.metric)
    return list(zip(arms, compared, strict=True))


def _task(
    title: str,
    words: str,
    found: StudyRuns,
    pairs: list[tuple[Arm, Comparison | None]],
) -> TaskResult:
    return TaskResult(
        title,
        words,
        found,
        {arm.optimizer: arm for arm, _ in pairs},
        {arm.optimizer: made for arm, made in pairs if made is not None},
    )
