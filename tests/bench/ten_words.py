"""A language of ten words, and its translation word by word, in reverse order."""

import torch

from acprop.tasks.data.corpora import Corpus

WORDS = {
    "ba": "one",
    "be": "two",
    "bi": "three",
    "bo": "four",
    "bu": "five",
    "da": "six",
    "de": "seven",
    "di": "eight",
    "do": "nine",
    "du": "ten",
}


def sentences(n, seed):
    """From two words to six."""
    draw = torch.Generator().manual_seed(seed)
    out = []
    for _ in range(n):
        length = int(torch.randint(2, 7, (1,), generator=draw))
        picks = torch.randint(10, (length,), generator=draw)
        words = [list(WORDS)[i] for i in picks.tolist()]
        out.append((" ".join(words), " ".join(WORDS[w] for w in reversed(words))))
    return out


CORPUS = Corpus(
    "nmt-de-en",
    ("de", "en"),
    train=sentences(200, 0),
    val=sentences(12, 1),
    test=sentences(15, 2),
    source={"route": "test", "sha256": {"pairs": "0" * 64}},
)
SMALL = {
    "corpus": "nmt-de-en",
    "n_symbols": 330,
    "layers": 1,
    "width": 32,
    "hidden": 32,
    "heads": 2,
    "dropout": 0.1,
    "norm_first": True,
    "tokens": 120,
    "beam": 2,
}
