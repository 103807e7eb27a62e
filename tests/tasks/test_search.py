"""Greedy and beam search against trying every sentence."""

import itertools
import math
import re

import pytest
import torch

from acprop.tasks.nets.transformer import PAD, Transformer, TransformerSizes
from acprop.tasks.search import BEGIN, END, Search, translate

WORDS = (3, 4, 5)
LIMIT = 5  # symbols, the end included
SOURCES = torch.tensor([[3, 4, 5, 2], [4, 2, PAD, PAD], [5, 5, 2, PAD]])


class Short(Search):
    """Sentences short enough to try them all."""

    __slots__ = ()

    def limits(self, mask):
        return torch.full((len(mask),), LIMIT)


@pytest.fixture(scope="module", params=range(3))
def net(request):
    torch.manual_seed(request.param)
    made = Transformer(TransformerSizes(6, 1, 8, 16, 2, norm_first=True)).double()
    with torch.no_grad():
        for param in made.parameters():
            param.mul_(2)
    return made.eval()


@torch.no_grad()
def scores(net, source, length_penalty):
    """Of every sentence there is, by the formula."""
    out = {}
    for n in range(LIMIT):
        every = list(itertools.product(WORDS, repeat=n))
        before = torch.tensor([[BEGIN, *words] for words in every])
        logits = net((source.expand(len(every), -1), before))
        logits[:, :, [PAD, BEGIN]] = -math.inf
        after = torch.tensor([[*words, END] for words in every])
        log_p = logits.log_softmax(2).gather(2, after[:, :, None])
        total = log_p.sum((1, 2)) / (n + 1) ** length_penalty
        out |= dict(zip(every, total.tolist(), strict=True))
    return out


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
def test_a_beam_as_wide_as_there_are_sentences_finds_the_best(net, length_penalty):
    found = translate(net, SOURCES, Short(len(WORDS) ** LIMIT, length_penalty))
    for source, best in zip(SOURCES, found, strict=True):
        known = scores(net, source, length_penalty)
        assert best.score == pytest.approx(max(known.values()), rel=1e-6)
        assert tuple(best.symbols) == max(known, key=known.get)


@pytest.mark.parametrize("beam", [1, 2, 3])
def test_what_is_found_has_the_score_that_is_said(net, beam):
    for source, best in zip(SOURCES, translate(net, SOURCES, Short(beam)), strict=True):
        expected = scores(net, source, 1.0)[tuple(best.symbols)]
        assert best.score == pytest.approx(expected, rel=1e-6)


def test_greedy_takes_the_most_probable_symbol_every_time(net):
    for source, best in zip(SOURCES, translate(net, SOURCES, Short(1)), strict=True):
        words = []
        while len(words) < LIMIT - 1:
            with torch.no_grad():
                logits = net((source[None], torch.tensor([[BEGIN, *words]])))[0, -1]
            logits[[PAD, BEGIN]] = -math.inf
            if int(logits.argmax()) == END:
                break
            words.append(int(logits.argmax()))
        assert best.symbols == words


@pytest.mark.parametrize("beam", [1, 4])
def test_a_sentence_is_translated_the_same_alone_and_among_others(net, beam):
    among = translate(net, SOURCES, Search(beam))
    for source, found in zip(SOURCES, among, strict=True):
        (alone,) = translate(net, source[source != PAD][None], Search(beam))
        assert alone.symbols == found.symbols
        assert alone.score == pytest.approx(found.score)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_that_never_ends_is_ended(beam):
    """The end is never probable; 1.5 symbols for each of the source's, and 10."""
    torch.manual_seed(0)
    net = Transformer(TransformerSizes(6, 1, 8, 16, 2, norm_first=True)).eval()
    decode = net.decode

    def endless(symbols, cache):
        logits = decode(symbols, cache)
        logits[:, :, END] = -50
        return logits

    net.decode = endless
    lengths = [len(f.symbols) for f in translate(net, SOURCES, Search(beam))]
    longest = [10 + int(1.5 * n) - 1 for n in (4, 2, 3)]
    assert lengths == longest if beam == 1 else max(lengths) <= max(longest)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_network_of_nans_still_comes_to_an_end(beam):
    net = Transformer(TransformerSizes(6, 1, 8, 16, 2)).eval()
    torch.nn.init.constant_(net.symbols.weight, math.nan)
    assert len(translate(net, SOURCES, Search(beam))) == len(SOURCES)


BAD = [
    ({"beam": 0}, "beam must be 1 or more, got 0"),
    ({"length_penalty": -1.0}, "length_penalty must be finite and 0 or more, got -1.0"),
    ({"longest": 0.0}, "longest must be finite and above 0, got 0.0"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_a_search_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Search(**changes)
