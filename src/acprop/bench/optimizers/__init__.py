"""The optimizers a study may name: ours, torch's and pytorch_optimizer's."""

from acprop.bench.optimizers.entries import (
    ENTRIES,
    NOT_OFFERED,
    Entry,
    OptimizerRow,
    rows,
)
from acprop.bench.optimizers.factory import Factory, build
from acprop.bench.optimizers.settings import find, resolved

__all__ = [
    "ENTRIES",
    "NOT_OFFERED",
    "Entry",
    "Factory",
    "OptimizerRow",
    "build",
    "find",
    "resolved",
    "rows",
]
