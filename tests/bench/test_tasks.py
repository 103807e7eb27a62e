"""From a spec to what can be run: everything is checked before anything is trained."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from acprop.bench.optimizers import resolved
from acprop.bench.spec import RunSpec
from acprop.bench.tasks import prepare
from acprop.tasks.data import DataError

TASK = {
    "dataset": "mnist",
    "net": "mlp",
    "n_train": 256,
    "n_validation": 200,
    "n_test": 200,
}
SPEC = RunSpec("vision", TASK, "adam", resolved("adam", {"lr": 0.5}), 1, 0)


@pytest.mark.usefixtures("mnist")
def test_a_spec_becomes_its_task_its_optimizer_and_where_its_data_came_from():
    prepared = prepare(SPEC)
    assert prepared.task.name == "vision/mnist-mlp"
    made = prepared.optimizer(nn.Linear(2, 1))
    assert isinstance(made, torch.optim.Adam)
    assert made.param_groups[0]["lr"] == 0.5
    assert set(prepared.source) == {"mnist"}
    assert prepared.source["mnist"]["route"]


BAD = [
    (replace(SPEC, task="poetry"), "^task must be one of vision, got poetry$"),
    (replace(SPEC, optimizer="foo"), "^optimizer must be one of .*, got 'foo'$"),
    (replace(SPEC, settings={"lr": -1.0}), "^lr must be "),
    (replace(SPEC, settings={"momentum": 0.9}), "^settings? of adam must be"),
    (replace(SPEC, task_settings=TASK | {"foo": 1}), "setting must be .* got foo$"),
    (replace(SPEC, task_settings=TASK | {"dataset": "foo"}), "must be .* got 'foo'$"),
    (replace(SPEC, task_settings=TASK | {"batch": 0}), "^batch must be 1 or more"),
]


@pytest.mark.parametrize(("spec", "message"), BAD)
def test_what_cannot_be_run_is_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        prepare(spec)


def test_data_that_nobody_has_given_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    monkeypatch.delenv("ACPROP_DATA_FROM", raising=False)
    spec = replace(SPEC, task_settings=TASK | {"dataset": "imagenet"})
    with pytest.raises((DataError, ValueError), match="imagenet"):
        prepare(spec)
