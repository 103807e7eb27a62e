"""BLEU of whole corpora, by sacrebleu, with the signature that makes it comparable."""

from collections.abc import Sequence
from typing import final

from sacrebleu.metrics.bleu import BLEU

from acprop.checks import UserError

TOKENIZER = "13a"
# Where words are not separated by spaces.
TOKENIZERS = {"ja": "ja-mecab"}


@final
class Bleu:
    """language: of the translations, "en"."""

    def __init__(self, language: str) -> None:
        tokenizer = TOKENIZERS.get(language, TOKENIZER)
        try:
            self._bleu = BLEU(tokenize=tokenizer)
        except RuntimeError as error:
            raise UserError(
                f"the language written must have its tokenizer installed, got "
                f"{language!r} without {tokenizer}; run pip install "
                f"'sacrebleu[{language}]'"
            ) from error

    def __call__(self, written: Sequence[str], references: Sequence[str]) -> float:
        return self._bleu.corpus_score(list(written), [list(references)]).score

    @property
    def signature(self) -> str:
        """Of sacrebleu; known after the first score."""
        return str(self._bleu.get_signature())
