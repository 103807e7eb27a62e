"""What a metric is: its direction, its unit and its words are declared."""

import tomllib
from pathlib import Path

import pytest

from acprop.metrics import metric_of, primary_metric

STUDIES = sorted((Path(__file__).parents[1] / "studies").rglob("*.toml"))
# Name, which is better, as people read it.
DECLARED = [
    ("test_accuracy", "higher", "test accuracy, %"),
    ("val_loss", "lower", "validation loss"),
    ("test_bleu", "higher", "test BLEU"),
    ("test_fid", "lower", "test FID"),
    ("test_fd_lite0", "lower", "test FD-lite0"),
    ("val_fd_lite0_80", "lower", "validation FD-lite0-80"),
    ("mean_return", "higher", "mean return"),
    ("test_bits_per_byte", "lower", "test bits per byte"),
]


@pytest.mark.parametrize(("name", "better", "label"), DECLARED)
def test_a_metric_has_a_direction_and_words(name, better, label):
    assert metric_of(name).better == better
    assert metric_of(name).label == label


@pytest.mark.parametrize("name", ["test_awesomeness", "orbits_accuracy", "accuracies"])
def test_a_direction_is_never_guessed_from_a_name(name):
    with pytest.raises(ValueError, match="a metric must be declared"):
        metric_of(name)


def test_every_study_shows_declared_metrics():
    found = [tomllib.loads(path.read_text("utf-8")) for path in STUDIES]
    names = {name for study in found for name in study.get("metrics", ())}
    assert len([metric_of(name) for name in names]) > 10


@pytest.mark.parametrize(
    ("entry", "primary"),
    [
        (["val_loss", "val_accuracy"], "val_accuracy"),
        (["val_loss", "val_bleu"], "val_bleu"),
        (["val_fd_lite0", "train_loss"], "val_fd_lite0"),
        (["val_return", "test_return"], "val_return"),
        (["val_bits_per_byte", "val_loss"], "val_loss"),
        ([], "val_loss"),
    ],
)
def test_a_run_is_compared_by_what_its_task_is_about(entry, primary):
    assert primary_metric(entry, "val") == primary
