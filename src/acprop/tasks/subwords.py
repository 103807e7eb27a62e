"""Subwords: byte-pair encoding, learnt by sentencepiece from both languages together.

Text comes out as it went in: nothing is normalised but runs of white space, and a
letter too rare for a symbol of its own is spelt in bytes. The symbols 0 to 3 are
padding, begin, end and unknown. What is learnt is kept in the data cache, under a hash
of all that decides it.
"""

import hashlib
import io
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import final

import sentencepiece  # pyright: ignore[reportMissingTypeStubs]

from acprop import files
from acprop.checks import UserError
from acprop.plain import canonical
from acprop.tasks.data import cache_folder
from acprop.tasks.nets.transformer import PAD
from acprop.tasks.search import BEGIN, END

UNKNOWN = 3
# Of the letters in the text. Japanese has thousands; the rest are spelt in bytes.
COVERAGE = 0.995
_log = logging.getLogger(__name__)


@final
class Subwords:
    """model: what sentencepiece keeps."""

    def __init__(self, model: bytes) -> None:
        self.sha256 = hashlib.sha256(model).hexdigest()
        self._pieces = sentencepiece.SentencePieceProcessor(model_proto=model)  # pyright: ignore

    @property
    def n_symbols(self) -> int:
        """Of the vocabulary."""
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
        why = str(error).rpartition("] ")[2].strip() or "it said nothing"
        raise UserError(
            f"n_symbols must suit the sentences, got {n_symbols}: {why}"
        ) from error
    return out.getvalue()


def learnt(sentences: Sequence[str], n_symbols: int) -> Subwords:
    """From the cache if the same sentences were seen before."""
    seen = hashlib.sha256("\n".join(sentences).encode()).hexdigest()
    key = canonical(
        {
            "sentences": seen,
            "n_symbols": n_symbols,
            "coverage": COVERAGE,
            "sentencepiece": sentencepiece.__version__,
        }
    )
    name = f"bpe-{hashlib.sha256(key.encode()).hexdigest()[:24]}.model"
    path = cache_folder() / "subwords" / name
    if path.is_file():
        try:
            return Subwords(files.read_sealed(path))
        except ValueError as error:
            _log.warning("%s; these subwords are learnt again", error)
    model = learn(sentences, n_symbols)
    with suppress(OSError):  # where nothing can be kept, the next run learns it again
        files.write(path, model + files.seal(model))
    return Subwords(model)
