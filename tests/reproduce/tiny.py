"""A tuned study that takes seconds: two optimizers on 256 images."""

from contextlib import contextmanager

from acprop.bench.engines.work import work

STUDY = """
name = "vision/tiny"
title = "A tiny study"
place = "nowhere"
task = "vision"
shows = "curves"
metrics = ["train_loss", "test_accuracy"]
[task_settings]
dataset = "mnist"
net = "mlp"
width = 0.1
batch = 64
n_train = 256
n_validation = 200
n_test = 200
augment = false
[[arms]]
optimizer = "acprop"
settings = { lr = 1e-3 }
[[arms]]
optimizer = "sgd"
settings = { lr = 0.1 }
[scales.smoke]
note = "256 images of MNIST, two epochs"
epochs = 2
seeds = [0, 1]
seconds = 1
target = 0.3
tuning = { trials = 2, seeds = [10], space = "narrow-1" }
"""
SPACE = """
version = 1
note = "for a test"
[[spaces]]
optimizer = "acprop"
eps_place = "outside"
ranges = { lr = [1e-3, 1e-2], eps = [1e-10, 1e-4] }
[[spaces]]
optimizer = "sgd"
ranges = { lr = [1e-2, 1e-1] }
"""


def write(folder, study=STUDY, space=SPACE):
    """A folder of studies with this one."""
    (folder / "vision").mkdir(parents=True)
    (folder / "spaces").mkdir()
    (folder / "vision" / "tiny.toml").write_text(study, "utf-8")
    (folder / "spaces" / "narrow-1.toml").write_text(space, "utf-8")


class Here:
    """An engine that runs in this process; interrupted after so many runs."""

    def __init__(self, stop_after=None):
        self.stop_after, self.jobs = stop_after, []

    @contextmanager
    def open(self, root, n_runs):
        del root, n_runs
        yield self

    def room(self):
        return 1 - len(self.jobs)

    def submit(self, jobs):
        self.jobs += jobs

    def wait(self, seconds):
        del seconds
        if self.stop_after == 0:
            raise KeyboardInterrupt
        if self.stop_after is not None:
            self.stop_after -= 1
        job = self.jobs.pop()
        return [(job.spec.id, work(job, lambda _: None))]
