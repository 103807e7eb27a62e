"""The translation task: pairs of runs that read the same, metrics, resuming."""

import copy
import io
import math
import re

import pytest
import torch
from torch.nn.functional import cross_entropy

from acprop.bench.optimizers import build
from acprop.bench.run import digest
from acprop.bench.tasks import read_settings
from acprop.tasks import translation
from acprop.tasks.nets.transformer import PAD
from acprop.tasks.translation import TranslationTask

from ..bench.ten_words import CORPUS, SMALL


@pytest.fixture(autouse=True)
def corpus(monkeypatch, tmp_path):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path))
    monkeypatch.setattr(translation, "load_corpus", lambda _: CORPUS)


def task(**changes):
    return TranslationTask(read_settings("translation", {**SMALL, **changes}))


def begin(made, name="acprop", seed=0, **options):
    return made.begin(seed, build(name, {"lr": 1e-3, **options}))


def weights(session):
    return digest(session.net.state_dict())


def steps(session, n):
    return [session.train_step()["loss"] for _ in range(n)]


@pytest.mark.parametrize("name", ["sgd", "adamw", "adahessian"])
def test_every_optimizer_with_a_seed_sees_the_same_weights_and_batches(name):
    made = task()
    one, other = begin(made), begin(made, name)
    assert weights(one) == weights(other)
    assert [one.rows(i) for i in range(99)] == [other.rows(i) for i in range(99)]
    steps(one, 2), steps(other, 2)
    assert weights(one) != weights(other)


def test_an_epoch_has_every_sentence_once_in_an_order_of_its_own():
    session = begin(task())
    n = session.steps_per_epoch
    epochs = [[session.rows(e * n + i) for i in range(n)] for e in range(2)]
    for epoch in epochs:
        assert sorted(i for rows in epoch for i in rows) == list(range(200))
    assert epochs[0] != epochs[1]
    assert epochs[0] != [begin(task(), seed=1).rows(i) for i in range(n)]


def test_the_loss_is_the_mean_over_the_batchs_symbols():
    """(1 - σ)·(-log p(y)) + σ·mean of -log p over all symbols, without dropout."""
    session = begin(task(dropout=0.0, label_smoothing=0.2), "sgd")
    net = copy.deepcopy(session.net)
    rows = session.rows(0)
    total, n = 0.0, 0
    for i in rows:
        read, written = session.train.read[i], session.train.written[i]
        pair = torch.tensor([read]), torch.tensor([[1, *written[:-1]]])
        log_p = net(pair)[0].detach().log_softmax(1)
        for place, symbol in enumerate(written):
            total += -0.8 * log_p[place, symbol] - 0.2 * log_p[place].mean()
        n += len(written)
    assert session.train_step()["loss"] == pytest.approx(float(total) / n, rel=1e-4)


def test_it_learns_to_translate():
    """Ten words in reverse order: far above copying, which shares no word."""
    made = task(width=64, hidden=64, dropout=0.0, beam=1)
    assert made.source["bleu"]["copying"] == {"val": 0.0, "test": 0.0}
    session = begin(made, "adamw", lr=5e-3)
    first = session.train_step()["loss"]
    last = steps(session, 16 * session.steps_per_epoch)[-1]
    seen = session.evaluate()
    assert last < 0.5 * first
    assert seen["test_bleu"] > 10  # how far above depends on rounding
    text = session.artifacts()[f"translations-{session.n_steps:06d}.txt"]
    assert text.decode().count("reference") == 15


def test_what_is_recorded_is_what_was_seen():
    session = begin(task(dropout=0.0))
    losses = steps(session, session.steps_per_epoch)
    seen = session.evaluate()
    assert seen["samples"] == 200
    assert min(losses) <= seen["train_loss"] <= max(losses)
    total, n = 0.0, 0
    val = session.task.parts["val"]
    for read, written in zip(val.read, val.written, strict=True):
        pair = torch.tensor([read]), torch.tensor([[1, *written[:-1]]])
        with torch.no_grad():
            logits = session.net(pair)[0]
        total += float(cross_entropy(logits, torch.tensor(written), reduction="sum"))
        n += len(written)
    assert seen["val_loss"] == pytest.approx(total / n, rel=1e-4)
    assert 0 <= seen["val_bleu"] <= 100
    assert set(seen) == {"train_loss", "samples", "val_loss", "val_bleu", "test_bleu"}


def test_the_record_names_the_corpus_the_signature_and_what_copying_gives():
    source = task().source
    assert source["nmt-de-en"] == CORPUS.source
    assert "tok:13a" in source["bleu"]["signature"]
    assert set(source["bleu"]["copying"]) == {"val", "test"}


def test_so_many_pairs_are_drawn_once_for_all_runs():
    some, all_of_them = task(n_train=50, n_validation=5), task()
    assert len(some.parts["train"].texts) == 50
    assert len(some.parts["val"].texts) == 5
    assert set(some.parts["train"].texts) <= set(all_of_them.parts["train"].texts)
    assert some.parts["train"].texts == task(n_train=50).parts["train"].texts


def test_the_mean_of_the_last_weights_is_judged_and_training_goes_on_from_its_own():

    def epochs(average):
        """Weights and losses at the ends of three short epochs."""
        session = begin(task(average=average))
        for _ in range(3):
            steps(session, 2)
            yield copy.deepcopy(session.net.state_dict()), session.evaluate()

    plain, averaged = list(epochs(1)), list(epochs(2))
    assert [digest(w) for w, _ in plain] == [digest(w) for w, _ in averaged]
    assert plain[0][1] == averaged[0][1]  # of one epoch, the mean is itself
    two, three = (w for w, _ in plain[1:])
    session = begin(task())
    session.net.load_state_dict({k: (two[k] + three[k]) / 2 for k in two})
    expected = session._loss(session.task.parts["val"])
    assert averaged[2][1]["val_loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["acprop", "adashift", "radam"])
def test_resumed_anywhere_it_ends_in_the_same_bits(name):
    """Dropout's stream, the order of batches and the remembered weights included."""
    made = task(average=2)

    def go(session, first, last):
        for step in range(first, last):
            session.train_step()
            if step % 7 == 6:
                session.evaluate()
        return session

    def end(session):
        return session.evaluate(), digest(session.state_dict())

    whole = end(go(begin(made, name), 0, 13))
    part = go(begin(made, name), 0, 8)
    file = io.BytesIO()
    torch.save(part.state_dict(), file)
    file.seek(0)
    torch.manual_seed(99)
    resumed = begin(made, name)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert end(go(resumed, 8, 13)) == whole


@pytest.mark.parametrize("name", ["corpus", "subwords"])
def test_another_text_is_refused_when_a_run_is_resumed(name):
    session = begin(task())
    state = {**session.state_dict(), name: "0" * 64}
    with pytest.raises(ValueError, match=f"^{name} must have sha256 000000000000… as"):
        session.load_state_dict(state)


def test_a_loss_that_is_not_a_number_is_told():
    session = begin(task())
    torch.nn.init.constant_(session.net.symbols.weight, math.nan)
    assert math.isnan(session.train_step()["loss"])
    assert session.evaluate()["test_bleu"] == 0


def test_padding_is_never_an_answer():
    session = begin(task())
    (_, y) = session._pair(session.train, [0, 1, 2])
    logits = torch.randn(*y.shape, 330)
    loss, seen = session._measure(logits, y, 1.0)
    logits[y == PAD] += 100
    assert session._measure(logits, y, 1.0)[0] == loss
    assert seen[1] == (y != PAD).sum()


BAD = [
    ({"corpus": "nmt-xx-en"}, "corpus must be one of nmt-de-en"),
    ({"network": "lstm"}, "a translation task's setting must be one of"),
    ({"n_train": 0}, "n_train must be 1 or more, got 0"),
    ({"n_test": 16}, "n_test must be in [1, 15], got 16"),
    ({"tokens": 3}, "tokens must be"),
    ({"label_smoothing": 1.0}, "label_smoothing must be in [0, 1), got 1.0"),
    ({"n_symbols": 100}, "n_symbols must suit the sentences, got 100"),
    ({"width": 30, "heads": 4}, "width must be a multiple of 2 × heads = 8, got 30"),
    ({"beam": 0}, "beam must be 1 or more, got 0"),
    ({"average": 0}, "average must be 1 or more, got 0"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        task(**changes)
