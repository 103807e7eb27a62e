"""The transformer against its formulas, written out."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy, layer_norm

from acprop.tasks.nets.gpt import GPT

TINY = {"layers": 2, "width": 12, "heads": 3, "context": 7, "n_symbols": 11}


def made(seed=0):
    torch.manual_seed(seed)
    return GPT(**TINY).double()


def drawn(*shape, n_symbols=11, seed=1):
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(n_symbols, shape, generator=draw)


def by_hand(net, symbols):
    """One sequence, one head and one place at a time."""
    weights = net.state_dict()
    heads, width = TINY["heads"], TINY["width"] // TINY["heads"]
    n = len(symbols)
    x = weights["symbols.weight"][symbols] + weights["positions.weight"][:n]
    for i in range(TINY["layers"]):
        w = {
            name.removeprefix(f"blocks.{i}."): value for name, value in weights.items()
        }
        normed = normalised(x, w["attention_norm.weight"], w["attention_norm.bias"])
        all_three = normed @ w["queries_keys_values.weight"].T
        all_three = all_three + w["queries_keys_values.bias"]
        q, k, v = all_three.view(n, 3, heads, width).unbind(1)
        seen = torch.zeros(n, heads, width, dtype=torch.float64)
        for head in range(heads):
            for t in range(n):
                past = k[: t + 1, head] @ q[t, head] / math.sqrt(width)
                seen[t, head] = past.softmax(0) @ v[: t + 1, head]
        x = x + seen.flatten(1) @ w["from_attention.weight"].T
        x = x + w["from_attention.bias"]
        normed = normalised(x, w["mlp_norm.weight"], w["mlp_norm.bias"])
        wide = normed @ w["widen.weight"].T + w["widen.bias"]
        wide = wide * (1 + torch.erf(wide / math.sqrt(2))) / 2
        x = x + wide @ w["narrow.weight"].T + w["narrow.bias"]
    x = normalised(x, weights["norm.weight"], weights["norm.bias"])
    return x @ weights["head.weight"].T


def normalised(x, weight, bias):
    return layer_norm(x, x.shape[-1:], weight, bias)


def test_the_network_is_its_formulas():
    """In float64, with weights large enough that every term can be seen."""
    net = made()
    with torch.no_grad():
        for i, param in enumerate(net.parameters()):
            draw = torch.Generator().manual_seed(i)
            noise = torch.randn(param.shape, generator=draw, dtype=torch.float64)
            param.add_(0.3 * noise)
    symbols = drawn(2, 7)
    expected = torch.stack([by_hand(net, row) for row in symbols])
    torch.testing.assert_close(net(symbols), expected, rtol=0, atol=1e-12)


def test_no_place_sees_what_comes_after_it():
    net, symbols = made(), drawn(1, 7)
    before = net(symbols)
    for t in range(1, 7):
        changed = symbols.clone()
        changed[0, t] = (changed[0, t] + 1) % 11
        after = net(changed)
        assert torch.allclose(after[:, :t], before[:, :t], rtol=0, atol=1e-14)
        assert not torch.allclose(after[:, t], before[:, t], rtol=0, atol=1e-6)


def test_a_shorter_sequence_has_the_logits_of_the_longer_ones_beginning():
    net, symbols = made(), drawn(3, 7)
    whole, part = net(symbols), net(symbols[:, :4])
    torch.testing.assert_close(part, whole[:, :4], rtol=0, atol=1e-14)


def test_the_parameters_are_those_one_can_count():
    """A layer's matrices, biases and norms; the last norm; symbols in and out, places.

    3·(12·96² + 13·96) + 2·96 + (256 + 256 + 64)·96
    """
    net = GPT(layers=3, width=96, heads=4, context=64)
    assert sum(p.numel() for p in net.parameters()) == 391_008


def test_what_writes_into_the_sum_begins_smaller_by_the_root_of_twice_the_layers():
    """Radford et al. 2019, section 2.3: N residual layers, here two for each block.

    The estimate's own error is 1/√(2·36864) = 0.4 %.
    """
    net = GPT(layers=8, width=192, heads=3, context=64)
    for name, weight in net.named_parameters():
        if name.endswith("bias"):
            assert not weight.any(), name
        elif "norm" in name:
            assert (weight == 1).all(), name
        else:
            is_last = "from_attention" in name or "narrow" in name
            expected = 0.02 / 4 if is_last else 0.02
            assert weight.std().item() == pytest.approx(expected, rel=0.03), name


def test_a_new_network_thinks_every_byte_about_equally_likely():
    torch.manual_seed(0)
    net = GPT(layers=3, width=96, heads=3, context=64)
    symbols = drawn(8, 65, n_symbols=256)
    loss = cross_entropy(net(symbols[:, :-1]).flatten(0, 1), symbols[:, 1:].flatten())
    assert loss.item() == pytest.approx(math.log(256), abs=0.1)


def test_the_weights_come_from_the_global_stream_alone():
    one, same, other = made(seed=3), made(seed=3), made(seed=4)
    pairs = list(zip(one.parameters(), same.parameters(), strict=True))
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(one.symbols.weight, other.symbols.weight)
