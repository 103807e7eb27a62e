"""From a spec to what can be run: everything is checked before anything is trained."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from acprop.bench.optimizers import resolved
from acprop.bench.spec import RunSpec
from acprop.bench.tasks import TASKS, _class, dataset_of, prepare
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


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(b"call me " * 500)
    return path


def test_a_text_of_the_users_becomes_a_task_and_is_named_with_its_hash(file):
    text = {"text": str(file), "context": 8, "n_validation": 4, "n_test": 4}
    spec = replace(SPEC, task="language", task_settings=text)
    prepared = prepare(spec)
    assert prepared.task.name == "language/mine.txt-gpt"
    assert prepared.source["mine.txt"]["origin"] == str(file)
    assert len(prepared.source["mine.txt"]["sha256"]["mine.txt"]) == 64


def test_a_run_names_the_set_it_needs_and_a_file_is_none(file):
    assert dataset_of(SPEC) == "mnist"
    language = replace(SPEC, task="language", task_settings={"text": "moby-dick"})
    assert dataset_of(language) == "moby-dick"
    assert dataset_of(replace(language, task_settings={"text": str(file)})) is None


def test_every_task_that_may_be_named_is_there():
    for kind in ("Settings", "Task"):
        found = [_class(name, kind).__module__ for name in TASKS]
        assert found == [f"acprop.tasks.{name}" for name in TASKS]


BAD = [
    (
        replace(SPEC, task="poetry"),
        "^task must be one of vision, language, translation, gan, rl, got 'poetry'$",
    ),
    (
        replace(SPEC, task_settings=TASK | {"dataset": "moby-dick"}),
        "^dataset must be a set of images, got 'moby-dick'",
    ),
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
