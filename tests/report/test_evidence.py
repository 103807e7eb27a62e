"""The paper's empirical sentences: what decides them, on made-up records."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from acprop.records import RunStatus
from acprop.report.evidence import Evidence, evidence_of
from acprop.report.sentences import SENTENCES
from acprop.report.studies import gather
from acprop.report.variants import variant

from .made_studies import ROOT, study_as_run

BY_NAME = {sentence.name: sentence for sentence in SENTENCES}
NEVER = {"cifar100", "imagenet"}
# How far ACProp's value is ahead of everyone else's, in units of the noise; negative is
# behind.
AHEAD = {"ahead": 30.0, "level": 0.0, "behind": -30.0}
METRICS = {
    "vision/mnist-mlp": ("train_loss", 0.1, -1),
    "vision": ("test_accuracy", 0.6, 1),
    "nmt": ("test_bleu", 20.0, 1),
    "gan": ("test_fd_lite0_80", 600.0, -1),
    "rl": ("mean_return", 0.9, 1),
}


def made(name, ruleset, ahead):
    """Values that differ by chance, but for those of the published code."""
    metric, level, sign = METRICS.get(name) or METRICS[name.partition("/")[0]]
    rng = np.random.default_rng(0)
    noise = level / 300

    def entry(spec):
        ours = variant(spec.optimizer, spec.settings) == "acprop-authors"
        ours |= (name, spec.optimizer) == ("vision/mnist-mlp", "adabelief")
        value = level + noise * (sign * ahead * ours + rng.normal())
        loss = 2 * level - sign * (value - level)
        others = {"val_bleu": value, "second_moment": 1.0, "train_loss": loss}
        return {**others, metric: value, "step": 1}

    return study_as_run(name, ruleset, metric, entry)


STUDIES = [
    ("vision/cifar10-vgg11", "tuned"),
    ("vision/cifar10-vgg11", "paper"),
    *((f"vision/{n}", "paper") for n in (
        "cifar10-resnet34", "cifar10-densenet121", "vgg-adashift-lr", "vgg-amsgrad-lr",
        "vgg-lr-eps", "wrn-avagrad", "mnist-mlp", "vgg-beta1", "vgg-beta2",
    )),
    ("rl/dqn-four-rooms", "paper"),
    *((f"nmt/{n}", "tuned") for n in ("de-en", "en-vi", "ja-en", "ro-en")),
    *((f"gan/{n}", "tuned") for n in ("dcgan", "rlgan", "sngan", "sagan")),
]  # fmt: skip
# Sentences that compare ACProp with others: what they come to if it is ahead of all,
# level with all, or behind all.
ORDER = (
    "densenet", "sgd-adabelief", "adashift-every-lr", "amsgrad-every-lr",
    "avagrad-cnn", "centered-faster", "dqn-highest", "dqn-adam", "bleu-three-of-four",
    "bleu-adam", "avagrad-nmt", "gan-best", "gan-adam", "avagrad-gan",
    "adaptive-outperform",
)  # fmt: skip
ANSWERS = {"ahead": "holds", "level": "undecided", "behind": "fails"}


@cache
def everything(how):
    found = [made(name, ruleset, AHEAD[how]) for name, ruleset in STUDIES]
    return evidence_of(found)


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("how", AHEAD)
def test_an_order_is_decided_by_the_protocol(name, how):
    assert BY_NAME[name].verdict(everything(how)).verdict == ANSWERS[how]


@pytest.mark.parametrize(
    ("how", "often", "fast"),
    [
        ("ahead", "holds", "holds"),
        ("level", "fails", "holds"),
        ("behind", "fails", "fails"),
    ],
)
def test_often_means_in_two_thirds_of_the_tasks(how, often, fast):
    """Level is not ahead, and not slower either."""
    found = everything(how)
    assert BY_NAME["often-outperforms"].verdict(found).verdict == often
    assert BY_NAME["fast-like-adam"].verdict(found).verdict == fast


def test_who_fails_in_every_run_is_not_fast():
    known = dict(everything("ahead").studies)
    for key, found in known.items():
        runs = [
            replace(run, status=RunStatus.DIVERGED, history=(), final={})
            if variant(run.optimizer, run.settings) == "acprop-authors"
            else run
            for run in found.runs
        ]
        known[key] = gather(found.study, runs)
    assert BY_NAME["fast-like-adam"].verdict(Evidence(known)).verdict == "fails"


def strayed(found, optimizer, value):
    """The study with one run of an optimizer ending at another value."""
    (metric,) = found.study.metrics
    stray = next(
        run for run in found.runs if variant(run.optimizer, run.settings) == optimizer
    )
    end = replace(stray, final={**stray.final, metric: value})
    return gather(found.study, [end if run is stray else run for run in found.runs])


@pytest.mark.parametrize(
    ("who", "study", "value", "stability", "of_gans"),
    [
        ("acprop-authors", ("nmt/de-en", "tuned"), 5.0, "fails", "holds"),
        ("acprop-authors", ("gan/dcgan", "tuned"), 2000.0, "fails", "fails"),
        ("adam", ("gan/dcgan", "tuned"), 2000.0, "holds", "holds"),
    ],
)
def test_a_run_that_strays_more_than_adams_is_instability(
    who, study, value, stability, of_gans
):
    known = dict(everything("level").studies)
    known[study] = strayed(known[study], who, value)
    found = Evidence(known)
    assert BY_NAME["stable-like-adam"].verdict(found).verdict == stability
    assert BY_NAME["gan-stability"].verdict(found).verdict == of_gans


def test_comparable_means_an_interval_within_a_point():
    """VGG, ResNet: level with AdaBelief would hold, but then it outperforms nobody."""
    assert (
        BY_NAME["good-generalization"].verdict(everything("level")).verdict == "holds"
    )
    assert (
        BY_NAME["good-generalization"].verdict(everything("ahead")).verdict == "holds"
    )
    behind = BY_NAME["good-generalization"].verdict(everything("behind")).verdict
    assert behind == "fails"
    assert BY_NAME["vgg-resnet"].verdict(everything("ahead")).verdict == "fails"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_sentence_without_its_runs_is_undecided_and_names_the_command(name):
    verdict = BY_NAME[name].verdict(Evidence({}))
    assert verdict.verdict == "undecided"
    assert "acprop bench study" in verdict.evidence
    assert (verdict.owner, verdict.kind) == ("paper", "empirical")


@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - NEVER))
def test_every_sentence_is_decided_once_its_runs_are_there(name):
    words = BY_NAME[name].verdict(everything("ahead")).evidence
    assert "not run yet" not in words
    assert re.search(r"\d", words)


def test_one_part_that_fails_decides_although_another_was_not_run():
    known = everything("behind").studies
    alone = {key: known[key] for key in [("vision/cifar10-densenet121", "paper")]}
    assert BY_NAME["images-outperform"].verdict(Evidence(alone)).verdict == "fails"


def test_an_unfinished_study_decides_nothing():
    known = everything("ahead").studies["rl/dqn-four-rooms", "paper"]
    less = replace(known, runs=known.runs[1:])
    verdict = BY_NAME["dqn-adam"].verdict(
        Evidence({("rl/dqn-four-rooms", "paper"): less})
    )
    assert verdict.verdict == "undecided"
    assert "not finished yet" in verdict.evidence


def test_the_sentences_are_those_of_the_document_in_its_order():
    """Their rules were written there before the runs."""
    text = (ROOT / "docs/evidence.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| .*\|$", text, re.M)
    listed = [
        name for name, words in rows if "study" not in words and name != "no-small-s"
    ]
    assert [name for name in listed if name in BY_NAME] == list(BY_NAME)
    assert set(listed) - BY_NAME.keys() <= {"lite0"}
    for name, words in rows:
        if name in BY_NAME and words.startswith('"'):
            quoted = words[1 : words.rindex('"')]
            assert BY_NAME[name].words == quoted
