"""The ranks are started once for all tests of this folder."""

import pytest

from .launch import launch


@pytest.fixture(scope="session")
def report(once):
    """What all ranks saw, by their number and the name of the case."""
    return once("ranks", lambda folder: launch("program.py", folder))
