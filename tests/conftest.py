"""Real data for the tests that need it."""

import pytest


@pytest.fixture(scope="session")
def mnist():
    """MNIST in the user's own cache, fetched if need be; its verified folder."""
    from acprop.tasks.data import DataError, fetch

    try:
        return fetch("mnist", progress=False)
    except DataError as error:
        pytest.skip(f"MNIST cannot be had here: {error}")
