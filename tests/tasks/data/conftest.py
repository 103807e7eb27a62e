"""A cache of its own for every test, and no way to the network."""

import pytest

from acprop.tasks.data import routes, sets

from .tiny import tiny


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    place = tmp_path / "cache"
    monkeypatch.setenv("ACPROP_DATA", str(place))
    monkeypatch.delenv("ACPROP_DATA_FROM", raising=False)
    monkeypatch.setattr(routes, "N_RETRIES", 0)
    monkeypatch.setitem(sets.SETS, "tiny", tiny())
    return place


@pytest.fixture
def no_tools(tmp_path, monkeypatch):
    """A PATH without npm and apt."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
