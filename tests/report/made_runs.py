"""Small runs and studies to report."""

from dataclasses import replace

from acprop.records import RunRecord, RunStatus, StudyRecord

TASK = {"dataset": "cifar10", "width": 0.25}


def run(optimizer="acprop", seed=0, values=(0.5, 0.6), *, status="done", **settings):
    """Validation follows the values; test is 0.1 below."""
    history = tuple(
        {"epoch": i, "train_loss": 1 - v, "val_accuracy": v, "test_accuracy": v - 0.1}
        for i, v in enumerate(values, 1)
    )
    settings = {"lr": 0.1, **settings}
    spec = {
        "task": "vision",
        "task_settings": TASK,
        "optimizer": optimizer,
        "settings": settings,
        "epochs": len(values),
        "seed": seed,
        "schedule": {"kind": "constant"},
    }
    name = "-".join(map(str, (optimizer, seed, *settings.values())))
    return RunRecord(
        name, "vgg", optimizer, settings, settings, seed, "smoke", spec,
        RunStatus(status), history,
        history[-1], 2.0, "abc", {"cores": 2}, {"cifar10": "official"},
    )  # fmt: skip


def seeds(optimizer, finals, **settings):
    """One run for each final value, with the seeds 0, 1, …"""
    return [run(optimizer, s, (0.3, v), **settings) for s, v in enumerate(finals)]


def study(runs, shows="curves", axes=(), **changes):
    made = StudyRecord(
        "vgg", "VGG-11", "Fig. 6", "smoke", shows, tuple(axes), ("test_accuracy",),
        "2 of 200 epochs.", tuple(r.run for r in runs),
    )  # fmt: skip
    return replace(made, **changes)


def with_status(runs, seed, status, message=""):
    """The same runs, one of which ended otherwise."""
    lost = {seed: {"status": RunStatus(status), "message": message}}
    return [replace(r, **lost.get(r.seed, {})) for r in runs]
