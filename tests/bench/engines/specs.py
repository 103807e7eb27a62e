"""Small runs on MNIST, and what of a run must be the same wherever it ran."""

from dataclasses import replace

from acprop.bench.optimizers import resolved
from acprop.bench.spec import RunSpec
from acprop.bench.store import Store

TASK = {
    "dataset": "mnist",
    "net": "mlp",
    "n_train": 512,
    "n_validation": 200,
    "n_test": 200,
}
SPEC = RunSpec("vision", TASK, "acprop", resolved("acprop", {"lr": 1e-3}), 2, 0)
SPECS = [replace(SPEC, seed=seed) for seed in range(3)]
# Long enough to be killed on the way: 640 steps, and a checkpoint after every 64.
LONG = replace(SPEC, epochs=10, task_settings=TASK | {"batch": 8})
TIMED = ("seconds", "per_second")


def timeless(entry):
    return {key: value for key, value in entry.items() if not key.endswith(TIMED)}


def same(root, spec):
    """A run without where and how fast it ran; the state's hash is in `final`."""
    record = Store(root).folder(spec).record(study="s", scale="smoke")
    history = [timeless(entry) for entry in record.history]
    return record.spec, record.status, history, timeless(record.final)


def attempts(root, spec):
    """From which step each attempt went on."""
    known = Store(root).folder(spec).read()["attempts"]
    return [attempt["from_step"] for attempt in known]
