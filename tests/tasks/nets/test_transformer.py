"""The translating transformer against torch's own, and one symbol at a time."""

import math
import re

import pytest
import torch
from torch import nn

from acprop.tasks.nets.transformer import (
    PAD,
    Transformer,
    TransformerSizes,
    sinusoids,
)

TINY = {"n_symbols": 11, "layers": 2, "width": 12, "hidden": 20, "heads": 3}
TINY["dropout"] = 0.0
READ = torch.tensor([[3, 4, 5, 6, 2], [7, 8, 2, PAD, PAD], [2, PAD, PAD, PAD, PAD]])
BEFORE = torch.tensor([[1, 9, 4, 3], [1, 5, PAD, PAD], [1, 6, 7, PAD]])


def made(seed=0, **changes):
    """In float64, with weights large enough that every term can be seen."""
    torch.manual_seed(seed)
    net = Transformer(TransformerSizes(**{**TINY, **changes})).double().eval()
    with torch.no_grad():
        for param in net.parameters():
            param.add_(0.3 * torch.randn_like(param))
    return net


def torchs(net):
    """nn.Transformer with the weights of ours."""
    s = net.sizes
    out = nn.Transformer(
        s.width, s.heads, s.layers, s.layers, s.hidden, 0.0,
        batch_first=True, norm_first=s.norm_first, dtype=torch.float64,
    )  # fmt: skip
    if not s.norm_first:
        out.encoder.norm = out.decoder.norm = None
    state = {}
    for side, layers in (("encoder", net.encoder), ("decoder", net.decoder)):
        for i, layer in enumerate(layers):
            at = f"{side}.layers.{i}"
            attentions = [("self_attn", layer.attention)]
            if side == "decoder":
                attentions.append(("multihead_attn", layer.attention_to_source))
            for name, ours in attentions:
                three = (ours.queries, ours.keys, ours.values)
                for kind in ("weight", "bias"):
                    joined = torch.cat([getattr(part, kind) for part in three])
                    state[f"{at}.{name}.in_proj_{kind}"] = joined
                    state[f"{at}.{name}.out_proj.{kind}"] = getattr(ours.out, kind)
            parts = [("linear1", layer.widen), ("linear2", layer.narrow)]
            parts += [(f"norm{j + 1}", norm) for j, norm in enumerate(layer.norms)]
            for name, ours in parts:
                state |= {f"{at}.{name}.{k}": v for k, v in ours.state_dict().items()}
        last = getattr(net, f"{side}_norm")
        state |= {f"{side}.norm.{k}": v for k, v in last.state_dict().items()}
    out.load_state_dict(state)
    return out.eval()


@pytest.mark.filterwarnings("ignore:.*nested_tensor.*", "ignore:.*nested tensor.*")
@pytest.mark.parametrize("norm_first", [False, True])
@torch.no_grad()
def test_it_is_torchs_transformer_with_shared_embeddings(norm_first):
    net = made(norm_first=norm_first)

    def embedded(symbols):
        return net._embedded(symbols, 0)

    n = BEFORE.shape[1]
    expected = torchs(net)(
        embedded(READ),
        embedded(BEFORE),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(n, dtype=torch.float64),
        src_key_padding_mask=torch.zeros(READ.shape, dtype=torch.float64).masked_fill(
            READ == PAD, -math.inf
        ),
        memory_key_padding_mask=torch.zeros(
            READ.shape, dtype=torch.float64
        ).masked_fill(READ == PAD, -math.inf),
    )
    logits = expected @ net.symbols.weight.T
    torch.testing.assert_close(net((READ, BEFORE)), logits, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("norm_first", [False, True])
@torch.no_grad()
def test_one_symbol_at_a_time_gives_what_all_at_once_does(norm_first):
    net = made(norm_first=norm_first)
    cache = net.encode(READ)
    steps = [net.decode(BEFORE[:, i : i + 1], cache) for i in range(BEFORE.shape[1])]
    expected = net((READ, BEFORE))
    torch.testing.assert_close(torch.cat(steps, 1), expected, rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_rows_of_a_cache_can_be_taken_in_any_order():
    net, rows = made(), torch.tensor([2, 0, 0])
    cache, direct = net.encode(READ), net.encode(READ[rows])
    for cached in (cache, direct):
        written = BEFORE if cached is cache else BEFORE[rows]
        net.decode(written[:, :1], cached)
    cache.choose(rows)
    last = BEFORE[rows][:, 1:2]
    torch.testing.assert_close(net.decode(last, cache), net.decode(last, direct))


@torch.no_grad()
def test_padding_changes_nothing():
    net = made()
    alone = net((READ[1:2, :3], BEFORE[1:2, :2]))
    among = net((READ, BEFORE))[1:2, :2]
    torch.testing.assert_close(alone, among, rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_no_place_sees_what_is_written_after_it():
    net, other = made(), BEFORE.clone()
    other[:, 2:] = 10
    one, two = net((READ, BEFORE)), net((READ, other))
    assert torch.equal(one[:, :2], two[:, :2])
    assert not torch.equal(one[:, 2:], two[:, 2:])


def test_embeddings_and_head_are_one_matrix():
    """And it is the size that Vaswani et al. give it: N(0, 1/width)."""
    torch.manual_seed(0)
    net = Transformer(
        TransformerSizes(n_symbols=5000, layers=1, width=64, hidden=64, heads=1)
    )
    sizes = [p.numel() for p in net.parameters() if 5000 in p.shape]
    assert sizes == [5000 * 64]
    assert net.symbols.weight.detach().std() == pytest.approx(1 / 8, rel=0.02)
    assert not net.symbols.weight[PAD].any()


def test_dropout_is_for_training_only():
    net = made(dropout=0.5)
    assert torch.equal(net((READ, BEFORE)), net((READ, BEFORE)))
    net.train()
    assert not torch.equal(net((READ, BEFORE)), net((READ, BEFORE)))


def test_places_are_told_apart_by_sines_and_cosines():
    """Place p, pair j: sin and cos of p / 10000^(j / (width/2))."""
    found = sinusoids(3, 2, 6)
    for row, place in enumerate((3, 4)):
        for j in range(3):
            angle = place / 10_000 ** (j / 3)
            assert found[row, j] == pytest.approx(math.sin(angle), abs=1e-6)
            assert found[row, j + 3] == pytest.approx(math.cos(angle), abs=1e-6)


BAD = [
    ({"width": 9}, "width must be a multiple of 2 × heads = 6, got 9"),
    ({"dropout": 1.0}, "dropout must be in [0, 1), got 1.0"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_sizes_that_cannot_be_built_are_refused(changes, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        TransformerSizes(**{**TINY, **changes})
