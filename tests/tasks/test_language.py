"""The language task: pairs of runs that read the same, windows, metrics, resuming."""

import copy
import io
import math
import re
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from acprop.bench.optimizers import build
from acprop.bench.run import digest
from acprop.bench.tasks import read_settings
from acprop.tasks import language
from acprop.tasks.language import LanguageSettings, LanguageTask

# Each part has letters of its own, so that what was read tells where from.
TRAIN = (bytes(range(97, 123)) * 70)[:1818]  # a … z
VAL = (bytes(range(48, 58)) * 11)[:101]  # 0 … 9
TEST = (bytes(range(65, 91)) * 4)[:101]  # A … Z
SMALL = {
    "layers": 2,
    "width": 16,
    "heads": 2,
    "context": 10,
    "batch": 8,
    "steps_per_epoch": 4,
    "n_validation": 7,
    "n_test": None,
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "letters.txt"
    path.write_bytes(TRAIN + VAL + TEST)
    return path


@pytest.fixture(scope="module")
def task(file):
    def make(**changes):
        return LanguageTask(LanguageSettings(**{"text": str(file)} | SMALL | changes))

    return make


def begin(task, name="acprop", seed=0, **options):
    return task.begin(seed, build(name, {"lr": 1e-3, **options}))


def weights(session):
    return digest(session.net.state_dict())


def steps(session, n):
    return [session.train_step()["loss"] for _ in range(n)]


def read_by(session, n_steps):
    """All that the network was given in so many steps."""
    seen = []
    net = session.net
    hook = net.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    steps(session, n_steps)
    hook.remove()
    return torch.cat(seen)


def test_the_parts_are_the_ones_these_tests_think_they_are(task):
    text = task().text
    parts = [part.numpy().tobytes() for part in (text.train, text.val, text.test)]
    assert parts == [TRAIN, VAL, TEST]


@pytest.mark.parametrize("name", ["sgd", "adamw", "lookahead", "adahessian"])
def test_every_optimizer_with_a_seed_sees_the_same_weights_and_bytes(task, name):
    """AdaHessian draws random numbers of its own; nobody's data may feel it."""
    one, other = begin(task()), begin(task(), name)
    assert weights(one) == weights(other)
    assert torch.equal(read_by(one, 6), read_by(other, 6))
    assert weights(one) != weights(other)


def test_another_seed_has_other_weights_and_other_sequences(task):
    one, two = (begin(task(), seed=seed) for seed in (0, 1))
    assert weights(one) != weights(two)
    assert not torch.equal(one.sequences(0), two.sequences(0))


def test_a_steps_sequences_follow_from_the_seed_and_the_step_alone(task):
    one, other = begin(task()), begin(task(), "sgd")
    forth = [one.sequences(step) for step in range(5)]
    torch.rand(100)
    back = [other.sequences(step) for step in reversed(range(5))]
    assert all(map(torch.equal, forth, reversed(back)))
    assert len({digest(batch) for batch in forth}) == 5
    steps(one, 3)
    assert torch.equal(read_by(one, 1), forth[3][:, :-1])


def test_only_the_training_part_is_read_and_all_of_it(task):
    """Where two places are left to begin at, both are: the last byte is read too."""
    session = begin(task())
    read = torch.cat([session.sequences(step) for step in range(100)])
    assert set(read.unique().tolist()) == set(TRAIN)
    session.text = replace(session.text, train=session.text.train[:12])
    assert set(rows(session.sequences(0))) == {TRAIN[:11], TRAIN[1:12]}


def test_a_byte_is_asked_for_after_those_before_it(task):
    """The alphabet again and again: the answer is the next letter."""
    session = begin(task())
    x, y = session._pair(session.sequences(0))
    assert x.shape == y.shape == (8, 10)
    assert torch.equal((x - 97 + 1) % 26, y - 97)


def rows(part):
    return [bytes(row.numpy().astype("uint8")) for row in part]


def test_windows_are_spread_evenly_and_never_overlap(task):
    """10 of 10 bytes have room in 101: all answers but the first byte, once each."""
    every = task(n_validation=None)
    assert rows(every.windows["val"]) == [VAL[i : i + 11] for i in range(0, 100, 10)]
    some = task(n_validation=4)
    assert rows(some.windows["val"]) == [VAL[i : i + 11] for i in (0, 25, 50, 75)]
    tested = task(n_test=2).windows["test"]
    assert rows(tested) == [TEST[i : i + 11] for i in (0, 50)]


def test_validation_is_the_same_for_all_seeds_and_batches(task):
    sessions = [begin(task(), seed=0), begin(task(batch=4), seed=1)]
    assert len({digest(s.windows["val"]) for s in sessions}) == 1


def test_what_is_judged_has_no_part_in_training(task):
    """Other validation and test windows, other losses, the same weights."""
    plain, other = task(), task()
    other.windows = {name: w.flip(1) for name, w in plain.windows.items()}
    sessions = [begin(plain), begin(other)]
    seen = []
    for session in sessions:
        steps(session, 6)
        seen.append(session.evaluate())
        steps(session, 3)
    assert seen[0]["val_loss"] != seen[1]["val_loss"]
    assert seen[0]["test_loss"] != seen[1]["test_loss"]
    assert weights(sessions[0]) == weights(sessions[1])


@pytest.mark.parametrize("name", ["acprop", "schedulefree-adamw"])
def test_evaluating_changes_nothing(task, name):
    often, never = begin(task(), name), begin(task(), name)
    for _ in range(3):
        steps(often, 1)
        first = often.evaluate()
    steps(never, 3)
    last = never.evaluate()
    assert first["val_loss"] == last["val_loss"]
    assert weights(often) == weights(never)


def test_the_metrics_are_those_computed_by_hand(task, monkeypatch):
    """Evaluated 4 at a time: once, and the 3 that are left."""
    monkeypatch.setattr(language, "EVALUATION_BATCH", 4)
    session = begin(task(second_moment=True))
    spied = copy.deepcopy(session.net)
    for epoch in range(2):  # an epoch's sums are its own
        losses = []
        for step in range(4):
            spied.load_state_dict(session.net.state_dict())
            batch = session.sequences(4 * epoch + step)
            losses.append(nats(spied, batch))
            assert steps(session, 1) == pytest.approx(losses[-1:], rel=1e-6)
        seen = session.evaluate()
        assert seen["train_loss"] == pytest.approx(sum(losses) / 4, rel=1e-6)
        assert seen["samples"] == 32
    for part in ("val", "test"):
        loss = nats(session.net, session.windows[part])
        assert seen[f"{part}_loss"] == pytest.approx(loss, rel=1e-6)
        bits = seen[f"{part}_loss"] / math.log(2)
        assert seen[f"{part}_bits_per_byte"] == bits
    state = session.optimizer.state.values()
    mean = torch.cat([s["exp_avg_sq"].flatten() for s in state]).double().mean()
    assert seen["second_moment"] == pytest.approx(mean.item(), rel=1e-12)


def nats(net, batch):
    logits = net(batch[:, :-1])
    return cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()).item()


def test_a_text_that_repeats_itself_is_learnt(tmp_path):
    """From ln 256 = 5.5 nats to almost none; seen: 0.02."""
    file = tmp_path / "again.txt"
    file.write_bytes(b"abcd" * 300)
    small = {"layers": 1, "width": 16, "heads": 2, "context": 8, "batch": 8}
    task = LanguageTask(
        LanguageSettings(str(file), **small, n_validation=None, n_test=None)
    )
    session = begin(task, "adamw", lr=1e-2)
    (first,) = steps(session, 1)
    assert first == pytest.approx(math.log(256), abs=0.2)
    steps(session, 100)
    seen = session.evaluate()
    assert seen["val_loss"] < 0.2
    assert seen["test_loss"] < 0.2


@pytest.mark.parametrize("options", [{}, {"clip_norm": 0.5}], ids=str)
@pytest.mark.parametrize(
    "name", ["acprop", "adamw", "sgd", "muon-acprop", "schedulefree-adamw", "soap"]
)
def test_a_session_resumed_in_the_middle_of_an_epoch_has_the_same_bits(
    task, name, options
):
    """Stopped after 3 of 4 steps, through a file; the loss and the epoch as well."""
    whole = begin(task(**options), name)
    steps(whole, 3)
    file = io.BytesIO()
    torch.save(whole.state_dict(), file)
    losses, seen = steps(whole, 1), whole.evaluate()
    losses += steps(whole, 2)
    resumed = begin(task(**options), name)
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert steps(resumed, 1) == losses[:1]
    assert resumed.evaluate() == seen
    assert steps(resumed, 2) == losses[1:]
    assert digest(whole.state_dict()) == digest(resumed.state_dict())


def test_a_run_does_not_go_on_with_another_text(task, tmp_path):
    (tmp_path / "letters.txt").write_bytes((TRAIN + VAL + TEST)[::-1])
    other = begin(task(text=str(tmp_path / "letters.txt")))
    message = "^text must have sha256 .* as when the run began, got .* --restart$"
    with pytest.raises(ValueError, match=message):
        other.load_state_dict(begin(task()).state_dict())


def test_an_epoch_is_as_long_as_it_is_told(task):
    assert begin(task()).steps_per_epoch == 4
    assert begin(task(steps_per_epoch=9)).steps_per_epoch == 9


def test_the_learning_rate_is_a_multiple_of_the_first(task):
    session = begin(task())
    session.scale_lr(0.1)
    session.scale_lr(0.5)
    assert session.optimizer.param_groups[0]["lr"] == pytest.approx(5e-4)


def test_the_task_says_what_it_is(task, file):
    made = task()
    assert made.name == "language/letters.txt-gpt"
    assert made.source["letters.txt"]["origin"] == str(file)
    assert made.settings.dataset is None
    assert LanguageSettings("moby-dick").dataset == "moby-dick"


BAD = {
    "batch must be 1 or more, got 0": {"batch": 0},
    "batch must be a whole number, got 8.0": {"batch": 8.0},
    "steps_per_epoch must be 1 or more, got 0": {"steps_per_epoch": 0},
    "n_validation must be 1 or more, got 0": {"n_validation": 0},
    "layers must be 1 or more, got 0": {"layers": 0},
    "width must be a multiple of heads = 3, got 16": {"heads": 3},
    "clip_norm must be finite and above 0, got 0": {"clip_norm": 0},
    "clip_norm must be a number, got '1'": {"clip_norm": "1"},
    "text must be moby-dick, three-js or a file's path, got 'mnist'": {"text": "mnist"},
    "text must be a string, got 3": {"text": 3},
    "n_validation must be in [1, 10], the windows of 10 bytes in 101, got 11": {
        "n_validation": 11
    },
    "n_test must be in [1, 1], the windows of 60 bytes in 101, got 2": {
        "context": 60,
        "n_validation": 1,
        "n_test": 2,
    },
    "context must be at most 100, the part's 101 bytes less one, got 101; give a "
    "longer text": {"context": 101},
}


@pytest.mark.parametrize("message", BAD)
def test_settings_that_cannot_be_are_refused(task, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        begin(task(**BAD[message]))


def test_an_unknown_setting_is_refused():
    message = r"^a language task's setting must be one of text, .* mean batch\?$"
    with pytest.raises(ValueError, match=message):
        read_settings("language", {"text": "moby-dick", "bach": 3})
