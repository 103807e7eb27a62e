"""Greedy and beam search against trying every sentence."""

import itertools
import math

import pytest
import torch

from acprop.tasks import search
from acprop.tasks.nets.transformer import PAD, Transformer, TransformerSizes
from acprop.tasks.search import BEGIN, END, translate

WORDS = (3, 4, 5)
LIMIT = 5  # symbols, the end included
SOURCES = torch.tensor([[3, 4, 5, 2], [4, 2, PAD, PAD], [5, 5, 2, PAD]])


SIZES = TransformerSizes(
    n_symbols=6, layers=1, width=8, hidden=16, heads=2, dropout=0.0, norm_first=True
)


@pytest.fixture
def short(monkeypatch):
    """Sentences short enough to try them all."""
    limits = lambda mask: torch.full((len(mask),), LIMIT)  # noqa: E731
    monkeypatch.setattr(search, "limits", limits)


@pytest.fixture(scope="module", params=range(3))
def net(request):
    torch.manual_seed(request.param)
    made = Transformer(SIZES).double()
    with torch.no_grad():
        for param in made.parameters():
            param.mul_(2)
    return made.eval()


@torch.no_grad()
def scores(net, source):
    """Of every sentence there is, by the formula."""
    out = {}
    for n in range(LIMIT):
        every = list(itertools.product(WORDS, repeat=n))
        before = torch.tensor([[BEGIN, *words] for words in every])
        logits = net((source.expand(len(every), -1), before))
        logits[:, :, [PAD, BEGIN]] = -math.inf
        after = torch.tensor([[*words, END] for words in every])
        log_p = logits.log_softmax(2).gather(2, after[:, :, None])
        total = log_p.sum((1, 2)) / (n + 1)
        out |= dict(zip(every, total.tolist(), strict=True))
    return out


@pytest.mark.usefixtures("short")
def test_a_beam_as_wide_as_there_are_sentences_finds_the_best(net):
    found = translate(net, SOURCES, beam=len(WORDS) ** LIMIT)
    for source, best in zip(SOURCES, found, strict=True):
        known = scores(net, source)
        assert best.score == pytest.approx(max(known.values()), rel=1e-6)
        assert tuple(best.symbols) == max(known, key=known.get)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("beam", [1, 2, 3])
def test_what_is_found_has_the_score_that_is_said(net, beam):
    for source, best in zip(SOURCES, translate(net, SOURCES, beam=beam), strict=True):
        expected = scores(net, source)[tuple(best.symbols)]
        assert best.score == pytest.approx(expected, rel=1e-6)


@pytest.mark.usefixtures("short")
def test_greedy_takes_the_most_probable_symbol_every_time(net):
    for source, best in zip(SOURCES, translate(net, SOURCES, beam=1), strict=True):
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
    among = translate(net, SOURCES, beam=beam)
    for source, found in zip(SOURCES, among, strict=True):
        (alone,) = translate(net, source[source != PAD][None], beam=beam)
        assert alone.symbols == found.symbols
        assert alone.score == pytest.approx(found.score)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_that_never_ends_is_ended(beam):
    """The end is never probable; 1.5 symbols for each of the source's, and 10."""
    torch.manual_seed(0)
    net = Transformer(SIZES).eval()
    decode = net.decode

    def endless(symbols, cache):
        logits = decode(symbols, cache)
        logits[:, :, END] = -50
        return logits

    net.decode = endless
    lengths = [len(f.symbols) for f in translate(net, SOURCES, beam=beam)]
    longest = [10 + int(1.5 * n) - 1 for n in (4, 2, 3)]
    assert lengths == longest if beam == 1 else max(lengths) <= max(longest)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_network_of_nans_still_comes_to_an_end(beam):
    net = Transformer(SIZES).eval()
    torch.nn.init.constant_(net.symbols.weight, math.nan)
    assert len(translate(net, SOURCES, beam=beam)) == len(SOURCES)
