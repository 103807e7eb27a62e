"""The GAN task: pairs of runs, resuming, samples, the distance."""

import io
import re

import pytest
import torch
from PIL import Image
from torch import nn

from acprop import ranks
from acprop.bench.optimizers import build
from acprop.bench.run import digest, run
from acprop.bench.spec import RunSpec
from acprop.bench.store import RunFolder
from acprop.bench.studies import study_folder
from acprop.bench.tasks import prepare, read_settings
from acprop.records import RunStatus
from acprop.tasks import gan
from acprop.tasks.adversaries import LOSSES
from acprop.tasks.data.images import Images
from acprop.tasks.frechet import distance, fit
from acprop.tasks.gan import GanSettings, GanTask

from .small_features import small_features

SMALL = {
    "width": 0.03,
    "batch": 4,
    "latent": 8,
    "n_discriminator": 2,
    "steps_per_epoch": 2,
    "n_validation": 20,
    "n_test": 20,
    "n_samples": 20,
}


def blobs(n, seed):
    """Bytes [n, 3, 32, 32] of few colours, so that there is something to learn."""
    draw = torch.Generator().manual_seed(seed)
    colours = (
        torch.rand(n, 3, 1, 1, generator=draw)
        * torch.tensor([200, 80, 20.0])[:, None, None]
    )
    noise = 20 * torch.rand(n, 3, 32, 32, generator=draw)
    return (colours + noise).byte()


def images(name="cifar10"):
    x, y = blobs(120, 0), torch.arange(120) % 10
    test_x, test_y = blobs(40, 1), torch.arange(40) % 10
    source = {"route": "made", "origin": name, "sha256": {}}
    none = (x[:0], y[:0])
    scale = ((0.5,) * 3, (0.25,) * 3)
    return Images(name, x, y, *none, test_x, test_y, 10, *scale, source)


@pytest.fixture
def task(monkeypatch, tmp_path):
    monkeypatch.setenv("ACPROP_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(gan, "features", small_features)
    monkeypatch.setattr(gan, "load", images)

    def make(kind="dcgan", **changes):
        return GanTask(GanSettings(**{"kind": kind} | SMALL | changes))

    return make


def begin(task, name="acprop", seed=0, **options):
    return task.begin(seed, build(name, {"lr": 2e-4, **options}))


def steps(session, n):
    return [session.train_step() for _ in range(n)]


def state(session):
    return digest(session.state_dict())


@pytest.mark.parametrize("kind", LOSSES)
def test_each_player_descends_its_own_loss(task, kind):
    """With SGD a step is -lr·gradient: of D's loss in D, then of G's loss in G."""
    session = begin(task(kind, n_discriminator=1), "sgd", lr=1e-3, momentum=0.0)
    other = begin(task(kind, n_discriminator=1), "sgd", lr=1e-3, momentum=0.0)
    session.train_step()
    for i, (player, which) in enumerate(
        ((other.discriminator, 0), (other.generator, 1))
    ):
        real, labels, z, wanted = other.batch(0, i)
        fake = other.generator.net(z, wanted)
        judge = other.discriminator.net
        # In the order of the session: each look moves BatchNorm and the norms' vectors.
        if which == 0:
            scores = judge(real, labels), judge(fake.detach(), wanted)
        else:
            f = judge(fake, wanted)
            scores = (judge(real, labels) if kind == "rlgan" else f), f
        loss = LOSSES[kind](*scores)[which]
        grads = torch.autograd.grad(loss, list(player.net.parameters()))
        with torch.no_grad():
            for p, g in zip(player.net.parameters(), grads, strict=True):
                p -= 1e-3 * g
    for name in ("generator", "discriminator"):
        one, two = (getattr(s, name).net.parameters() for s in (session, other))
        for p, q in zip(one, two, strict=True):
            torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["sgd", "adam", "lookahead"])
def test_every_optimizer_with_a_seed_sees_the_same_weights_and_batches(task, name):
    one, other = begin(task()), begin(task(), name)
    for player in ("generator", "discriminator"):
        nets = [getattr(s, player).net.state_dict() for s in (one, other)]
        assert digest(nets[0]) == digest(nets[1])
    steps(one, 1)
    assert digest(one.batch(3, 1)) == digest(other.batch(3, 1))
    assert digest(one.batch(3, 1)) != digest(other.batch(3, 0))
    assert digest(one.batch(3, 1)) != digest(begin(task(), seed=1).batch(3, 1))


def test_real_images_are_those_of_training_some_mirrored(task):
    session = begin(task(batch=100))
    real, labels, *_ = session.batch(0, 0)
    bytes_ = ((real + 1) * 127.5).round().byte()
    known = session.images.train_x
    plain, mirrored = (
        (bytes_[:, None] == x[None]).flatten(2).all(2) for x in (known, known.flip(3))
    )
    assert (plain | mirrored).any(1).all()
    assert plain.any(1).any()
    assert mirrored.any(1).any()
    rows = (plain | mirrored).int().argmax(1)
    assert torch.equal(session.images.train_y[rows], labels)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize(
    "option", [{}, {"average": 0.9}, {"average": 0.9, "channels_last": True}]
)
def test_a_session_resumed_at_any_step_has_the_same_bits(task, kind, option):
    """Both networks and optimizers, spectral vectors, the average; through a file."""
    made = task(kind, **option)
    whole = begin(made)
    files = []
    for _ in range(3):
        files.append(io.BytesIO())
        torch.save(whole.state_dict(), files[-1])
        steps(whole, 1)
    seen, pictures = whole.evaluate(), whole.artifacts()
    for done, file in enumerate(files):
        resumed = begin(made)
        file.seek(0)
        resumed.load_state_dict(torch.load(file, weights_only=True))
        steps(resumed, 3 - done)
        assert state(resumed) != ""
        assert resumed.evaluate() == seen
        assert resumed.artifacts() == pictures
        assert state(resumed) == state(whole)


@pytest.mark.parametrize("kind", LOSSES)
def test_channels_last_is_a_layout_and_not_another_game(task, kind):
    """Nearly the same losses; only what the networks pass on lies otherwise."""
    plain, other = (begin(task(kind, channels_last=last)) for last in (False, True))
    layouts = []
    first = next(
        m for m in other.discriminator.net.modules() if isinstance(m, nn.Conv2d)
    )
    first.register_forward_hook(lambda *seen: layouts.append(seen[2]))
    for one, two in zip(steps(plain, 2), steps(other, 2), strict=True):
        assert one == pytest.approx(two, rel=1e-3)
    assert all(out.is_contiguous(memory_format=torch.channels_last) for out in layouts)
    assert not any(out.is_contiguous() for out in layouts)


def test_evaluating_changes_nothing(task):
    often, never = begin(task("sagan", average=0.9)), begin(task("sagan", average=0.9))
    for _ in range(3):
        steps(often, 1)
        often.evaluate()
        often.artifacts()
    steps(never, 3)
    never.evaluate()
    assert state(often) == state(never)


def test_samples_are_drawn_with_the_weights_that_a_schedule_free_method_means(task):
    session = begin(task("dcgan"), "schedulefree-adamw", lr=0.1)
    steps(session, 3)
    net, optimizer = session.generator.net, session.generator.optimizer
    before, found = state(session), session.samples(4)
    assert state(session) == before
    with torch.no_grad():
        for param, kept in optimizer.state.items():  # y = (1 - β1)·z + β1·x
            param.copy_((param - 0.1 * kept["z"]) / 0.9)
    optimizer.param_groups[0]["train_mode"] = False
    net.eval()
    by_hand = session.samples(4)
    assert (found.int() - by_hand.int()).abs().max() <= 1


def test_the_average_trails_behind_the_weights(task):
    """a ← 0.75·a + 0.25·w, from the first weights after a step on."""
    session, expected = begin(task(average=0.75), "sgd", lr=0.1), None
    for _ in range(4):
        steps(session, 1)
        now = [p.detach().clone() for p in session.generator.net.parameters()]
        trailed = expected or now
        expected = [0.75 * a + 0.25 * w for a, w in zip(trailed, now, strict=True)]
    found = session.average.module.parameters()
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)
    assert not torch.equal(session.samples(5), plain_samples(session, 5))


def plain_samples(session, n):
    average, session.average = session.average, None
    made = session.samples(n)
    session.average = average
    return made


def test_the_metrics_are_means_and_distances(task):
    made = task()
    session = begin(made)
    seen = steps(session, 3)
    found = session.evaluate()
    for name, key in (("generator", "loss"), ("discriminator", "discriminator_loss")):
        mean = sum(s[key] for s in seen) / 3
        assert found[f"train_{name}_loss"] == pytest.approx(mean)
    assert found["samples"] == 3 * 2 * 4
    ours = fit(made.features(session.samples(20)))
    again = session.evaluate()
    assert {k: again[k] for k in again if "_fd_" in k}.items() <= found.items()
    for part, x in (("val", made.images.val_x), ("test", made.images.test_x)):
        expected = distance(fit(made.features(x)), ours)
        assert found[f"{part}_fd_lite0"] == pytest.approx(expected)


def test_a_distance_may_be_the_mean_of_the_last_ones(task):
    """One alone may be twice the next; a resumed session knows those before it."""
    alone = task("dcgan").begin(0, build("adam"))
    made = task("dcgan", n_evaluations=2)
    session, seen = made.begin(0, build("adam")), []
    for _ in range(3):
        alone.train_step()
        session.train_step()
        seen.append(alone.evaluate()["test_fd_lite0"])
        found = session.evaluate()["test_fd_lite0"]
        assert found == pytest.approx(sum(seen[-2:]) / len(seen[-2:]))
        resumed = made.begin(0, build("adam"))
        resumed.load_state_dict(session.state_dict())
        session = resumed


def test_samples_are_fixed_and_the_picture_shows_them(task):
    session = begin(task("sngan"))
    assert torch.equal(session.samples(7), session.samples(150)[:7])
    ((name, png),) = session.artifacts().items()
    assert name == "samples-000000.png"
    with Image.open(io.BytesIO(png)) as picture:
        assert picture.size == (256, 256)
        corner = picture.crop((32, 64, 64, 96)).tobytes()
    expected = session.samples(64)[2 * 8 + 1].permute(1, 2, 0).contiguous()
    assert corner == expected.numpy().tobytes()


def test_the_distance_falls(task):
    """Blobs of one colour each: seen, from 0.55 to about 0.1 in 120 steps."""
    wide = {"width": 0.125, "batch": 16, "n_discriminator": 1, "n_samples": 100}
    session = begin(task(**wide), "adam", lr=1e-3, beta1=0.5)
    steps(session, 1)
    first = session.evaluate()["test_fd_lite0"]
    steps(session, 120)
    assert session.evaluate()["test_fd_lite0"] < first / 2


@pytest.mark.slow
@pytest.mark.usefixtures("cifar10")
@pytest.mark.parametrize("optimizer", ["adam", "acprop"])
@pytest.mark.parametrize("kind", LOSSES)
def test_at_smoke_scale_the_distance_falls_from_the_start(kind, optimizer, fetched):
    """The study as it stands, from the untrained generator to the end of the run.

    By half; of SNGAN and SAGAN with ACProp by a third, which begin at 1800, not 4600.
    """
    is_slower = kind in ("sngan", "sagan") and optimizer == "acprop"
    planned = study_folder().study(f"gan/{kind}").planned("smoke")
    spec = next(p.spec for p in planned if p.spec.optimizer == optimizer)
    fetched("efficientnet-lite0")
    prepared = prepare(spec)
    session = prepared.task.begin(spec.seed, prepared.optimizer)
    first = session.evaluate()["test_fd_lite0_80"]
    steps(session, spec.epochs * session.steps_per_epoch)
    share = 2 / 3 if is_slower else 1 / 2
    assert session.evaluate()["test_fd_lite0_80"] < first * share


SPEC = RunSpec("gan", {"kind": "dcgan"}, "sgd", {}, epochs=2, seed=0)


def test_the_loop_keeps_what_a_session_shows(task, tmp_path):
    folder = RunFolder(tmp_path / "run")
    ended = run(SPEC, folder, task(), build("adam", {"lr": 2e-4}))
    assert ended is RunStatus.DONE
    shown = sorted(path.name for path in (folder.path / "artifacts").iterdir())
    assert shown == ["samples-000002.png", "samples-000004.png"]
    folder.forget()
    assert not (folder.path / "artifacts").exists()


@pytest.mark.parametrize("kind", ["dcgan", "sngan"])
def test_a_run_that_diverges_is_a_result(task, tmp_path, kind):
    folder = RunFolder(tmp_path / "run")
    ended = run(SPEC, folder, task(kind), build("sgd", {"lr": 1e30}))
    assert ended is RunStatus.DIVERGED


def test_the_learning_rates_are_multiples_of_the_first(task):
    session = begin(task())
    session.scale_lr(0.1)
    session.scale_lr(0.5)
    for player in (session.generator, session.discriminator):
        assert player.optimizer.param_groups[0]["lr"] == pytest.approx(1e-4)


def test_what_needs_a_graph_or_ranks_is_refused(task, monkeypatch):
    with pytest.raises(ValueError, match=r"^optimizer must not differentiate its grad"):
        begin(task(), "adahessian")
    monkeypatch.setattr(ranks, "world", lambda: 2)
    with pytest.raises(ValueError, match=r"^ranks must be 1 for a gan task, got 2;"):
        begin(task())


def test_the_discriminator_may_have_a_width_of_its_own(task):
    plain, wide = (
        begin(task(discriminator_width=w)).discriminator.net for w in (None, 0.125)
    )
    n_plain, n_wide = (
        sum(p.numel() for p in net.parameters()) for net in (plain, wide)
    )
    assert n_wide > 2 * n_plain


def test_images_of_another_size_are_refused(task, monkeypatch):
    grey = images()
    small = type(grey)(
        **{n: getattr(grey, n) for n in grey.__slots__}
        | {"train_x": grey.train_x[:, :1]}
    )
    monkeypatch.setattr(gan, "load", lambda _: small)
    with pytest.raises(ValueError, match=r"^dataset must have images of \(3, 32, 32\)"):
        task()


BAD = {
    "kind must be one of dcgan, rlgan, sngan, sagan, got 'wgan'; did you mean sngan?": {
        "kind": "wgan"
    },
    "features must be one of lite0, lite0_80, inception, got 'vgg'": {
        "features": "vgg"
    },
    "width must be finite and above 0, got 0": {"width": 0},
    "discriminator_width must be finite and above 0, got -1": {
        "discriminator_width": -1
    },
    "batch must be 1 or more, got 0": {"batch": 0},
    "latent must be a whole number, got 8.0": {"latent": 8.0},
    "n_discriminator must be 1 or more, got 0": {"n_discriminator": 0},
    "n_samples must be 2 or more, got 1": {"n_samples": 1},
    "n_test must be in [1, 40], got 41": {"n_test": 41},
    "average must be in [0, 1), got 1.0": {"average": 1.0},
}


@pytest.mark.parametrize("message", BAD)
def test_settings_that_cannot_be_are_refused(task, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        task(**BAD[message])


def test_an_unknown_setting_is_refused():
    with pytest.raises(
        ValueError, match=r"^a gan task's setting must be .*; did you mean kind\?$"
    ):
        read_settings("gan", {"kind": "dcgan", "kin": 3})
