"""What is in a set that was fetched: counts, shapes, a few examples, its source."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acprop import checks
from acprop.tasks.data import store
from acprop.tasks.data.bitext.catalogs import Pair
from acprop.tasks.data.bitext.parts import PARTS
from acprop.tasks.data.corpora import load_corpus
from acprop.tasks.data.sets import describe

# a language that does not separate its words is counted in characters
UNITS = {"ja": "characters"}
EXCERPT = 60  # bytes of a text


def summarise(name: str, *, n: int = 5, cache: Path | None = None) -> dict[str, Any]:
    """The set of this name in numbers, with n examples of a set of pairs or a text."""
    checks.integer("n", n, least=0)
    data = describe(name)
    source = store.whole(name, cache)
    about = {"name": name, "title": data.title, "form": data.form}
    if data.form == "pairs":
        about |= _pairs(name, n, cache)
    elif data.form == "text":
        about |= _text(name, n, cache)
    elif data.form == "folders":
        keys = ("n_classes", "n_train", "n_val")
        about |= {key: source[key] for key in keys if key in source}
    elif data.form == "weights":
        about |= {"n_bytes": data.n_bytes, "files": [file.name for file in data.files]}
    else:
        about |= _images(name, cache)
    return {**about, "source": source}


def _pairs(name: str, n: int, cache: Path | None) -> dict[str, Any]:
    corpus = load_corpus(name, cache=cache)
    parts = {part: getattr(corpus, part) for part in PARTS}
    lengths = {
        part: {
            language: _mean_length([pair[side] for pair in pairs], language)
            for side, language in enumerate(corpus.languages)
        }
        for part, pairs in parts.items()
    }
    return {
        "languages": corpus.languages,
        "n_pairs": {part: len(pairs) for part, pairs in parts.items()},
        "mean_length": lengths,
        "units": {name: UNITS.get(name, "words") for name in corpus.languages},
        "examples": _spread(corpus.train, n),
        "sha256": corpus.sha256,
    }


def _mean_length(sentences: Sequence[str], language: str) -> float:
    by_word = language not in UNITS
    total = sum(len(s.split()) if by_word else len(s) for s in sentences)
    return round(total / len(sentences), 1)


def _spread(pairs: Sequence[Pair], n: int) -> list[Pair]:
    """n pairs from all over the part, the same ones at every call."""
    n = min(n, len(pairs))
    return [pairs[(2 * i + 1) * len(pairs) // (2 * n)] for i in range(n)]


def _text(name: str, n: int, cache: Path | None) -> dict[str, Any]:
    from acprop.tasks.data.texts import load_text

    text = load_text(name, cache=cache)
    parts = {part: getattr(text, part) for part in PARTS}
    step = len(text.train) // max(n, 1)
    places = [text.train[i * step : i * step + EXCERPT] for i in range(n)]
    return {
        "n_bytes": {part: len(content) for part, content in parts.items()},
        "examples": [p.numpy().tobytes().decode(errors="replace") for p in places],
    }


def _images(name: str, cache: Path | None) -> dict[str, Any]:
    from acprop.tasks.data.images import load

    images = load(name, cache=cache)
    return {
        "shape": list(images.train_x.shape[1:]),
        "n_classes": images.n_classes,
        "n_images": {"train": len(images.train_y), "test": len(images.test_y)},
        "n_per_class": [
            int((images.train_y == k).sum()) for k in range(images.n_classes)
        ],
        "mean": images.mean,
        "std": images.std,
    }
