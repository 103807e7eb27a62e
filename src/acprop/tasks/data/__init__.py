"""Data sets with checksums, their cache, and what happens to an image before a network.

    fetch("cifar10")
    images = load("cifar10")
    text = load_text("moby-dick")
    corpus = load_corpus("nmt-de-en")

Names are loaded when they are first used: listing or fetching a set needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acprop.tasks.data.augment import (
        Crops,
        augmented,
        crop_and_flip,
        draw_crops,
        normalised,
    )
    from acprop.tasks.data.corpora import Corpus, corpus_names, load_corpus
    from acprop.tasks.data.dataset import DataError, Dataset
    from acprop.tasks.data.fetching import fetch, verify
    from acprop.tasks.data.images import Folders, Images, load, load_folders
    from acprop.tasks.data.pictures import Boxes, ImageFolder, draw_boxes
    from acprop.tasks.data.sampling import (
        hold_out,
        share,
        split,
    )
    from acprop.tasks.data.sets import NAMES, describe, sized
    from acprop.tasks.data.store import cache_folder, folder_of, is_present, source_of
    from acprop.tasks.data.summary import summarise
    from acprop.tasks.data.texts import Text, load_text, set_of

_HOME = {
    "Crops": "augment",
    "crop_and_flip": "augment",
    "draw_crops": "augment",
    "normalised": "augment",
    "augmented": "augment",
    "hold_out": "sampling",
    "share": "sampling",
    "split": "sampling",
    "Corpus": "corpora",
    "corpus_names": "corpora",
    "load_corpus": "corpora",
    "DataError": "dataset",
    "Dataset": "dataset",
    "fetch": "fetching",
    "verify": "fetching",
    "Folders": "images",
    "Images": "images",
    "load": "images",
    "load_folders": "images",
    "Boxes": "pictures",
    "ImageFolder": "pictures",
    "draw_boxes": "pictures",
    "NAMES": "sets",
    "describe": "sets",
    "sized": "sets",
    "cache_folder": "store",
    "folder_of": "store",
    "is_present": "store",
    "source_of": "store",
    "summarise": "summary",
    "Text": "texts",
    "load_text": "texts",
    "set_of": "texts",
}

__all__ = [
    "NAMES",
    "Boxes",
    "Corpus",
    "Crops",
    "DataError",
    "Dataset",
    "Folders",
    "ImageFolder",
    "Images",
    "Text",
    "augmented",
    "cache_folder",
    "corpus_names",
    "crop_and_flip",
    "describe",
    "draw_boxes",
    "draw_crops",
    "fetch",
    "folder_of",
    "hold_out",
    "is_present",
    "load",
    "load_corpus",
    "load_folders",
    "load_text",
    "normalised",
    "set_of",
    "share",
    "sized",
    "source_of",
    "split",
    "summarise",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'acprop.tasks.data' has no attribute {name!r}")
    return getattr(import_module(f"acprop.tasks.data.{_HOME[name]}"), name)
