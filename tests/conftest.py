"""One thread for each process of the tests, and real data where they need it."""

import os

# Before torch is imported, and for all processes that tests start: threads of several
# processes that wait for each other on too few cores wait for very long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest


@pytest.fixture(scope="session")
def mnist():
    """MNIST in the user's own cache, fetched if need be; its verified folder."""
    from acprop.tasks.data import DataError, fetch

    try:
        return fetch("mnist", progress=False)
    except DataError as error:
        pytest.skip(f"MNIST cannot be had here: {error}")
