"""ImageNet as a folder of pictures: listed once, decoded when they are needed.

FOLDER/train/<class>/*.JPEG
FOLDER/val/<class>/*.JPEG
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from acprop.checks import UserError

PARTS = ("train", "val")
SUFFIXES = (".jpeg", ".jpg", ".png")


def listing(folder: Path) -> list[tuple[str, list[str]]]:
    """(class, its pictures) in the order of their names: the n-th class has label n."""
    if not folder.is_dir():
        raise UserError(f"folder must have train/ and val/, got no {folder}")
    with os.scandir(folder) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    return [
        (name, sorted(p for p in os.listdir(folder / name) if _is_picture(p)))
        for name in classes
    ]


def _is_picture(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def examine(folder: Path) -> dict[str, Any]:
    """Numbers that say whether a folder is still the one it was; names, not bytes."""
    parts = {part: listing(folder / part) for part in PARTS}
    train, val = ([name for name, _ in parts[part]] for part in PARTS)
    if train != val or not train:
        raise UserError(
            f"train/ and val/ must have the same classes, got {len(train)} and "
            f"{len(val)} in {folder}"
        )
    empty = [f"{p}/{c}" for p in PARTS for c, pictures in parts[p] if not pictures]
    if empty:
        raise UserError(f"every class must have pictures, got none in {empty[0]}")
    names = "\n".join(
        f"{part}/{name}/{picture}"
        for part in PARTS
        for name, pictures in parts[part]
        for picture in pictures
    )
    return {
        "n_classes": len(train),
        "n_train": sum(len(pictures) for _, pictures in parts["train"]),
        "n_val": sum(len(pictures) for _, pictures in parts["val"]),
        "names_sha256": hashlib.sha256(names.encode()).hexdigest(),
    }
