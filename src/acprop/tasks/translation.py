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
from acprop.tasks.learner import Learner, second_moment
from acprop.tasks.nets.transformer import PAD, Transformer, TransformerSizes
from acprop.tasks.search import Search, translate
from acprop.tasks.sentences import Part, Rows, Sentences, lesson, padded
from acprop.tasks.settings import StepSettings, read
from acprop.tasks.subwords import learnt
from acprop.tasks.task import Metrics, OptimizerFactory, random_stream, weights_of

CHOICE_SEED = 2021  # of no run: every run has the same sentences
SHOWN = 20  # translations kept to be looked at


@dataclass(frozen=True, slots=True)
class TranslationSettings(StepSettings):
    """What decides the numbers of a run, besides seed and optimizer.

    corpus: the name of a set of sentence pairs. reverse: translate the other way.
    n_symbols: of the vocabulary that both languages share.
    layers, width, hidden, heads, dropout, norm_first: see `TransformerSizes`.
    tokens: the most symbols of a batch, padding included; of all ranks together.
    n_train, n_validation, n_test: so many pairs; None is all there are.
    beam, length_penalty: of the search that writes what BLEU scores.
    average: evaluate the mean of the weights at the ends of so many epochs.
    """

    corpus: str
    reverse: bool = False
    n_symbols: int = 10_000
    layers: int = 6
    width: int = 512
    hidden: int = 1024
    heads: int = 4
    dropout: float = 0.3
    norm_first: bool = False
    label_smoothing: float = 0.1
    tokens: int = 4096
    n_train: int | None = None
    n_validation: int | None = None
    n_test: int | None = None
    beam: int = 5
    length_penalty: float = 1.0
    average: int = 1

    def __post_init__(self) -> None:
        StepSettings.__post_init__(self)
        checks.one_of("corpus", self.corpus, corpus_names())
        checks.decay("label_smoothing", self.label_smoothing)
        _ = self.sizes(self.n_symbols), self.search  # which check the rest

    def sizes(self, n_symbols: int) -> TransformerSizes:
        """Of the network."""
        return TransformerSizes(
            n_symbols,
            self.layers,
            self.width,
            self.hidden,
            self.heads,
            self.dropout,
            self.norm_first,
        )

    @property
    def search(self) -> Search:
        """How translations are written."""
        return Search(self.beam, self.length_penalty)

    @property
    def dataset(self) -> str:
        """The set to be fetched."""
        return self.corpus


_PARTS = {"train": "n_train", "val": "n_validation", "test": "n_test"}


def settings(plain: dict[str, Any]) -> TranslationSettings:
    """Read settings from plain values; an unknown one is refused."""
    return read(TranslationSettings, "translation", plain)


class TranslationTask:
    """Train a network to translate."""

    def __init__(self, settings: TranslationSettings, *, device: str = "cpu") -> None:
        self.settings, self.device = settings, device
        self.corpus = load_corpus(settings.corpus)
        languages = self.corpus.languages[:: -1 if settings.reverse else 1]
        self.name = f"translation/{'-'.join(languages)}"
        self.bleu = Bleu(languages[1])
        texts = {part: _texts(self.corpus, part, settings) for part in _PARTS}
        both = [sentence for pair in texts["train"] for sentence in pair]
        self.subwords = learnt(both, settings.n_symbols)
        self.parts = {part: self._part(texts[part]) for part in _PARTS}
        self.copying = {
            name: self.bleu([source for source, _ in part.texts], part.references)
            for name, part in self.parts.items()
            if name != "train"
        }

    def _part(self, texts: list[tuple[str, str]]) -> Part:
        read, written = zip(*texts, strict=True)
        encode = self.subwords.encode
        sentences = Sentences(encode(read), encode(written))
        return Part(texts, sentences, sentences.batches(self.settings.tokens))

    @property
    def source(self) -> dict[str, Any]:
        """Where the sentences came from, and how translations are scored.

        copying: BLEU of the source itself, which a translation should exceed.
        """
        about = {"signature": self.bleu.signature, "copying": self.copying}
        return {self.corpus.name: self.corpus.source, "bleu": about}

    def begin(self, seed: int, optimizer: OptimizerFactory) -> "TranslationSession":
        """Same seed: same weights and the same batches for every optimizer."""
        return TranslationSession(self, seed, optimizer)


def _texts(
    corpus: Corpus, part: str, settings: TranslationSettings
) -> list[tuple[str, str]]:
    """So many pairs of a part as the settings say, drawn once for all runs."""
    pairs: list[tuple[str, str]] = getattr(corpus, part)
    argument = _PARTS[part]
    n: int = getattr(settings, argument) or len(pairs)
    if not 0 < n <= len(pairs):
        raise UserError(f"{argument} must be in [1, {len(pairs)}], got {n}")
    draw = torch.Generator().manual_seed(CHOICE_SEED)
    drawn = torch.randperm(len(pairs), generator=draw)[:n]
    chosen = [pairs[i] for i in sorted(map(int, drawn))]
    return [(b, a) for a, b in chosen] if settings.reverse else chosen


class TranslationSession:
    """One run."""

    def __init__(
        self, task: TranslationTask, seed: int, optimizer: OptimizerFactory
    ) -> None:
        self.task, self.settings, self.seed = task, task.settings, seed
        with weights_of(seed):
            self.net = Transformer(self.settings.sizes(task.subwords.n_symbols))
        net, device = self.net, task.device
        self.learner = Learner(net, optimizer, self.settings, seed, device, batch=None)
        self.train = task.parts["train"]
        self.steps_per_epoch = len(self.train.batches)
        self.last = LastWeights(self.settings.average)
        # Smoothed loss, symbols, sentences; of all ranks.
        self.sums = torch.zeros(3, dtype=torch.float64)
        self.shown = ""

    def scale_lr(self, factor: float) -> None:
        """Set the learning rates to `factor` times what they began with."""
        self.learner.scale_lr(factor)

    def train_step(self) -> Metrics:
        """One step of the optimizer on one global batch."""
        rows = self.rows(self.learner.n_steps)
        n_symbols = sum(len(self.train.sentences.written[i]) for i in rows)
        sentences = self.train.sentences
        pieces = [self._pair(sentences, mine) for mine in self.learner.dealt(rows)]
        # Pieces and ranks are averaged, whatever they hold: each has its part.
        share = self.learner.n_pieces / n_symbols
        sums = self.learner.step(
            pieces, lambda logits, y: self._measure(logits, y, share)
        )
        self.sums += sums
        return {"loss": float(sums[0] / sums[1])}

    def rows(self, step: int) -> Rows:
        """The global batch of a step, for all ranks."""
        epoch, i = divmod(step, self.steps_per_epoch)
        draw = random_stream(self.seed, "order", epoch)
        order = torch.randperm(self.steps_per_epoch, generator=draw)
        return self.train.batches[int(order[i])]

    def _pair(self, sentences: Sentences, rows: Rows) -> Any:
        found = lesson(sentences, rows)
        read, before, after = (part.to(self.task.device) for part in found)
        return (read, before), after

    def _measure(
        self, logits: Tensor, y: Tensor, share: float
    ) -> tuple[Tensor, Tensor]:
        """The loss to descend; and the sums of losses, symbols and sentences."""
        smoothing = self.settings.label_smoothing
        loss = _summed(logits, y, label_smoothing=smoothing)
        n = float((y != PAD).sum())
        seen = [float(loss.detach()), n, float((y[:, 0] != PAD).sum())]
        return loss * share, torch.tensor(seen, dtype=torch.float64)

    def evaluate(self) -> Metrics:
        """What the epoch came to; the test part is for curves, never for choosing."""
        (loss, n_symbols, n), self.sums = self.sums, torch.zeros_like(self.sums)
        out = {"train_loss": float(loss / n_symbols), "samples": float(n)}
        with self.last.swapped_in(self.net):
            out["val_loss"] = self._loss(self.task.parts["val"])
            for name in ("val", "test"):
                written = self._written(self.task.parts[name])
                references = self.task.parts[name].references
                out[f"{name}_bleu"] = self.task.bleu(written, references)
        self.shown = _side_by_side(self.task.parts["test"].texts, written)
        if self.settings.second_moment:
            out["second_moment"] = second_moment(self.learner.optimizer)
        return out

    def _loss(self, part: Part) -> float:
        def batch(i: int) -> Any:
            return self._pair(part.sentences, part.batches[i])

        loss, n = self.learner.sum_over_batches(
            len(part.batches), batch, _evaluation_sums, n_sums=2
        )
        return float(loss / n)

    def _written(self, part: Part) -> list[str]:
        """Every rank writes all of them: cheaper than to collect them."""
        self.net.eval()
        symbols: list[list[int]] = [[]] * len(part.texts)
        for rows in part.batches:
            read = padded([part.sentences.read[i] for i in rows])
            found = translate(self.net, read.to(self.task.device), self.settings.search)
            for row, best in zip(rows, found, strict=True):
                symbols[row] = best.symbols
        return self.task.subwords.decode(symbols)

    def artifacts(self) -> dict[str, bytes]:
        """Some translations of the test part, to be read."""
        return {f"translations-{self.learner.n_steps:06d}.txt": self.shown.encode()}

    def state_dict(self) -> dict[str, Any]:
        """Everything; the batches follow from the seed, the step and the corpus."""
        return {
            **self.learner.state_dict(),
            "last": self.last.state_dict(),
            "sums": self.sums.clone(),
            **self._checksums(),
        }

    def _checksums(self) -> dict[str, str]:
        task = self.task
        return {"corpus": task.corpus.sha256, "subwords": task.subwords.sha256}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        for name, sha256 in self._checksums().items():
            if state[name] != sha256:
                raise UserError(
                    f"{name} must have sha256 {state[name][:12]}… as when the run "
                    f"began, got {sha256[:12]}…; begin again with --restart"
                )
        self.learner.load_state_dict(state)
        self.last.load_state_dict(state["last"])
        self.sums = state["sums"].clone()


def _side_by_side(texts: list[tuple[str, str]], written: list[str]) -> str:
    shown = zip(texts[:SHOWN], written[:SHOWN], strict=True)
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


def _evaluation_sums(logits: Tensor, y: Tensor) -> Tensor:
    return torch.stack([_summed(logits, y), (y != PAD).sum()]).double().cpu()
