"""Our own questions about training: the rules, on made-up records."""

import numpy as np
import pytest

from acprop.report.evidence import Evidence, evidence_of
from acprop.report.questions import QUESTIONS, TASKS

from .made_studies import ROOT, study_as_run

BY_NAME = {question.name: question for question in QUESTIONS}
NOISE = 0.002


def evidence(names, shift, metric="test_accuracy", level=0.5, ruleset="tuned"):
    """Studies whose runs differ by chance and by `shift(settings)`, in accuracy."""

    def made(name):
        rng = np.random.default_rng(list(name.encode()))

        def entry(spec):
            settings = {"optimizer": spec.optimizer, **spec.settings}
            return {metric: level + shift(name, settings) + NOISE * rng.normal()}

        return study_as_run(name, ruleset, metric, entry)

    return evidence_of(made(name) for name in names)


def answer(question, *args, **kwargs):
    return BY_NAME[question].verdict(evidence(*args, **kwargs)).verdict


FACTORIALS = [f"factorial/{task}" for task in TASKS]


@pytest.mark.parametrize(
    ("question", "setting"),
    [("centering-matters", "centered"), ("asynchrony-matters", "delay")],
)
@pytest.mark.parametrize(("n", "expected"), [(2, "holds"), (1, "undecided")])
def test_a_factor_matters_if_it_is_shown_on_two_tasks(question, setting, n, expected):
    def shift(name, settings):
        return 0.05 * bool(settings[setting]) * (name in FACTORIALS[:n])

    assert answer(question, FACTORIALS, shift) == expected


def test_a_factor_shown_on_two_tasks_matters_although_the_third_was_not_run():
    def shift(_, settings):
        return 0.05 * settings["centered"]

    assert answer("centering-matters", FACTORIALS[:2], shift) == "holds"


def lead(settings):
    return settings["beta2"] == 0.9999 and settings["start"] == "first"


GPT = ["corners/gpt-bytes"]
LOSS = {"metric": "test_loss", "level": 2.0}


def test_adopt_leads_by_its_start_if_it_falls_behind_without():
    def shift(_, settings):
        return -0.1 * lead(settings)

    assert answer("adopt-leads-by-start", GPT, shift, **LOSS) == "holds"
    assert answer("adopt-leads-by-beta2", GPT, shift, **LOSS) == "fails"


def test_adopt_leads_by_beta2_if_adam_with_it_is_not_worse():
    def shift(_, settings):
        return -0.1 * (settings["beta2"] == 0.9999)

    assert answer("adopt-leads-by-start", GPT, shift, **LOSS) == "undecided"
    assert answer("adopt-leads-by-beta2", GPT, shift, **LOSS) == "holds"


@pytest.mark.parametrize(
    ("tiny", "sgd", "expected"),
    [
        (-0.1, 0.0, "holds"),
        (-0.1, 0.1, "holds"),
        (-0.1, -0.1, "fails"),
        (0.0, 0.0, "undecided"),
        (0.1, 0.0, "fails"),
    ],
)
def test_the_published_lead_is_its_eps_if_without_it_it_falls_behind(
    tiny, sgd, expected
):
    def shift(_, settings):
        is_tiny = settings.get("eps") == 1e-16
        return tiny * is_tiny + sgd * (settings["optimizer"] == "sgd")

    found = answer("published-lead-is-eps", ["corners/published-eps"], shift)
    assert found == expected


BETA2 = [f"beta2/{task}" for task in TASKS]


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ((0.1, 0.1, 0.0), "fails"),
        ((0.1, 0.1, -0.1), "holds"),
        ((0.1, 0.0, 0.0), "holds"),
        ((0.0, 0.0, 0.0), "holds"),
    ],
)
def test_the_defaults_beta2_changes_for_one_better_on_two_and_worse_on_none(
    gains, expected
):
    def shift(name, settings):
        return gains[BETA2.index(name)] * (settings["beta2"] == 0.99)

    assert answer("default-beta2", BETA2, shift) == expected


@pytest.mark.parametrize(
    ("gain", "expected"), [(0.1, "holds"), (0.0, "undecided"), (-0.1, "fails")]
)
def test_the_default_must_lead_on_both_texts(gain, expected):
    def shift(_, settings):
        return -gain * (settings["optimizer"] == "acprop")

    texts = ["language/gpt-bytes", "language/gpt-code"]
    assert answer("default-on-longer-runs", texts, shift, **LOSS) == expected


def is_published(settings):
    return settings.get("convention") == "authors" and settings["optimizer"] == "acprop"


@pytest.mark.parametrize(
    ("question", "studies"),
    [
        ("translation-again", ["second-look/de-en"]),
        ("images-again", ["second-look/resnet34", "second-look/densenet121"]),
    ],
)
@pytest.mark.parametrize(
    ("gain", "expected"), [(0.1, "holds"), (0.0, "undecided"), (-0.1, "fails")]
)
def test_the_published_one_must_lead_where_it_is_looked_at_again(
    question, studies, gain, expected
):
    def shift(_, settings):
        return gain * is_published(settings)

    assert answer(question, studies, shift) == expected


@pytest.mark.parametrize(
    ("gain", "expected"), [(50.0, "holds"), (0.0, "undecided"), (-50.0, "fails")]
)
def test_the_default_must_lead_without_an_average_on_both_gans(gain, expected):
    def shift(_, settings):
        return -gain * (settings["optimizer"] == "acprop" and settings["beta1"] == 0)

    found = answer(
        "no-average-in-gans", ["second-look/dcgan", "second-look/rlgan"], shift,
        metric="test_fd_lite0_80", level=600.0,
    )  # fmt: skip
    assert found == expected


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ((-0.1, 0.1, 0.0), "holds"),
        ((0.0, -0.1, -0.1), "undecided"),
        ((-0.1, -0.1, -0.1), "fails"),
    ],
)
def test_one_eps_of_three_is_enough_to_be_faster(gains, expected):
    by_eps = dict(zip((1e-12, 1e-10, 1e-8), gains, strict=True))

    def shift(_, settings):
        return -by_eps[settings["eps"]] if is_published(settings) else 0.0

    found = answer(
        "centered-faster-again", ["second-look/mnist-eps"], shift,
        metric="train_loss", ruleset="paper",
    )  # fmt: skip
    assert found == expected


@pytest.mark.parametrize("name", BY_NAME)
def test_a_question_without_its_runs_is_undecided_and_names_the_command(name):
    verdict = BY_NAME[name].verdict(Evidence({}))
    assert (verdict.verdict, verdict.owner) == ("undecided", "ours")
    assert "acprop bench study" in verdict.evidence


@pytest.mark.parametrize("name", BY_NAME)
def test_the_rule_of_every_question_is_in_the_document(name):
    text = (ROOT / "docs/evidence.md").read_text("utf-8")
    rules = text[: text.index("## Verdicts")]
    assert f"`{name}`" in rules
