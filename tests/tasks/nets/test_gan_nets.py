"""The networks of the GANs: shapes, numbers of parameters, what they look at."""

import pytest
import torch
from torch.nn.utils.parametrize import is_parametrized

from acprop.tasks.nets.dcgan import DCDiscriminator, DCGenerator
from acprop.tasks.nets.sngan import (
    ConditionalNorm,
    ResDiscriminator,
    ResGenerator,
    SelfAttention,
)


def pair(kind, width=1.0, latent=16):
    if kind == "dcgan":
        return DCGenerator(latent=latent, width=width), DCDiscriminator(width=width)
    options = {"n_classes": 10, "width": width, "attentive": kind == "sagan"}
    return ResGenerator(latent=latent, **options), ResDiscriminator(**options)


KINDS = ("dcgan", "sngan", "sagan")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [0.03, 0.125])
def test_latents_become_images_and_images_scores(kind, width):
    generator, discriminator = pair(kind, width)
    labels = torch.arange(5)
    images = generator(torch.randn(5, 16), labels)
    assert images.shape == (5, 3, 32, 32)
    assert images.abs().max() <= 1
    assert discriminator(images, labels).shape == (5,)


def n_of(net):
    return sum(p.numel() for p in net.parameters())


# Added up by hand from the tables of the papers, layer by layer.
LATENT = 128
DC_G = LATENT * 512 * 16 + 512 * 256 * 16 + 256 * 128 * 16 + 128 * 3 * 16 + 3
DC_G += 2 * (512 + 256 + 128)
DC_D = 3 * 128 * 16 + 128 + 128 * 256 * 16 + 256 * 512 * 16 + 512 * 16 + 1
DC_D += 2 * (256 + 512)
CONV = 256 * 256 * 9 + 256
SN_G = LATENT * 4096 + 4096
SN_G += 3 * (2 * CONV + 256 * 256 + 256 + 2 * 2 * 10 * 256)
SN_G += 2 * 256 + 256 * 3 * 9 + 3
CONV_D = 128 * 128 * 9 + 128
SN_D = 3 * 128 * 9 + 128 + CONV_D + 3 * 128 + 128
SN_D += 3 * 2 * CONV_D + 128 * 128 + 128 + 128 + 1 + 10 * 128
ATTENTION = {n: 2 * n * n // 8 + 2 * n * n // 2 + 1 for n in (256, 128)}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("dcgan", (DC_G, DC_D)),
        ("sngan", (SN_G, SN_D)),
        ("sagan", (SN_G + ATTENTION[256], SN_D + ATTENTION[128])),
    ],
)
def test_at_width_1_they_have_the_papers_parameters(kind, expected):
    with torch.device("meta"):
        made = pair(kind, latent=LATENT)
    assert tuple(map(n_of, made)) == expected


def weighted(net):
    kinds = torch.nn.Conv2d | torch.nn.Linear | torch.nn.Embedding
    per_class = {
        e
        for m in net.modules()
        if isinstance(m, ConditionalNorm)
        for e in (m.scale, m.shift)
    }
    return [m for m in net.modules() if isinstance(m, kinds) and m not in per_class]


@pytest.mark.parametrize(
    ("kind", "normed"), [("sngan", (False, True)), ("sagan", (True, True))]
)
def test_spectral_norm_is_where_the_papers_have_it(kind, normed):
    for net, expected in zip(pair(kind, 0.03), normed, strict=True):
        assert {is_parametrized(m, "weight") for m in weighted(net)} == {expected}


def test_a_normed_weight_has_a_largest_singular_value_of_one():
    _, discriminator = pair("sngan", 0.03)
    for _ in range(50):  # each step of training improves the estimate
        discriminator(torch.randn(2, 3, 32, 32), torch.zeros(2, dtype=torch.long))
    discriminator.eval()
    for module in weighted(discriminator):
        largest = torch.linalg.matrix_norm(module.weight.flatten(1), 2)
        assert largest.item() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("kind", ["sngan", "sagan"])
def test_classes_matter_where_there_is_one_scale_for_each(kind):
    generator, discriminator = (net.eval() for net in pair(kind, 0.03))
    z, x = torch.randn(2, 16), torch.randn(2, 3, 32, 32)
    a, b = torch.tensor([0, 0]), torch.tensor([0, 1])
    scores = discriminator(x, a), discriminator(x, b)
    assert scores[0][0] == scores[1][0]
    assert scores[0][1] != scores[1][1]
    torch.nn.init.normal_(generator.blocks[0].norm1.scale.weight)
    images = generator(z, a), generator(z, b)
    assert torch.equal(images[0][0], images[1][0])
    assert not torch.equal(images[0][1], images[1][1])


def test_attention_begins_as_nothing_and_is_the_printed_formula():
    layer, x = SelfAttention(8), torch.randn(1, 8, 4, 4)
    assert torch.equal(layer(x), x)
    torch.nn.init.constant_(layer.gamma, 0.5)
    q, k, v, o = (
        m.weight[:, :, 0, 0]
        for m in (layer.queries, layer.keys, layer.values, layer.out)
    )
    pixels = x[0].flatten(1)  # [channel, pixel]
    pool = torch.nn.functional.max_pool2d
    keys = pool((k @ pixels).view(1, -1, 4, 4), 2).flatten(1)
    values = pool((v @ pixels).view(4, 4, 4), 2).flatten(1)
    for i in range(16):
        shares = torch.softmax((q @ pixels[:, i]) @ keys.view(1, -1), 0)
        expected = pixels[:, i] + 0.5 * o @ (values @ shares)
        torch.testing.assert_close(layer(x)[0].flatten(1)[:, i], expected)


def spread(net, ending):
    """Of the 3×3 kernels inside blocks, in units of Xavier's own for 1."""
    found = []
    for name, module in net.named_modules():
        if name.endswith(ending) and isinstance(module, torch.nn.Conv2d):
            out, of, *kernel = module.weight.shape
            fans = (of + out) * kernel[0] * kernel[1]
            found.append((module.weight.square().mean() * fans / 2).sqrt().item())
    return sum(found) / len(found)


@pytest.mark.parametrize(("kind", "gain"), [("sngan", 2**0.5), ("sagan", 1.0)])
def test_weights_begin_as_in_the_authors_code(kind, gain):
    """Miyato's blocks have a gain of √2 on their 3×3 kernels, Zhang's have none."""
    generator, _ = pair("sngan", 0.5)
    if kind == "sagan":
        generator, _ = pair(kind, 0.5)
        for module in weighted(generator):
            torch.nn.utils.parametrize.remove_parametrizations(
                module, "weight", leave_parametrized=False
            )
    assert spread(generator, "conv2") == pytest.approx(gain, rel=0.02)
    assert spread(generator, "shortcut") == pytest.approx(1.0, rel=0.02)
    eps = {m.eps for m in generator.modules() if isinstance(m, torch.nn.BatchNorm2d)}
    assert eps == ({2e-5} if kind == "sngan" else {1e-5})
