"""A run's checkpoints: the last, and the one before in case that one is damaged."""

import io
import logging
from collections.abc import Callable
from pathlib import Path

from acprop import files
from acprop.bench.run_files import DamagedError
from acprop.plain import Plain

NAMES = CHECKPOINT, OLDER = "checkpoint.pt", "checkpoint.older.pt"
_log = logging.getLogger(__name__)


def save(folder: Path, state: Plain, *, keep_last: bool) -> None:
    """Write a checkpoint, sealed with its SHA-256. keep_last: as the one before."""
    import torch  # here: to read a store's plain files needs none of it

    content = io.BytesIO()
    torch.save(state, content)
    content.write(files.seal(content.getbuffer()))
    older = folder / OLDER if keep_last else None
    files.write(folder / CHECKPOINT, content.getbuffer(), older=older)


def load(
    folder: Path, check: Callable[[Plain], object]
) -> tuple[Plain | None, list[str]]:
    """The last checkpoint that is whole, and why those after it are not.

    check: raises a ValueError about one that cannot be of this run.
    """
    damaged: list[str] = []
    there = [name for name in NAMES if (folder / name).exists()]
    for name in there:
        try:
            saved = _read(folder / name)
            check(saved)
        except ValueError as error:
            damaged.append(
                f"{folder / name} must be a whole checkpoint of this run, got {error}"
            )
            continue
        if name == OLDER:
            why = damaged or [f"{folder / CHECKPOINT} is not there"]
            _log.warning(
                "run %s goes on from the checkpoint before its last: %s",
                folder.name,
                why[0],
            )
        return saved, damaged
    if there:
        raise DamagedError(
            f"{'; '.join(damaged)}; delete {' and '.join(there)}, and the run begins "
            "again"
        )
    return None, []


def _read(path: Path) -> Plain:
    """ValueError if it is damaged: what there is instead, in words.

    Not in torch's: it advises to switch its protection off.
    """
    import torch

    try:
        content = files.read_sealed(path)
    except files.UnsealedError:
        raise ValueError("one without its SHA-256") from None
    except ValueError:
        raise ValueError("another SHA-256 than its own") from None
    try:
        saved = torch.load(io.BytesIO(content), "cpu", weights_only=True)
    except Exception:  # torch raises whatever its parsers raise
        saved = None
    if not isinstance(saved, dict):
        raise ValueError(
            f"{len(content)} bytes that are no table of tensors and plain values"
        )
    return saved  # pyright: ignore[reportUnknownVariableType]
