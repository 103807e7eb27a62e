"""The optimizers a study may name: ours, torch's and pytorch_optimizer's."""

from acprop.bench.optimizers.entry import Cell, Entry, Grid
from acprop.bench.optimizers.factory import (
    ENTRIES,
    NOT_OFFERED,
    Factory,
    Row,
    build,
    find,
    resolved,
    rows,
)

__all__ = [
    "ENTRIES",
    "NOT_OFFERED",
    "Cell",
    "Entry",
    "Factory",
    "Grid",
    "Row",
    "build",
    "find",
    "resolved",
    "rows",
]
