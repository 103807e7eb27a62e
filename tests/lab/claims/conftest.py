"""The claims are decided once: by `make reproduce`, which fails if a verdict changed.

The tests decide the quicker half again; `make test-all` decides all of them.
"""

from pathlib import Path
from statistics import median

import pytest

from acprop.records import Verdict, read

HERE = Path(__file__).parent
RECORDED = HERE.parents[2] / "results" / "lab" / "verdicts.jsonl"


def recorded():
    return {v.claim: v for v in read(RECORDED) if isinstance(v, Verdict)}


# Of half of the claims, however busy the machine of the record was.
QUICK_SECONDS = median(v.wall_seconds for v in recorded().values())


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items):
    """A test whose one parameter is a claim takes as long as the claim took."""
    seconds = {name: v.wall_seconds for name, v in recorded().items()}
    for item in items:
        name = item.callspec.id if hasattr(item, "callspec") else ""
        if HERE in item.path.parents and seconds.get(name, 0) > QUICK_SECONDS:
            item.add_marker(pytest.mark.slow)
