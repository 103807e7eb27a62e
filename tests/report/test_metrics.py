"""What the name of a metric says."""

import pytest

from acprop.report.metrics import is_higher_better, judged_by, label_of

# Name, is higher better, as people read it.
METRICS = [
    ("test_accuracy", True, "test accuracy, %"),
    ("val_loss", False, "validation loss"),
    ("test_bleu", True, "test BLEU"),
    ("test_fid", False, "test FID"),
    ("test_fd_lite0", False, "test FD-lite0"),
    ("val_fd_lite0_80", False, "validation FD-lite0-80"),
    ("test_fd_resnet50", False, "test FD-ResNet50"),
    ("mean_return", True, "mean return"),
]


@pytest.mark.parametrize(("metric", "is_higher", "label"), METRICS)
def test_a_metric_has_a_direction_and_words(metric, is_higher, label):
    assert is_higher_better(metric) is is_higher
    assert label_of(metric) == label


@pytest.mark.parametrize(
    ("entry", "judge"),
    [
        (["val_loss", "val_accuracy"], "val_accuracy"),
        (["val_loss", "val_bleu"], "val_bleu"),
        (["val_fd_lite0", "train_loss"], "val_fd_lite0"),
        (["val_return", "test_return"], "val_return"),
        ([], "val_loss"),
    ],
)
def test_a_run_is_judged_by_what_its_task_is_about(entry, judge):
    assert judged_by(entry, "val") == judge
