"""Torch's private names: a new torch may take them away, so they are in one file."""

import re
from pathlib import Path

import acprop.optim

FOLDER = Path(acprop.optim.__file__).parent
# torch.a._b, from torch.a._b import c, from torch.a import _b
PRIVATE = r"\btorch(?:\.\w+)*\.(_\w+)|^from torch[\w.]* import \(?[^)\n]*\b(_\w+)"


def test_torchs_private_names_are_in_one_file():
    found = {
        (path.name, *name)
        for path in FOLDER.rglob("*.py")
        for name in re.findall(PRIVATE, path.read_text("utf-8"), re.MULTILINE)
        if not name[0].startswith("_foreach")
    }
    assert {file for file, *_ in found} == {"_torch_internals.py"}
