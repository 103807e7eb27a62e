"""Who takes part in a comparison, and with which settings."""

import inspect
from pathlib import Path

import pytest
import torch

from acprop.bench.candidates import candidates
from acprop.bench.optimizers import ENTRIES
from acprop.bench.spaces import read_spaces
from acprop.bench.studies import study_folder

SHELF = study_folder(Path(__file__).parents[2] / "studies")
WIDE = read_spaces(SHELF.root, "wide-1")
VGG = SHELF.study("vision/cifar10-vgg11")


def test_arms_that_differ_in_what_is_searched_are_one_candidate():
    names = [who.name for who in candidates(VGG, "smoke", WIDE)]
    assert names == [
        "sgd", "adam", "adamw", "radam", "adashift", "adabelief", "acprop",
        "acprop convention=authors",
    ]  # fmt: skip
    swept = SHELF.study("vision/vgg-adashift-lr")
    names = [who.name for who in candidates(swept, "paper", WIDE)]
    assert names.count("adashift convention=authors") == 1
    assert (
        len([p for p in swept.planned("paper") if p.spec.optimizer == "adashift"]) > 3
    )


def test_a_task_of_its_own_is_a_candidate_of_its_own():
    wide = SHELF.study("vision/wrn-avagrad")
    names = [who.name for who in candidates(wide, "paper", WIDE)]
    assert "acprop" in names
    assert any("dataset=cifar100" in name for name in names)


@pytest.mark.parametrize("name", SHELF.names())
def test_every_study_can_be_run_by_every_ruleset(name):
    study = SHELF.study(name)
    for scale in study.scales:
        spaces = read_spaces(SHELF.root, study.scale(scale).tuning.space)
        who = candidates(study, scale, spaces)
        seeds = study.scale(scale).seeds
        runs = [
            r for c in who for r in c.runs(study, scale, c.default_settings(), seeds)
        ]
        assert len(runs) == len(who) * len(study.scale(scale).seeds)
        assert len({run.spec.id for run in runs}) == len(runs)


def test_trials_have_the_seeds_they_are_given_and_the_settings_of_the_variant():
    found = {who.name: who for who in candidates(VGG, "small", WIDE)}
    authors = found["acprop convention=authors"]
    runs = authors.runs(VGG, "small", {"lr": 0.02}, [7, 8])
    assert [run.spec.seed for run in runs] == [7, 8]
    spec = runs[0].spec
    assert (spec.settings["convention"], spec.settings["lr"]) == ("authors", 0.02)
    assert spec.settings["weight_decay"] == 0  # the paper's values are not carried over
    assert runs[0].study_settings == {"convention": "authors", "lr": 0.02}


# Where the library's own default is not the method's, or does not work.
EXCEPT = {
    "sgd-nesterov": {"momentum"},  # Nesterov's needs one
    "padam": {"partial"},  # its paper's is 1/8
    "adahessian": {"lr", "eps"},  # its authors'; 1e-16 divides by curvatures of 0
    "ademamix": {"betas"},  # three of them there
    "apollo": {"init_lr"},  # None is lr/1000, the same number
}
CLASSES = {
    "sgd": "SGD", "sgd-nesterov": "SGD", "adam": "Adam", "adamw": "AdamW",
    "amsgrad": "Adam", "radam": "RAdam", "nadam": "NAdam", "rmsprop": "RMSprop",
    "rmsprop-centered": "RMSprop", "adadelta": "Adadelta", "adagrad": "Adagrad",
    "padam": "PAdam", "avagrad": "AvaGrad", "adabound": "AdaBound", "yogi": "Yogi",
    "adamp": "AdamP", "swats": "SWATS", "adopt": "ADOPT", "apollo": "ApolloDQN",
    "adahessian": "AdaHessian", "nadamw": "NAdam", "laprop": "LaProp",
    "ademamix": "AdEMAMix", "lion": "Lion", "soap": "SOAP",
    "schedulefree-adamw": "ScheduleFreeAdamW", "muon-adamw": "AdamW",
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_the_default_ruleset_is_the_librarys_own_constructor(name):
    """Told nothing, what does it take? Also AdamW's weight decay and SGD's momentum."""
    entry = ENTRIES[name]
    library = torch.optim
    if entry.library == "pytorch_optimizer":
        library = pytest.importorskip("pytorch_optimizer")
    signature = inspect.signature(getattr(library, CLASSES[name])).parameters
    published = {**entry.defaults, **entry.published}
    if {"beta1", "beta2"} <= published.keys():
        published["betas"] = (published["beta1"], published["beta2"])
    shared = signature.keys() & published.keys() - EXCEPT.get(name, set())
    assert "lr" in signature
    for setting in shared:
        assert published[setting] == signature[setting].default


def test_ours_have_the_defaults_of_their_classes():
    for name in ("acprop", "adabelief", "adashift", "sdprop"):
        assert not ENTRIES[name].published
