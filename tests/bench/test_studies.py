"""The studies: every file can be run, and the paper's scale is the paper's."""

import math
from functools import cache
from itertools import product
from pathlib import Path

import pytest
import torch

from acprop.bench.optimizers import build
from acprop.bench.schedules import schedule
from acprop.bench.studies import StudyFolder, study_folder
from acprop.bench.tasks import read_settings
from acprop.records import RunRecord, read
from acprop.report.statistics import arms_of, over_seeds
from acprop.tasks import nets
from acprop.tasks.data import NAMES, describe
from acprop.tasks.features import metric_of

SHELF = study_folder(Path(__file__).parents[2] / "studies")
TUNED_ON = ["gpt-bytes", "vgg-batchnorm", "vgg-plain"]
CORNERS = [
    "corners/dial",
    "corners/gpt-bytes",
    "corners/published-eps",
    "corners/vgg-batchnorm",
    "corners/vgg-plain",
]
BETA2_OF_THE_DEFAULT = [f"beta2/{name}" for name in TUNED_ON]
FACTORIAL = [f"factorial/{name}" for name in TUNED_ON]
DEFAULT = [
    "default/dcgan",
    "default/gpt-bytes",
    "default/mnist-mlp",
    "default/ro-en",
    "default/vgg-batchnorm",
    "default/vgg-plain",
]
NMT = ["nmt/de-en", "nmt/en-vi", "nmt/ja-en", "nmt/ro-en"]
GANS = ["gan/dcgan", "gan/rlgan", "gan/sagan", "gan/sngan"]
SMALL_STATE = [
    "small-state/gpt-bytes",
    "small-state/mnist-mlp",
    "small-state/vgg-plain",
]
NAMED = [
    *BETA2_OF_THE_DEFAULT,
    *CORNERS,
    *DEFAULT,
    *FACTORIAL,
    *GANS,
    "language/gpt-bytes",
    "language/gpt-cautious",
    "language/gpt-code",
    *NMT,
    "rl/dqn-cartpole",
    "rl/dqn-four-rooms",
    "second-look/dcgan",
    "second-look/de-en",
    "second-look/densenet121",
    "second-look/mnist-eps",
    "second-look/resnet34",
    "second-look/rlgan",
    *SMALL_STATE,
    "today/gpt-bytes",
    "today/vgg-batchnorm",
    "vision/cifar10-densenet121",
    "vision/cifar10-resnet34",
    "vision/cifar10-vgg11",
    "vision/imagenet-resnet18",
    "vision/mnist-mlp",
    "vision/mnist-tuned",
    "vision/vgg-adashift-lr",
    "vision/vgg-amsgrad-lr",
    "vision/vgg-beta1",
    "vision/vgg-beta2",
    "vision/vgg-lr-eps",
    "vision/vgg-without-batchnorm",
    "vision/wrn-avagrad",
]
VISION = [name for name in NAMED if name.startswith("vision/")]
SHAPES = {"mnist": (1, 28, 28), "imagenet": (3, 224, 224)}


def test_every_experiment_has_its_study():
    assert SHELF.names() == NAMED


@pytest.mark.parametrize("name", DEFAULT)
def test_the_default_is_searched_with_one_seed_and_compared_on_five_others(name):
    study = SHELF.study(name)
    assert list(study.scales) == ["smoke", "search", "small"]
    assert {s: tuple(study.scales[s].seeds) for s in SEEDS} == SEEDS
    searched, compared = (
        {(p.spec.optimizer, str(p.spec.settings)) for p in study.planned(s)}
        for s in SEEDS
    )
    assert compared < searched


@pytest.mark.parametrize("scale", ["search", "small"])
@pytest.mark.parametrize("name", DEFAULT)
def test_the_records_of_the_default_are_the_runs_that_its_study_plans(name, scale):
    study = SHELF.study(name)
    path = SHELF.root.parent / "results" / f"{name}-{scale}.jsonl"
    recorded = [r.run for r in read(path) if isinstance(r, RunRecord)]
    assert recorded == [p.spec.id for p in study.planned(scale)]
    searched, planned = (
        {_without(p.spec, "lr", "beta2") for p in study.planned(s)}
        for s in ("search", scale)
    )
    assert planned == searched  # everyone who was searched is compared


def _without(spec, *names):
    return spec.optimizer, str(
        {k: v for k, v in spec.settings.items() if k not in names}
    )


SEEDS = {"search": (0,), "small": (1, 2, 3, 4, 5)}


@pytest.mark.parametrize("name", VISION)
def test_every_run_of_every_scale_can_be_built(name):
    """Nothing is trained: names, settings, schedules and shapes are checked."""
    study = SHELF.study(name)
    assert [s for s in study.scales if s != "claims"] == ["smoke", "small", "paper"]
    shapes = {}
    for scale in study.scales:
        for planned in study.planned(scale):
            spec = planned.spec
            build(spec.optimizer, spec.settings)
            made = read_settings("vision", spec.task_settings)
            assert made.dataset in NAMES
            schedule(**spec.schedule, epochs=spec.epochs, steps_per_epoch=10)(0)
            shape = (made.net, made.width, made.depth, made.dataset, made.size)
            shapes[shape] = made
    for made in shapes.values():
        build_on_meta(made)


def build_on_meta(made):
    channels, height, width = SHAPES.get(made.dataset, (3, 32, 32))
    image = (channels, made.size or height, made.size or width)
    with torch.device("meta"):
        nets.build(
            made.net,
            n_classes=describe(made.dataset).n_classes or 1000,
            image=image,
            stem=made.stem,
            width=made.width,
            depth=made.depth,
        )


GPT_BYTES = SHELF.study("language/gpt-bytes")


def test_every_run_of_the_gpt_can_be_built_at_the_size_its_note_says():
    sizes = {"smoke": (2, 64), "small": (2, 64), "paper": (6, 384)}
    assert list(GPT_BYTES.scales) == list(sizes)
    for scale, (layers, width) in sizes.items():
        for planned in GPT_BYTES.planned(scale):
            spec = planned.spec
            build(spec.optimizer, spec.settings)
            made = read_settings("language", spec.task_settings)
            assert made.dataset == "moby-dick"
            assert made.clip_norm == 1.0
            assert (made.layers, made.width) == (layers, width)
            n_steps = spec.epochs * made.steps_per_epoch
            assert f"{n_steps} steps" in GPT_BYTES.scale(scale).note
        with torch.device("meta"):
            n = sum(p.numel() for p in made.network().parameters())
        assert (
            scale == "smoke" or f"{n / 1e6:.2g} million" in GPT_BYTES.scale(scale).note
        )


def test_the_gpts_arms_differ_in_the_optimizer_alone():
    """Decoupled decay of 0.1, 5 % of warm-up and a cosine to a tenth for all."""
    points = [p.spec for p in GPT_BYTES.planned("small")]
    assert {spec.optimizer for spec in points} == {"acprop", "adamw", "adopt"}
    assert {(s.settings["weight_decay"], s.settings["decoupled"]) for s in points} == {
        (0.1, True)
    }
    assert {str(spec.schedule) for spec in points} == {
        "{'kind': 'cosine', 'warmup': 0.05, 'floor': 0.1}"
    }
    assert {spec.settings["lr"] for spec in points} == {2e-3, 6e-3, 2e-2}
    assert len(points) == 3 * 3 * 5
    assert {s.spec.settings["lr"] for s in GPT_BYTES.planned("smoke")} == {3e-3}


def test_an_arm_may_have_a_schedule_of_its_own():
    """Schedule-free AdamW brings its own; all others of the study have the scale's."""
    study = SHELF.study("today/gpt-bytes")
    own = {p.spec.optimizer: p.spec.schedule["kind"] for p in study.planned("small")}
    assert own.pop("schedulefree-adamw") == "constant"
    assert set(own.values()) == {"cosine"}


BETA2 = {0.95: (-1, -1), 0.99: (1, -1), 0.999: (-1, 1), 0.9999: (1, 1)}


def signs(settings):
    """The seven factors of docs/evidence.md, A to G, as -1 and 1."""
    two = {
        "centered": True, "delay": 1, "average": "after", "nesterov": True,
    }  # fmt: skip
    first = [1 if settings[name] == plus else -1 for name, plus in two.items()]
    start = 1 if settings["start"] == "first" else -1
    return *first, *BETA2[settings["beta2"]], start


@pytest.mark.parametrize("name", FACTORIAL)
def test_the_factorial_is_the_quarter_that_its_rules_name(name):
    """F = ABCD and G = ABCE, every other corner once, and nothing else differs."""
    arms = SHELF.study(name).arms_at("small")
    found = {signs(arm.settings) for arm in arms}
    assert len(found) == len(arms) == 32
    for a, b, c, d, e, f, g in found:
        assert (f, g) == (a * b * c * d, a * b * c * e)
    assert len({str(arm.grid) for arm in arms}) == 1
    assert len({arm.settings["weight_decay"] for arm in arms}) == 1


DQN = {"rl/dqn-cartpole": "CartPole-v1", "rl/dqn-four-rooms": "four-rooms"}


@pytest.mark.parametrize("study_name", DQN)
def test_every_run_of_the_dqn_can_be_built_and_is_as_long_as_its_note_says(study_name):
    study = SHELF.study(study_name)
    assert [s for s in study.scales if s != "search"] == ["smoke", "small", "paper"]
    for name, scale in study.scales.items():
        for planned in study.planned(name):
            spec = planned.spec
            build(spec.optimizer, spec.settings)
            made = read_settings("rl", spec.task_settings)
            assert made.env == DQN[study_name]
            n_steps = spec.epochs * made.steps_per_epoch
            warm = -(-made.warm_up // made.copies)  # rounds
            n_moves = round((warm + n_steps) * made.copies, -3)
            said = scale.note.replace(",", "")
            assert f"{n_moves} moves" in said
            assert f"{n_steps} steps" in said


def test_fig_8_has_ten_seeds_and_the_learning_rates_of_the_section_before():
    """Section 5: SGD 0.1 … 1e-5, the others 0.01 … 1e-5, in the log-grid."""
    points = SHELF.study("rl/dqn-four-rooms").planned("paper")
    assert {p.spec.seed for p in points} == set(range(10))
    lrs = {1e-2, 1e-3, 1e-4, 1e-5}
    names = ("adam", "adamw", "radam", "adashift", "adabelief", "acprop")
    for name, expected in {"sgd": lrs | {0.1}, **dict.fromkeys(names, lrs)}.items():
        assert {lr for (lr,) in grid("rl/dqn-four-rooms", name, "lr")} == expected


@pytest.mark.parametrize("name", NMT)
def test_translation_is_compared_as_in_table_3(name):
    """lr of the text and of appendix C; β1, β2, ε of the text; AVAGrad of Table 5."""
    study = SHELF.study(name)
    assert list(study.scales) == ["smoke", "small", "paper"]
    compared = ["acprop", "adabelief", "adam", "radam", "adashift"]
    for scale in study.scales:
        points = study.planned(scale)
        assert {p.spec.optimizer for p in points} >= set(compared)
        for planned in points[::50]:
            build(planned.spec.optimizer, planned.spec.settings)
            read_settings("translation", planned.spec.task_settings)
    grids = {
        "lr": {2e-4, 5e-4},
        "beta1": {0.9, 0.99, 0.999},
        "beta2": {0.98, 0.99, 0.999},
        "eps": {float(f"1e-{n}") for n in range(5, 17)},
    }
    for optimizer in compared:
        found = set(grid(name, optimizer, *grids))
        assert found == set(product(*grids.values()))
    tables = ("nmt/de-en", "nmt/ro-en")
    points = planned_at_full_size(name)
    assert ("avagrad" in {p.spec.optimizer for p in points}) == (name in tables)
    made = read_settings("translation", points[0].spec.task_settings)
    deep = (6, 512, 1024, 4, 0.3), (1, 512, 2048, 8, 0.1)
    sizes = (made.layers, made.width, made.hidden, made.heads, made.dropout)
    assert sizes == deep[name != "nmt/de-en"]


def test_the_settings_of_the_four_rooms_are_those_that_search_found_best():
    """By the return of the whole run, on seeds that no other scale has."""
    study = SHELF.study("rl/dqn-four-rooms")
    path = SHELF.root.parent / "results" / "rl" / "dqn-four-rooms-search.jsonl"
    searched = [r for r in read(path) if isinstance(r, RunRecord)]
    assert [r.run for r in searched] == [p.spec.id for p in study.planned("search")]
    best = {}
    for arm in arms_of(searched):
        value = over_seeds(arm, "mean_return").mean if arm.done else 0.0
        key = arm.runs[0].optimizer, arm.settings.get("convention")
        found = (value, arm.runs[0].settings)
        best[key] = max(best.get(key, found), found, key=lambda pair: pair[0])
    for scale in ("smoke", "small"):
        chosen = [p.spec for p in study.planned(scale)]
        for spec in chosen:
            key = spec.optimizer, spec.settings.get("convention")
            assert spec.settings == best[key][1]
        assert not {spec.seed for spec in chosen} & {r.seed for r in searched}


@pytest.mark.parametrize("name", GANS)
def test_a_gan_is_compared_as_in_table_4(name):
    """β1 = 0.5 and lr 2e-4 for all, ε = 1e-16 of appendix C in the authors' way."""
    study = SHELF.study(name)
    assert list(study.scales) == ["smoke", "search", "small", "paper"]
    for scale in study.scales:
        for planned in study.planned(scale):
            spec = planned.spec
            build(spec.optimizer, spec.settings)
            made = read_settings("gan", spec.task_settings)
            assert name == f"gan/{made.kind}"
            assert spec.settings["beta1"] == 0.5
    points = [p.spec for p in study.planned("paper")]
    assert {"adam", "radam", "adashift", "adabelief", "acprop"} <= {
        spec.optimizer for spec in points
    }
    adaptive = [spec for spec in points if spec.optimizer != "avagrad"]
    assert {spec.settings["lr"] for spec in adaptive} == {2e-4}
    assert len({str(spec.task_settings) for spec in points}) == 1
    made = read_settings("gan", points[0].task_settings)
    assert (made.width, made.latent, made.batch) == (1.0, 128, 64)
    assert made.n_discriminator == (5 if made.kind in ("sngan", "sagan") else 2)
    assert made.features == "inception"
    authors = [
        s
        for s in adaptive
        if (s.optimizer, s.settings.get("convention")) == ("acprop", "authors")
    ]
    assert {spec.settings["eps"] for spec in authors} == {1e-16}


@pytest.mark.parametrize("name", GANS)
def test_the_distance_shown_is_the_one_that_is_measured(name):
    """A scale with other features has another metric, and says so."""
    study = SHELF.study(name)
    for scale in study.scales:
        asked = {p.spec.task_settings.get("features") for p in study.planned(scale)}
        ((features,), record) = asked, study.record(scale, [], [])
        assert record.metrics[0] == f"test_{metric_of(features or 'lite0')}"
        assert ("fid" in record.metrics[0]) == (scale == "paper")


@pytest.mark.parametrize("name", GANS)
def test_b2_and_eps_are_searched_as_in_the_paper(name):
    specs = [p.spec for p in SHELF.study(name).planned("search")]
    assert {s.seed for s in specs}.isdisjoint(SHELF.study(name).scale("paper").seeds)
    adam = [s.settings for s in specs if s.optimizer == "adam"]
    assert {s["beta2"] for s in adam} == {0.98, 0.99, 0.999}
    assert {s["eps"] for s in adam} == {float(f"1e-{n}") for n in range(5, 17)}


@pytest.mark.parametrize("name", NAMED)
def test_no_run_is_planned_twice(name):
    study = SHELF.study(name)
    for scale in study.scales:
        ids = [planned.spec.id for planned in study.planned(scale)]
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", NAMED)
def test_every_scale_says_how_it_differs_from_the_paper(name):
    for scale in SHELF.study(name).scales.values():
        assert len(scale.note) > 20


@pytest.mark.parametrize("name", NAMED)
def test_a_title_names_the_data_that_a_scale_trains_on(name):
    """ResNet-18 on ImageNet is none where CIFAR-10 stands in for it."""
    study = SHELF.study(name)
    own = study.task_settings.get("dataset")
    for scale, about in study.scales.items():
        used = about.task_settings.get("dataset", own)
        title = study.record(scale, [], []).title
        assert (title == study.title) == (used == own)


CIFAR = [name for name in VISION if "cifar10" in name or "vgg" in name]


@pytest.mark.parametrize("name", CIFAR)
def test_the_papers_scale_is_the_papers(name):
    """Section 5: batch 128, 200 epochs, ×0.1 at 150, L2 of 5e-4, AdamW's 5e-2."""
    for planned in SHELF.study(name).planned("paper"):
        spec = planned.spec
        assert spec.task_settings["batch"] == 128
        assert spec.epochs == 200
        assert spec.schedule == {"kind": "step", "at": [150], "by": 0.1}
        made = read_settings("vision", spec.task_settings)
        assert (made.width, made.depth, made.n_train) == (1.0, 1.0, None)
        decay = 5e-2 if spec.optimizer == "adamw" else 5e-4
        assert spec.settings["weight_decay"] == decay
        assert spec.settings["decoupled"] == (spec.optimizer == "adamw")


def test_imagenet_carries_the_papers_table_of_hyper_parameters():
    """Appendix C: ACProp on ImageNet with lr 1e-3, β = (0.9, 0.999), ε = 1e-12."""
    points = SHELF.study("vision/imagenet-resnet18").planned("paper")
    assert {p.spec.task_settings["dataset"] for p in points} == {"imagenet"}
    assert {p.spec.task_settings["net"] for p in points} == {"resnet18"}
    (ours,) = (p.spec.settings for p in points if p.study_settings.get("eps") == 1e-12)
    assert (ours["lr"], ours["beta1"], ours["beta2"]) == (1e-3, 0.9, 0.999)


def test_avagrad_begins_where_the_paper_says_it_must():
    """Section 5's remark: AVAGrad's own lr = 0.1, ε = 0.1; CIFAR-10 and 100."""
    assert grid("vision/wrn-avagrad", "avagrad", "lr", "eps") == {(0.1, 0.1)}
    points = SHELF.study("vision/wrn-avagrad").planned("paper")
    sets = {(p.spec.optimizer, p.spec.task_settings["dataset"]) for p in points}
    assert sets >= {
        (o, d) for o in ("avagrad", "acprop") for d in ("cifar10", "cifar100")
    }
    assert {p.spec.task_settings["net"] for p in points} == {"wrn-28-10"}


def test_the_smaller_scales_of_the_heat_map_are_parts_of_the_papers():
    for name in ("vision/vgg-lr-eps", "vision/vgg-beta1", "vision/vgg-beta2"):
        study = SHELF.study(name)
        whole = {str(p.study_settings) for p in study.planned("paper")}
        assert {str(p.study_settings) for p in study.planned("smoke")} < whole


@cache
def planned_at_full_size(name):
    return SHELF.study(name).planned("paper")


def grid(name, optimizer, *keys):
    points = planned_at_full_size(name)
    return {
        tuple(p.spec.settings[key] for key in keys)
        for p in points
        if p.spec.optimizer == optimizer
    }


def test_the_grids_are_those_of_the_figures():
    """Fig. 8: lr 1e-1 … 1e-4, ε 1e-5 … 1e-9; Fig. 6 c, d: lr 1e-1 … 1e-5."""
    lrs, eps = (0.1, 0.01, 0.001, 0.0001), (1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
    expected = {(lr, e) for lr in lrs for e in eps}
    for optimizer in ("acprop", "adashift"):
        assert grid("vision/vgg-lr-eps", optimizer, "lr", "eps") == expected
    sweep = {(lr,) for lr in (*lrs, 1e-5)}
    assert grid("vision/vgg-adashift-lr", "adashift", "lr") == sweep
    assert grid("vision/vgg-amsgrad-lr", "amsgrad", "lr") == sweep
    assert grid("vision/vgg-amsgrad-lr", "acprop", "lr") == {(1e-3,)}


def test_the_smoke_scale_stays_small():
    """One or two minutes each on two cores, by the seconds the files state."""
    total = 0.0
    for name in NAMED:
        study = SHELF.study(name)
        minutes = len(study.planned("smoke")) * study.scale("smoke").seconds / 120
        assert minutes <= 2
        total += minutes
    assert total < 22


GOOD = """
name = "vision/tiny"
title = "t"
place = "p"
task = "vision"
shows = "curves"
metrics = ["test_accuracy"]
task_settings = { dataset = "mnist", net = "mlp" }
[[arms]]
optimizer = "acprop"
settings = { lr = 1e-3 }
grid = { beta1 = [0.5, 0.9] }
[scales.smoke]
note = "n"
epochs = 1
seeds = [0, 1]
"""


def shelf(tmp_path, text):
    file = tmp_path / "vision" / "tiny.toml"
    file.parent.mkdir()
    file.write_text(text, "utf-8")
    return StudyFolder(tmp_path)


def test_a_grid_and_seeds_become_runs_with_the_settings_asked_for(tmp_path):
    planned = shelf(tmp_path, GOOD).study("vision/tiny").planned("smoke")
    assert [(p.spec.settings["beta1"], p.spec.seed) for p in planned] == [
        (0.5, 0),
        (0.5, 1),
        (0.9, 0),
        (0.9, 1),
    ]
    assert planned[0].study_settings == {"lr": 1e-3, "beta1": 0.5}
    assert math.isclose(planned[0].spec.settings["beta2"], 0.999)


VALID = "vision/tiny.toml must be a valid file, got"
BAD = [
    (
        GOOD.replace("title", "titel"),
        f"{VALID} title: Field required; titel: no such key; did you mean "
        r"title\?$",
    ),
    (
        GOOD.replace('task = "vision"', 'task = "visoin"'),
        f"{VALID} task: task must be one of vision, language, translation, gan, rl, "
        r"got 'visoin'; did you mean vision\?$",
    ),
    (
        GOOD.replace('"vision/tiny"', '"vision/other"'),
        f"{VALID} name: name must be one of vision/tiny, got 'vision/other'",
    ),
    (
        GOOD.replace("metrics", 'replaces = ["vision/tyni"]\nmetrics', 1),
        f"{VALID} replaces: replaces must be one of vision/tiny, got 'vision/tyni'",
    ),
    ("= nonsense", f"{VALID} .*line 1"),
    (
        GOOD.replace("epochs", "epoch"),
        f"{VALID} scales.smoke.epochs: Field required; "
        r"scales.smoke.epoch: no such key; did you mean epochs\?$",
    ),
    (
        GOOD.replace("[0, 1]", '["0"]'),
        f"{VALID} scales.smoke.seeds.0.: Input should be a val",
    ),
    (
        GOOD.replace("grid =", 'scales = ["smok"]\ngrid ='),
        f"{VALID} arms.0.: scales must be one of smoke, got 'smok'; did you mean smoke",
    ),
    (
        GOOD + "grid = { beta2 = [0.9] }",
        f"{VALID} scales.smoke: grid must be one of beta1, got 'beta2'; did you mean",
    ),
    (
        GOOD.replace('"acprop"', '"acpropp"'),
        f"{VALID} arms.0.: optimizer .*, got 'acpropp'; did you mean",
    ),
    (
        GOOD.replace('"acprop"', '"nosadam"'),
        f"{VALID} arms.0.: optimizer .* on offer, got nosadam; no maintained",
    ),
    (
        GOOD.replace("{ lr =", "{ weight_decy = 1, lr ="),
        f"{VALID} arms.0.: settings of acprop .*, got weight_decy; did "
        "you mean weight_decay",
    ),
    (
        GOOD.replace("grid = { beta1", "grid = { beta_1"),
        f"{VALID} arms.0.: settings .*, got beta_1; did you mean beta1",
    ),
    (
        GOOD.replace("[0.5, 0.9]", "[0.5, 1.5]"),
        rf"{VALID} arms.0.: beta1 must be in \[0, 1\), got 1.5$",
    ),
    (
        GOOD + "grid = { beta1 = [1.5] }",
        rf"{VALID} arms.0.: beta1 must be in \[0, 1\), got 1.5$",
    ),
    (
        GOOD.replace("net =", "nett ="),
        f"{VALID} task_settings: a vision task's .*, got nett; did you",
    ),
    (
        GOOD + "task_settings = { n_trian = 5 }",
        f"{VALID} task_settings: .*, got n_trian; did you mean n_train",
    ),
    (
        GOOD + "tuning = { seeds = [1, 2] }",
        f"{VALID} scales.smoke: tuning.seeds must be .* nothing else, got 1 among",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_file_is_refused_with_its_name(tmp_path, text, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        shelf(tmp_path, text).study("vision/tiny")
    assert "\n" not in str(caught.value)


def test_an_unknown_study_or_scale_is_refused(tmp_path):
    good = shelf(tmp_path, GOOD)
    with pytest.raises(
        ValueError, match=r"^study must be one of vision/tiny, got 'foo'$"
    ):
        good.study("foo")
    with pytest.raises(ValueError, match=r"^scale must be one of smoke, got 'big'$"):
        good.study("vision/tiny").planned("big")


def test_studies_are_found_around_here_and_else_in_the_checkout(tmp_path, monkeypatch):
    monkeypatch.delenv("ACPROP_STUDIES", raising=False)
    monkeypatch.chdir(tmp_path)
    assert study_folder().root == SHELF.root
    (tmp_path / "deep" / "studies").mkdir(parents=True)
    shelf(tmp_path / "deep" / "studies", GOOD)
    assert study_folder().root == SHELF.root
    (tmp_path / "deep" / "er").mkdir()
    monkeypatch.chdir(tmp_path / "deep" / "er")
    assert study_folder().root == tmp_path / "deep" / "studies"


def test_studies_are_found_where_told_then_around_here(tmp_path, monkeypatch):
    monkeypatch.delenv("ACPROP_STUDIES", raising=False)
    assert study_folder().root.name == "studies"
    (tmp_path / "mine").mkdir()
    shelf(tmp_path / "mine", GOOD)
    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path / "mine"))
    assert study_folder().names() == ["vision/tiny"]
    assert study_folder(SHELF.root).names() == NAMED
    monkeypatch.setenv("ACPROP_STUDIES", str(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"^studies must be a folder of TOML files"):
        study_folder()
