"""Translation: a transformer reads a sentence and writes it in another language.

A step descends the mean over the batch's symbols of the smoothed cross-entropy

    (1 - σ)·(-log p(y)) + σ·mean over all symbols of -log p          σ = label_smoothing

The validation loss has no smoothing. BLEU is sacrebleu's, of whole sentences as people
write them; its signature is in the record. It depends on the sentences: one corpus's is
never compared with another's. Evaluated are the weights at the end of an epoch, or the
mean of the last `average` such weights.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from acprop import checks
from acprop.checks import UserError
from acprop.tasks.averages import LastWeights
from acprop.tasks.bleu import Bleu
from acprop.tasks.data.corpora import Corpus, corpus_names, load_corpus
from acprop.tasks.learner import NetworkSession, Pair
from acprop.tasks.nets.transformer import PAD, Transformer, TransformerSizes
from acprop.tasks.search import translate
from acprop.tasks.sentences import CorpusPart, Rows
from acprop.tasks.settings import StepSettings
from acprop.tasks.subwords import learnt
from acprop.tasks.task import Metrics, OptimizerFactory, random_stream, weights_of

CHOICE_SEED = 2021  # of no run: every run has the same sentences
# A step of the search costs about the same for few sentences as for many.
EVALUATION_TOKENS = 4096
SHOWN = 20  # translations kept to be looked at
PARTS = {"train": "n_train", "val": "n_validation", "test": "n_test"}


@dataclass(frozen=True, slots=True)
class TranslationSettings(TransformerSizes, StepSettings):
    """What decides the numbers of a run, besides seed and optimizer.

    corpus: the name of a set of sentence pairs.
    n_symbols: of the vocabulary that both languages share.
    tokens: the most symbols of a training batch, padding included; of all ranks
        together.
    n_train, n_validation, n_test: so many pairs; None is all there are.
    beam: of the search that writes what BLEU scores.
    average: evaluate the mean of the weights at the ends of so many epochs.
    """

    corpus: str
    label_smoothing: float = 0.1
    tokens: int = 4096
    n_train: int | None = None
    n_validation: int | None = None
    n_test: int | None = None
    beam: int = 5
    average: int = 1

    def __post_init__(self) -> None:
        StepSettings.__post_init__(self)
        TransformerSizes.__post_init__(self)
        checks.one_of("corpus", self.corpus, corpus_names())
        checks.decay("label_smoothing", self.label_smoothing)

    @property
    def dataset(self) -> str:
        return self.corpus


class TranslationTask:
    """Train a network to translate.

    source: where the sentences came from, and how translations are scored; copying is
    BLEU of the source itself, which a translation should exceed.
    """

    def __init__(self, settings: TranslationSettings, *, device: str = "cpu") -> None:
        self.settings, self.device = settings, device
        self.corpus = load_corpus(settings.corpus)
        languages = self.corpus.languages
        self.name = f"translation/{'-'.join(languages)}"
        self.bleu = Bleu(languages[1])
        texts = {part: _texts(self.corpus, part, settings) for part in PARTS}
        both = [sentence for pair in texts["train"] for sentence in pair]
        self.subwords = learnt(both, settings.n_symbols)
        tokens = settings.tokens
        most = dict.fromkeys(PARTS, max(tokens, EVALUATION_TOKENS)) | {"train": tokens}
        self.parts = {
            part: CorpusPart(texts[part], self.subwords.encode, most[part])
            for part in PARTS
        }
        copying = {
            part: self.bleu(self.parts[part].sources, self.parts[part].references)
            for part in ("val", "test")
        }
        about = {"signature": self.bleu.signature, "copying": copying}
        self.source: dict[str, Any] = {
            self.corpus.name: self.corpus.source,
            "bleu": about,
        }

    def begin(self, seed: int, optimizer: OptimizerFactory) -> "TranslationSession":
        """Same seed: same weights and the same batches for every optimizer."""
        return TranslationSession(self, seed, optimizer)


def _texts(
    corpus: Corpus, part: str, settings: TranslationSettings
) -> list[tuple[str, str]]:
    """So many pairs of a part as the settings say, drawn once for all runs."""
    pairs: list[tuple[str, str]] = getattr(corpus, part)
    n: int = getattr(settings, PARTS[part]) or len(pairs)
    if not 0 < n <= len(pairs):
        raise UserError(f"{PARTS[part]} must be in [1, {len(pairs)}], got {n}")
    draw = torch.Generator().manual_seed(CHOICE_SEED)
    drawn = torch.randperm(len(pairs), generator=draw)[:n]
    return [pairs[i] for i in sorted(map(int, drawn))]


class TranslationSession(NetworkSession[TranslationSettings]):
    """One run. sums: smoothed losses, symbols, sentences."""

    net: Transformer

    def __init__(
        self, task: TranslationTask, seed: int, optimizer: OptimizerFactory
    ) -> None:
        self.task, self.train = task, task.parts["train"]
        with weights_of(seed):
            net = Transformer(task.settings)
        super().__init__(
            net, optimizer, task.settings, seed, task.device, batch=None, n_sums=3
        )
        self.steps_per_epoch = len(self.train.batches)
        self.last = LastWeights(self.settings.average)
        self.shown = ""
        subwords = task.subwords.sha256
        self.checksums = {"corpus": task.corpus.sha256, "subwords": subwords}

    def train_step(self) -> Metrics:
        rows = self.rows(self.n_steps)
        x, y = self._pair(self.train, rows[self.rank :: self.world])
        # Ranks are averaged, however much they hold: each has its part.
        share = self.world / sum(len(self.train.written[i]) for i in rows)
        sums = self.descend(x, y, lambda logits, y: self._measure(logits, y, share))
        self.sums += sums
        return {"loss": float(sums[0] / sums[1])}

    def rows(self, step: int) -> Rows:
        """The global batch of a step, for all ranks."""
        epoch, i = divmod(step, self.steps_per_epoch)
        draw = random_stream(self.seed, "order", epoch)
        order = torch.randperm(self.steps_per_epoch, generator=draw)
        return self.train.batches[int(order[i])]

    def _pair(self, part: CorpusPart, rows: Rows) -> Pair:
        (read, before), after = part.lesson(rows)
        return (read.to(self.device), before.to(self.device)), after.to(self.device)

    def _measure(
        self, logits: Tensor, y: Tensor, share: float
    ) -> tuple[Tensor, Tensor]:
        """The loss to descend; and the sums of losses, symbols and sentences."""
        loss = _summed(logits, y, label_smoothing=self.settings.label_smoothing)
        n = float((y != PAD).sum())
        seen = [float(loss.detach()), n, float((y[:, 0] != PAD).sum())]
        return loss * share, torch.tensor(seen, dtype=torch.float64)

    def metrics(self, sums: Tensor) -> Metrics:
        loss, n_symbols, n = sums
        out = {"train_loss": float(loss / n_symbols), "samples": float(n)}
        parts, written = self.task.parts, [""]
        with self.last.swapped_in(self.net):
            out["val_loss"] = self._loss(parts["val"])
            for name in ("val", "test"):
                written = self._written(parts[name])
                out[f"{name}_bleu"] = self.task.bleu(written, parts[name].references)
        self.shown = _side_by_side(parts["test"], written)
        return out

    def _loss(self, part: CorpusPart) -> float:
        loss, n = self.sum_over_batches(
            len(part.batches),
            lambda i: self._pair(part, part.batches[i]),
            lambda logits, y: (
                torch.stack([_summed(logits, y), (y != PAD).sum()]).double().cpu()
            ),
            n_sums=2,
        )
        return float(loss / n)

    def _written(self, part: CorpusPart) -> list[str]:
        """Every rank writes all of them: cheaper than to collect them."""
        self.net.eval()
        symbols: list[list[int]] = [[]] * len(part.texts)
        for rows in part.batches:
            read = part.source(rows).to(self.device)
            found = translate(self.net, read, beam=self.settings.beam)
            for row, best in zip(rows, found, strict=True):
                symbols[row] = best.symbols
        return self.task.subwords.decode(symbols)

    def artifacts(self) -> dict[str, bytes]:
        """Some translations of the test part, to be read."""
        return {f"translations-{self.n_steps:06d}.txt": self.shown.encode()}

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "last": {"kept": self.last.kept}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.last.kept = state["last"]["kept"]


def _side_by_side(part: CorpusPart, written: list[str]) -> str:
    shown = zip(part.texts[:SHOWN], written[:SHOWN], strict=True)
    return "\n".join(
        f"source       {source}\nreference    {target}\ntranslation  {found}\n"
        for (source, target), found in shown
    )


def _summed(logits: Tensor, y: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
    return cross_entropy(
        logits.flatten(0, 1),
        y.flatten(),
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=label_smoothing,
    )
