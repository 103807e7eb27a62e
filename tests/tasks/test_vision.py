"""The vision task: pairs of runs that see the same, pieces of a batch, resuming."""

import io

import pytest
import torch
from PIL import Image
from torch.nn.functional import cross_entropy

from acprop.bench.optimizers import build
from acprop.bench.run import digest
from acprop.tasks.data import fetch
from acprop.tasks.vision import VisionSettings, VisionTask, second_moment, settings

SMALL = {
    "dataset": "mnist",
    "net": "mlp",
    "batch": 64,
    "n_train": 640,
    "n_validation": 200,
    "n_test": 200,
}


@pytest.fixture(scope="module")
def task(mnist):
    """One for all: loading takes longer than a test."""
    del mnist
    tasks = {}

    def make(**changes):
        key = tuple(sorted(changes.items()))
        if key not in tasks:
            tasks[key] = VisionTask(VisionSettings(**SMALL | changes))
        return tasks[key]

    return make


def begin(task, name="acprop", seed=0, **options):
    return task.begin(seed, build(name, {"lr": 1e-3, **options}))


def batches(session, n=3):
    out = []
    for _ in range(n):
        out.append(session._pieces())
        session.step += 1
    return torch.cat([x.flatten() for pieces in out for x, _ in pieces])


def test_every_optimizer_with_a_seed_sees_the_same_weights_and_images(task):
    one, two = (begin(task(), name) for name in ("acprop", "sgd"))
    assert digest(one.net.state_dict()) == digest(two.net.state_dict())
    assert torch.equal(batches(one), batches(two))


def test_another_seed_is_another_run(task):
    one, two = (begin(task(), seed=seed) for seed in (0, 1))
    assert digest(one.net.state_dict()) != digest(two.net.state_dict())
    assert not torch.equal(batches(one), batches(two))


def test_the_streams_are_independent(task):
    """Without crops the weights and the order of the labels are what they were."""
    with_crops, without = begin(task()), begin(task(augment=False))
    assert digest(with_crops.net.state_dict()) == digest(without.net.state_dict())
    (_, seen), (_, plain) = with_crops._pieces()[0], without._pieces()[0]
    assert torch.equal(seen, plain)
    assert not torch.equal(batches(with_crops), batches(without))


def test_an_epoch_shows_every_image_once_and_the_next_in_another_order(task):
    session = begin(task(augment=False))
    first, second = [], []
    for epoch in (first, second):
        for _ in range(session.steps_per_epoch):
            session._pieces()
            place = session.step % session.steps_per_epoch
            epoch += session.order[place * 64 : (place + 1) * 64].tolist()
            session.step += 1
    assert sorted(first) == sorted(second) == list(range(640))
    assert first != second


def test_validation_is_held_out_of_training_and_the_same_for_all(task):
    images = task().feed.images
    seen = {row.numpy().tobytes() for row in images.train_x}
    held = {row.numpy().tobytes() for row in images.val_x}
    assert len(held) == 200
    assert not seen & held


@pytest.mark.parametrize("accumulate", [2, 4])
def test_pieces_of_a_batch_add_up_to_it(task, accumulate):
    whole, parts = begin(task()), begin(task(accumulate=accumulate))
    for _ in range(5):
        a, b = whole.train_step()["loss"], parts.train_step()["loss"]
        assert a == pytest.approx(b, rel=1e-5)


def test_the_metrics_are_those_computed_by_hand(task):
    session = begin(task(second_moment=True))
    losses, right = [], 0
    for _ in range(3):
        ((x, y),) = session._pieces()
        logits = session.net(x)
        losses.append(cross_entropy(logits, y).item())
        right += int((logits.argmax(1) == y).sum())
        assert session.train_step()["loss"] == pytest.approx(losses[-1], rel=1e-6)
    seen = session.evaluate()
    assert seen["train_loss"] == pytest.approx(sum(losses) / 3, rel=1e-6)
    assert seen["train_accuracy"] == right / 192
    assert seen["samples"] == 192
    for part in ("val", "test"):
        x, y = session.feed.judged(part, slice(0, 200))
        session.net.eval()
        logits = session.net(x)
        accuracy = float((logits.argmax(1) == y).float().mean())
        assert seen[f"{part}_accuracy"] == pytest.approx(accuracy)
        loss = cross_entropy(logits, y).item()
        assert seen[f"{part}_loss"] == pytest.approx(loss, rel=1e-5)
    buffers = [s["exp_avg_sq"].flatten() for s in session.optimizer.state.values()]
    assert seen["second_moment"] == pytest.approx(torch.cat(buffers).mean().item())


def test_an_optimizer_without_a_second_moment_has_none(task):
    session = begin(task(), "sgd")
    session.train_step()
    assert second_moment(session.optimizer) != second_moment(session.optimizer)


NETS = {
    "mlp": {"net": "mlp"},
    "with BatchNorm": {
        "net": "resnet18",
        "width": 0.125,
        "depth": 0.5,
        "channels_last": True,
    },
}


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("name", ["acprop", "adam", "sgd", "adahessian"])
def test_a_session_resumed_in_the_middle_of_an_epoch_has_the_same_bits(task, name, net):
    small = task(n_train=256, **NETS[net])
    whole = begin(small, name)
    for _ in range(3):
        whole.train_step()
    file = io.BytesIO()
    torch.save(whole.state_dict(), file)
    for _ in range(3):
        whole.train_step()
    copy = begin(small, name)
    file.seek(0)
    copy.load_state_dict(torch.load(file, weights_only=True))
    for _ in range(3):
        copy.train_step()
    assert digest(whole.state_dict()) == digest(copy.state_dict())


@pytest.mark.parametrize(
    "option", [{"autocast": True}, {"channels_last": True}, {"size": 32}], ids=str
)
def test_an_option_changes_the_numbers_and_little_else(task, option):
    shape = {"net": "resnet18", "width": 0.125, "depth": 0.5, "n_train": 128}
    plain, other = begin(task(**shape)), begin(task(**shape, **option))
    a, b = plain.train_step()["loss"], other.train_step()["loss"]
    assert a == pytest.approx(b, rel=0.2)


def test_the_learning_rate_is_a_multiple_of_the_first(task):
    session = begin(task())
    session.scale_lr(0.1)
    session.scale_lr(0.5)
    assert session.optimizer.param_groups[0]["lr"] == pytest.approx(5e-4)


BAD = [
    ({"batch": 0}, "batch must be 1 or more, got 0"),
    ({"batch": 1000}, "batch must be at most the 640 training images, got 1000"),
    ({"batch": 63, "accumulate": 2}, "batch must be a multiple of ranks × accumulate"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_a_batch_that_cannot_be_is_refused(task, changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        begin(task(**changes))


def test_an_unknown_setting_is_refused():
    message = "^a vision task's setting must be one of dataset, net, .*, got bach$"
    with pytest.raises(ValueError, match=message):
        settings({"dataset": "mnist", "net": "mlp", "bach": 3})


def test_pictures_in_imagenets_folders_are_trained_on(tmp_path, monkeypatch):
    """train/<class>/*.JPEG and val/<class>/*.JPEG, decoded when asked for."""
    draw = torch.Generator().manual_seed(0)
    for part, n in (("train", 6), ("val", 3)):
        for wnid in ("n01440764", "n01443537"):
            folder = tmp_path / "imagenet" / part / wnid
            folder.mkdir(parents=True)
            for i in range(n):
                pixels = torch.randint(0, 256, (40, 48, 3), generator=draw)
                picture = Image.fromarray(pixels.to(torch.uint8).numpy())
                picture.save(folder / f"{wnid}_{i}.JPEG")
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path / "cache"))
    fetch("imagenet", folder=tmp_path / "imagenet", progress=False)
    pictured = VisionTask(
        VisionSettings(
            "imagenet",
            "resnet18",
            batch=4,
            stem="imagenet",
            size=32,
            width=0.125,
            depth=0.5,
            n_validation=4,
        )
    )
    session = begin(pictured)
    assert session.steps_per_epoch == 2
    losses = [session.train_step()["loss"] for _ in range(2)]
    again = begin(pictured)
    assert [again.train_step()["loss"] for _ in range(2)] == losses
    seen = session.evaluate()
    assert 0 <= seen["test_accuracy"] <= 1
    assert pictured.source["imagenet"]["route"] == "folder"
