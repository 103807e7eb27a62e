"""One thread for each process, real data, and processes that wait for no clock."""

import importlib.util
import io
import json
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
def fetched():
    """fetched(name) is the verified folder of a set in the user's own cache.

    Where it cannot be had the test is skipped, or fails if ACPROP_DATASETS=required.
    """
    from acprop.tasks import data

    def get(name):
        try:
            return data.fetch(name, progress=False)
        except data.DataError as error:
            is_required = os.environ.get("ACPROP_DATASETS") == "required"
            give_up = pytest.fail if is_required else pytest.skip
            give_up(f"{name} cannot be had here: {error}")

    return get


@pytest.fixture(scope="session")
def mnist(fetched):
    return fetched("mnist")


@pytest.fixture(scope="session")
def cifar10(fetched):
    return fetched("cifar10")


@pytest.fixture(scope="session")
def nmt_ro_en(fetched):
    """The Romanian pairs of ten packages, 16 MB."""
    return fetched("nmt-ro-en")


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


@pytest.fixture(scope="session")
def once(tmp_path_factory, worker_id):
    """Something costly that several tests look at: made once, also by two workers.

    once(name, make) is the JSON value of make(folder).
    """
    # Here: the optimizers are also tested where there is torch and little else.
    from filelock import FileLock

    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent

    def get(name, make):
        kept = shared / f"{name}.json"
        with FileLock(shared / f"{name}.lock"):
            if not kept.exists():
                value = make(Path(tmp_path_factory.mktemp(name)))
                kept.write_text(json.dumps(value))
        return json.loads(kept.read_text())

    return get


@pytest.fixture
def in_process(monkeypatch):
    """The runs of a study happen here: a worker needs seconds to import torch."""
    # Here: the optimizers are also tested where there is torch and little else.
    from acprop.bench.engines.local import LocalEngine

    from .reproduce.tiny import Here

    def stay(engine, root, n_runs):
        del engine
        return Here().open(root, n_runs)

    monkeypatch.setattr(LocalEngine, "open", stay)


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
