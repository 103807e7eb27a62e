"""Subwords: byte-pair encoding, learnt by sentencepiece from both languages together.

Text comes out as it went in: nothing is normalised but runs of white space, and a
letter too rare for a symbol of its own is spelt in bytes. The symbols 0 to 3 are
padding, begin, end and unknown. What is learnt is kept in the data cache, under a hash
of all that decides it.
"""

import hashlib
import io
from collections.abc import Iterable, Sequence
from typing import final

import sentencepiece  # pyright: ignore[reportMissingTypeStubs]

from acprop.checks import UserError
from acprop.tasks.data.kept import kept
from acprop.tasks.nets.transformer import PAD
from acprop.tasks.search import BEGIN, END

UNKNOWN = 3
# Of the letters in the text. Japanese has thousands; the rest are spelt in bytes.
COVERAGE = 0.995


@final
class Subwords:
    """model: what sentencepiece keeps."""

    def __init__(self, model: bytes) -> None:
        self.sha256 = hashlib.sha256(model).hexdigest()
        self._pieces = sentencepiece.SentencePieceProcessor(model_proto=model)  # pyright: ignore

    @property
    def n_symbols(self) -> int:
        return self._pieces.get_piece_size()  # pyright: ignore

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Symbols of each, with its end."""
        return [[*ids, END] for ids in self._pieces.encode(list(sentences))]  # pyright: ignore

    def decode(self, symbols: Sequence[list[int]]) -> list[str]:
        """Text of each; what is no text (begin, end, padding) is left out."""
        return self._pieces.decode([list(ids) for ids in symbols])  # pyright: ignore


def learn(sentences: Iterable[str], n_symbols: int) -> bytes:
    """The same sentences give the same bytes."""
    out = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(  # pyright: ignore
            sentence_iterator=iter(sentences),
            model_writer=out,
            model_type="bpe",
            vocab_size=n_symbols,
            character_coverage=COVERAGE,
            byte_fallback=True,
            normalization_rule_name="identity",
            pad_id=PAD,
            bos_id=BEGIN,
            eos_id=END,
            unk_id=UNKNOWN,
            num_threads=1,
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        why = str(error).rpartition("] ")[2].strip() or "no reason was given"
        raise UserError(
            f"n_symbols must suit the sentences, got {n_symbols}: {why}"
        ) from error
    return out.getvalue()


def learnt(sentences: Sequence[str], n_symbols: int) -> Subwords:
    """From the cache if the same sentences were seen before."""
    decides = {
        "sentences": hashlib.sha256("\n".join(sentences).encode()).hexdigest(),
        "n_symbols": n_symbols,
        "coverage": COVERAGE,
        "sentencepiece": sentencepiece.__version__,
    }
    model = kept(
        "subwords", "bpe-{}.model", decides, lambda: learn(sentences, n_symbols)
    )
    return Subwords(model)
