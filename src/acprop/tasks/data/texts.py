"""A text as bytes: a set that was fetched, or any file of the user's.

Three contiguous parts, in the text's own order, so that no sentence is in two of them:

    0 ………………………………… 90 % …… 95 % …… 100 %
          train           val     test
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from acprop.checks import UserError
from acprop.tasks.data import store
from acprop.tasks.data.archives import sha256_of
from acprop.tasks.data.sets import SETS, describe

_NAMES = ", ".join(name for name, data in SETS.items() if data.form == "text")
TRAIN_ENDS, VAL_ENDS = 90, 95  # per cent of the bytes


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """uint8 bytes in three parts.

    source: route, origin and sha256; for a set as the cache recorded them.
    """

    name: str
    train: Tensor
    val: Tensor
    test: Tensor
    source: dict[str, Any]

    @property
    def sha256(self) -> str:
        """Of the whole text."""
        (found,) = self.source["sha256"].values()
        return found


def set_of(text: str) -> str | None:
    """The set a text is the name of; None for the path of a file."""
    if text in SETS and SETS[text].form != "text":
        raise UserError(f"text must be {_NAMES} or a file's path, got {text!r}")
    return text if text in SETS else None


def load_text(text: str, *, cache: Path | None = None) -> Text:
    """Read the set of this name, or the file at this path, whole into memory."""
    if set_of(text) is None:
        path = Path(text).expanduser()
        if not path.is_file():
            raise UserError(f"text must be {_NAMES} or a file's path, got {text!r}")
        sha256 = {path.name: sha256_of(path)}
        source = {"route": "file", "origin": str(path.resolve()), "sha256": sha256}
        return _cut(path.name, path, source)
    folder, source = store.complete(text, cache)
    (file,) = describe(text).files
    return _cut(text, folder / file.name, source)


def _cut(name: str, path: Path, source: dict[str, Any]) -> Text:
    whole = torch.from_numpy(np.fromfile(path, np.uint8))  # pyright: ignore
    first, second = (len(whole) * share // 100 for share in (TRAIN_ENDS, VAL_ENDS))
    return Text(name, whole[:first], whole[first:second], whole[second:], source)
