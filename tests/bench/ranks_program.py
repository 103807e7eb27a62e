"""What test_ranks.py starts under torchrun: every rank runs this, the first reports.

torchrun … ranks_program.py FOLDER      writes FOLDER/report.json
"""

import json
import os
import signal
import sys
from pathlib import Path

import torch
from ten_words import CORPUS
from ten_words import SMALL as SENTENCES
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.functional import cross_entropy
from wide import begin_wide

from acprop import ranks
from acprop.bench.optimizers import build
from acprop.bench.run import digest, run
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store
from acprop.tasks import translation
from acprop.tasks.language import LanguageSettings, LanguageTask
from acprop.tasks.vision import VisionSettings, VisionTask

SMALL = {"batch": 64, "n_train": 640, "n_validation": 600, "n_test": 600}
SETTINGS = {"dataset": "mnist", "net": "mlp", **SMALL}
WITH_BATCH_NORM = {"net": "resnet18", "width": 0.125, "depth": 0.5}
TEXT = {
    "layers": 1,
    "width": 16,
    "heads": 2,
    "context": 12,
    "batch": 8,
    "n_validation": 3,
    "n_test": 3,
    "clip_norm": 0.2,
}
SPEC = RunSpec("vision", SETTINGS, "acprop", {"lr": 1e-3}, epochs=2, seed=0)


class StopSecond:
    """A signal to the second rank alone, in the middle of the second epoch."""

    def step(self, step, total, loss):
        del total, loss
        if ranks.rank() == 1 and step == 14:
            os.kill(os.getpid(), signal.SIGTERM)

    def epoch(self, entry):
        """Not interested."""


def begin(**changes):
    task = VisionTask(VisionSettings(**SETTINGS | changes))
    return task.begin(0, build("acprop", {"lr": 1e-3}))


def from_all(value):
    gathered = [None] * ranks.world()
    distributed.all_gather_object(gathered, value)
    return gathered


def interrupted_and_resumed(folder):
    """One run whole, one stopped and resumed; and which rank wrote how many files."""
    writes = []
    plain_replace = os.replace

    def replace(part, path):
        writes.append(path)
        plain_replace(part, path)

    os.replace = replace
    task, factory = (
        VisionTask(VisionSettings(**SETTINGS)),
        build("acprop", {"lr": 1e-3}),
    )
    whole, parts = (Store(folder / name).folder(SPEC) for name in ("whole", "parts"))
    statuses = [
        run(SPEC, whole, task, factory),
        run(SPEC, parts, task, factory, watcher=StopSecond()),
        run(SPEC, parts, task, factory, resume=True),
    ]
    ranks.wait()
    os.replace = plain_replace
    return {
        "statuses": from_all(statuses),
        "writes": from_all(len(writes)),
        "runs": [(some.metrics(), some.read()["final"]) for some in (whole, parts)],
    }


def batch_norm():
    """BatchNorm's averages before and after judging, and the judgement of one net."""
    session = begin(**WITH_BATCH_NORM)
    for _ in range(3):
        session.train_step()
    before = from_all(digest(dict(session.net.named_buffers())))
    seen = session.evaluate()
    after = from_all(digest(dict(session.net.named_buffers())))
    x, y = session.feed.evaluation_rows("val", slice(0, 600))
    with torch.no_grad():
        loss = cross_entropy(session.net.eval()(x), y).item()
    weights = from_all(digest(dict(session.net.named_parameters())))
    return {
        "before": before,
        "after": after,
        "weights": weights,
        "val_loss": [seen["val_loss"], *from_all(loss)],
    }


def exchanges():
    """Losses of two ranks; how often gradients were exchanged.

    With SGD: an adaptive step would hide a gradient that is n times too large.
    """
    task = VisionTask(VisionSettings(**SETTINGS))
    session, exchanged = begin_wide(task, build("sgd", {"lr": 0.1})), []

    def exchange(state, bucket):
        exchanged.append(bucket.index())
        return allreduce_hook(state, bucket)

    session.model.register_comm_hook(None, exchange)
    losses = [session.train_step()["loss"] for _ in range(10)]
    return {
        "losses": from_all(losses),
        "exchanges": exchanged.count(0),
        "seen": session.evaluate(),
    }


def language(folder):
    """Losses of two ranks that read a text and clip its gradients, and the weights."""
    file = folder / "text.txt"
    if ranks.is_first():
        file.write_bytes(b"It is not down in any map; true places never are. " * 60)
    ranks.wait()
    task = LanguageTask(LanguageSettings(str(file), **TEXT))
    session = task.begin(0, build("sgd", {"lr": 0.5}))
    losses = [session.train_step()["loss"] for _ in range(10)]
    return {
        "text": str(file),
        "losses": from_all(losses),
        "seen": from_all(session.evaluate()),
        "weights": from_all(digest(session.net.state_dict())),
    }


def translated():
    """Losses of two ranks, of batches whose rows they cannot halve."""
    translation.load_corpus = lambda _: CORPUS
    changes = {"dropout": 0.0, "tokens": 60}
    made = translation.TranslationSettings(**{**SENTENCES, **changes})
    session = translation.TranslationTask(made).begin(0, build("sgd", {"lr": 0.5}))
    losses = [session.train_step()["loss"] for _ in range(20)]
    return {
        "losses": from_all(losses),
        "seen": from_all(session.evaluate()),
        "weights": from_all(digest(session.net.state_dict())),
    }


def refused():
    """What a rank hears that asks for what several ranks cannot do."""
    said = []
    for changes, name in (({"batch": 63}, "acprop"), ({}, "adahessian")):
        task = VisionTask(VisionSettings(**SETTINGS | changes))
        try:
            task.begin(0, build(name, {"lr": 1e-3}))
        except (ValueError, RuntimeError) as error:
            said.append(str(error))
    return said


def main(folder):
    torch.set_num_threads(1)
    with ranks.joined():
        report = {
            "resumed": interrupted_and_resumed(folder),
            "batch_norm": batch_norm(),
            "exchanges": exchanges(),
            "language": language(folder),
            "translated": translated(),
            "refused": from_all(refused()),
            "any_of": from_all([ranks.any_of(ranks.rank() == 1), ranks.any_of(False)]),
            "places": from_all([ranks.rank(), ranks.world(), ranks.is_first()]),
        }
        if ranks.is_first():
            (folder / "report.json").write_text(json.dumps(report))
    assert not ranks.is_distributed()


main(Path(sys.argv[1]))
ranks.leave(0)
