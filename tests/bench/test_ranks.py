"""Two real ranks under torchrun train as one process does at the same global batch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acprop import ranks
from acprop.bench.optimizers import build
from acprop.cli.app import app
from acprop.tasks import translation
from acprop.tasks.language import LanguageSettings, LanguageTask
from acprop.tasks.vision import VisionSettings, VisionTask

from .ten_words import CORPUS, SMALL
from .wide import ROUNDED, begin_wide

HERE = Path(__file__).parent
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
WORDS = [
    "-m",
    "acprop",
    "bench",
    "run",
    "vision/mnist-mlp",
    "--optimizer",
    "acprop",
    "--lr",
    "1e-3",
    "--json",
    "--task",
    "n_train=2560",
    "--task",
    "n_validation=1000",
    "--task",
    "n_test=1000",
    "--task",
    "batch=128",
]


def start(*words):
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def record(*words):
    """The one line on stdout: the first rank alone speaks."""
    (line,) = start(*words).splitlines()
    return json.loads(line)


def timeless(history):
    timed = ("wall_seconds", "evaluation_seconds", "samples_per_second")
    return [{k: v for k, v in entry.items() if k not in timed} for entry in history]


@pytest.fixture(scope="module")
def both(mnist, tmp_path_factory):
    """The folder and the record of a whole run by two ranks."""
    del mnist
    folder = tmp_path_factory.mktemp("both")
    return folder, record(*TORCHRUN, *WORDS, "--runs", folder)


@pytest.fixture(scope="module")
def report(mnist, tmp_path_factory):
    """What ranks_program.py saw."""
    del mnist
    folder = tmp_path_factory.mktemp("program")
    start(*TORCHRUN, HERE / "ranks_program.py", folder)
    return json.loads((folder / "report.json").read_text())


def test_two_ranks_have_the_loss_curve_of_one_process(both, tmp_path):
    """float32: the mean of two halves is the mean of the whole, but for the last bits.

    Where one of them carries the input of a ReLU across zero, the curves part a little
    (wide.py): 1e-2 leaves room, and the test in float64 below does not need it.
    """
    folder, two = both
    alone = CliRunner().invoke(app, [*WORDS[2:], "--runs", str(tmp_path)])
    one = json.loads(alone.stdout)
    assert one["run"] == two["run"]
    assert one["status"] == two["status"] == "done"
    assert len(one["history"]) == len(two["history"]) == 3
    for a, b in zip(one["history"], two["history"], strict=True):
        for name in ("train_loss", "val_loss", "test_loss", "second_moment"):
            assert a[name] == pytest.approx(b[name], rel=1e-2), name
        for name in ("train", "val", "test"):
            accuracy = f"{name}_accuracy"
            assert a[accuracy] == pytest.approx(b[accuracy], abs=0.01), name
    files = {path.name for path in (folder / two["run"]).iterdir()}
    assert files == {"run.json", "metrics.jsonl"}


@pytest.mark.slow  # torchrun twice more
def test_two_ranks_resume_from_the_command_line_to_the_same_bits(both, tmp_path):
    words = [*TORCHRUN, *WORDS, "--runs", tmp_path]
    stopped = record(*words, "--time-limit", "0.001")
    assert stopped["status"] == "timeout"
    assert stopped["final"]["steps"] == 1
    _, whole = both
    resumed = record(*words, "--resume")
    assert resumed["status"] == "done"
    assert timeless(resumed["history"]) == timeless(whole["history"])
    assert timeless([resumed["final"]]) == timeless([whole["final"]])


def test_ranks_stopped_in_the_middle_of_an_epoch_resume_to_the_same_bits(report):
    """One rank hears the signal, both stop; metrics of the cut epoch are whole."""
    seen = report["resumed"]
    assert seen["statuses"] == [["done", "interrupted", "done"]] * 2
    (history, final), (again, final_again) = seen["runs"]
    assert len(history) == 2
    assert timeless(again) == timeless(history)
    assert timeless([final_again]) == timeless([final])


def test_the_first_rank_alone_writes(report):
    first, second = report["resumed"]["writes"]
    assert first > 0
    assert second == 0


def test_ranks_have_the_losses_of_one_process(report):
    """And exchange gradients once a step."""
    small = {"batch": 64, "n_train": 640, "n_validation": 600, "n_test": 600}
    task = VisionTask(VisionSettings("mnist", "mlp", **small))
    session = begin_wide(task, build("sgd", {"lr": 0.1}))
    alone = [session.train_step()["loss"] for _ in range(10)]
    first, second = report["exchanges"]["losses"]
    assert first == second
    assert first == pytest.approx(alone, rel=ROUNDED)
    assert report["exchanges"]["exchanges"] == 10
    seen, own = report["exchanges"]["seen"], session.evaluate()
    assert seen["samples"] == own["samples"] == 640
    assert seen["train_loss"] == pytest.approx(own["train_loss"], rel=ROUNDED)


def test_ranks_clip_the_gradient_of_the_whole_batch(report):
    """With SGD: half a gradient, or one clipped before it was exchanged, would show.

    Three windows are judged in one batch: the second rank has none.
    """
    seen = report["language"]
    small = {"layers": 1, "width": 16, "heads": 2, "context": 12, "batch": 8}
    judged = {"n_validation": 3, "n_test": 3}
    alone, unclipped = (
        LanguageTask(
            LanguageSettings(seen["text"], **small, **judged, clip_norm=norm)
        ).begin(0, build("sgd", {"lr": 0.5}))
        for norm in (0.2, None)
    )
    losses = [alone.train_step()["loss"] for _ in range(10)]
    first, second = seen["losses"]
    assert first == second
    assert first == pytest.approx(losses, rel=1e-5)
    others = [unclipped.train_step()["loss"] for _ in range(10)]
    assert abs(others[-1] - losses[-1]) > 0.01
    assert len(set(seen["weights"])) == 1
    own = alone.evaluate()
    assert seen["seen"][0] == seen["seen"][1] == pytest.approx(own, rel=1e-5)


def test_ranks_that_translate_have_the_losses_of_one_process(report, monkeypatch):
    """Batches of few rows: some ranks have none, all have unlike sums."""
    monkeypatch.setattr(translation, "load_corpus", lambda _: CORPUS)
    made = translation.TranslationSettings(**{**SMALL, "dropout": 0.0, "tokens": 60})
    alone = translation.TranslationTask(made).begin(0, build("sgd", {"lr": 0.5}))
    rows = [len(alone.rows(step)) for step in range(20)]
    assert min(rows) < 4 < max(rows)
    losses = [alone.train_step()["loss"] for _ in range(20)]
    seen = report["translated"]
    first, second = seen["losses"]
    assert first == second
    assert first == pytest.approx(losses, rel=1e-4)
    assert len(set(seen["weights"])) == 1
    assert seen["seen"][0] == seen["seen"][1]
    assert seen["seen"][0]["samples"] == sum(rows)


def test_ranks_judge_one_network(report):
    """Each has its own BatchNorm averages while it trains, on the CPU at least."""
    seen = report["batch_norm"]
    assert len(set(seen["weights"])) == 1
    assert len(set(seen["before"])) == 2
    assert set(seen["after"]) == {seen["before"][0]}
    judged, first, second = seen["val_loss"]
    assert judged == pytest.approx(first, rel=1e-5)
    assert first == second


def test_every_rank_hears_what_ranks_cannot_do(report):
    first, second = report["refused"]
    assert first == second
    batch, graph = first
    assert batch == "batch must be a multiple of the 2 ranks, got 63"
    assert graph.startswith("adahessian must run in one process, got 2 ranks")


def test_ranks_agree_on_a_flag_and_know_their_places(report):
    assert report["any_of"] == [[True, False]] * 2
    assert report["places"] == [[0, 2, True], [1, 2, False]]


@pytest.mark.parametrize("flag", [True, False])
def test_one_process_is_the_first_of_one(flag):
    with ranks.joined():
        assert (ranks.rank(), ranks.world(), ranks.is_first()) == (0, 1, True)
        assert ranks.any_of(flag) is flag
        ranks.wait()
