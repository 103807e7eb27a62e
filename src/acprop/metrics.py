"""What is measured: every metric that a task records, declared once.

A record names one by the part of the data and the metric: train_loss, val_accuracy,
test_fd_lite0_80, mean_return. Which direction is better, the unit and the words stand
in the table below, and are never guessed from a name.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """unit "%": recorded as a share in [0, 1], shown in percent."""

    name: str
    better: Literal["higher", "lower"]
    words: str
    unit: str = ""

    @property
    def sign(self) -> int:
        """Times a value, higher is better."""
        return 1 if self.better == "higher" else -1

    @property
    def factor(self) -> float:
        """From what is recorded to the unit in which it is shown."""
        return 100.0 if self.unit == "%" else 1.0

    @property
    def label(self) -> str:
        """Of an axis or a column: test accuracy, %."""
        return f"{self.words}, {self.unit}" if self.unit else self.words


# The first of these that a run has decides it: a loss only if there is nothing nearer
# to what the task is about.
METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "higher", "accuracy", "%"),
        Metric("bleu", "higher", "BLEU"),
        Metric("fid", "lower", "FID"),
        Metric("fd_lite0", "lower", "FD-lite0"),
        Metric("fd_lite0_80", "lower", "FD-lite0-80"),
        Metric("return", "higher", "return"),
        Metric("loss", "lower", "loss"),
        Metric("bits_per_byte", "lower", "bits per byte"),
        Metric("generator_loss", "lower", "generator loss"),
        Metric("discriminator_loss", "lower", "discriminator loss"),
        Metric("second_moment", "lower", "second moment"),
    )
}
_PARTS = {"train": "train", "val": "validation", "test": "test", "mean": "mean"}


@cache
def metric_of(name: str) -> Metric:
    """The declaration behind a recorded name; a ValueError if there is none."""
    if not is_declared(name):
        raise ValueError(
            f"a metric must be declared in acprop.metrics, got {name!r}; it has "
            f"{', '.join(METRICS)}, after {', '.join(_PARTS)}"
        )
    if name in METRICS:
        return METRICS[name]
    part, _, base = name.partition("_")
    found = METRICS[base]
    return replace(found, name=name, words=f"{_PARTS[part]} {found.words}")


def is_declared(name: str) -> bool:
    """Is it in the table, alone or after a part of the data?"""
    part, _, base = name.partition("_")
    return name in METRICS or (part in _PARTS and base in METRICS)


def primary_metric(names: Collection[str], part: str) -> str:
    """By which a run is compared on "val" or "test", of those that it recorded."""
    known = [f"{part}_{name}" for name in METRICS]
    return next((name for name in known if name in names), f"{part}_loss")


def value_words(name: str, value: float, places: int) -> str:
    """98.19% or 1.9340."""
    is_share = metric_of(name).unit == "%"
    return f"{value:.{places}%}" if is_share else f"{value:.4f}"
