"""The data sets we know, read from sets.toml."""

import json
import tomllib
from pathlib import Path

from acprop import checks
from acprop.plain import checked
from acprop.tasks.data.dataset import Dataset

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SETS = {
    name: checked(Dataset, json.dumps({"name": name, **about}))
    for name, about in _TABLE.items()
}
NAMES = tuple(SETS)


def describe(name: str) -> Dataset:
    """The set of this name: files, checksums, sources."""
    return SETS[checks.one_of("name", name, SETS)]
