"""The claims are decided once: by `make reproduce`, which fails if a verdict changed.

The tests decide the quick ones again; `make test-all` decides all of them.
"""

from pathlib import Path

import pytest

from acprop.records import Verdict, read

HERE = Path(__file__).parent
RECORDED = HERE.parents[2] / "results" / "lab" / "verdicts.jsonl"
QUICK_SECONDS = 0.3


def recorded():
    return {v.claim: v for v in read(RECORDED) if isinstance(v, Verdict)}


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items):
    """A test whose one parameter is a claim takes as long as the claim took."""
    seconds = {name: v.wall_seconds for name, v in recorded().items()}
    for item in items:
        name = item.callspec.id if hasattr(item, "callspec") else ""
        if HERE in item.path.parents and seconds.get(name, 0) > QUICK_SECONDS:
            item.add_marker(pytest.mark.slow)
