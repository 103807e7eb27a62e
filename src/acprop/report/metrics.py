"""What the name of a metric says: its direction, its unit, its words.

Names are train_loss, val_accuracy, test_loss …: the part of the data, then the metric.
"""

import re
from collections.abc import Collection

# A metric is better when higher unless its name has one of these words.
LOWER_IS_BETTER = (
    "loss",
    "error",
    "perplexity",
    "bits",
    "seconds",
    "fid",
    "fd_",
    "fd-",  # as people write it
    "distance",
)

# Longer ones first: fd_lite0 is the beginning of fd_lite0_80.
NAMES = {
    "bleu": "BLEU",
    "fid": "FID",
    "fd_lite0_80": "FD-lite0-80",
    "fd_lite0": "FD-lite0",
    "fd_resnet50": "FD-ResNet50",
}


def is_higher_better(metric: str) -> bool:
    """Accuracy rises, loss falls."""
    return not any(word in metric.lower() for word in LOWER_IS_BETTER)


def is_share(metric: str) -> bool:
    """Is it recorded in [0, 1] and shown in percent?"""
    return metric.endswith("accuracy")


def label_of(metric: str) -> str:
    """test_accuracy is read as "test accuracy, %"."""
    words = re.sub(r"^val_", "validation_", metric)
    for name, as_people_write_it in NAMES.items():
        words = words.replace(name, as_people_write_it)
    return words.replace("_", " ") + (", %" if is_share(metric) else "")


def shown_value(metric: str, value: float) -> float:
    """A value in the unit it is shown in."""
    return 100 * value if is_share(metric) else value


def value_words(metric: str, value: float, places: int) -> str:
    """98.19% or 1.9340."""
    return f"{value:.{places}%}" if is_share(metric) else f"{value:.4f}"


def judged_by(entry: Collection[str], part: str) -> str:
    """What judges a run on "val" or "test": accuracy, else BLEU, the loss, another."""
    first = (f"{part}_{name}" for name in ("accuracy", "bleu", "loss"))
    known = (*first, *sorted(entry))
    seen = [name for name in known if name.startswith(f"{part}_") and name in entry]
    return (seen or [f"{part}_loss"])[0]
