"""A Ray cluster of two nodes on this machine: two raylets, real tasks, real kills."""

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from specs import LONG, SPEC, SPECS, attempts, same

from acprop.bench import leases
from acprop.bench.engines import tokens
from acprop.bench.engines.agents import agents
from acprop.bench.engines.ray import RayEngine, driver_mark
from acprop.bench.execute import execute
from acprop.bench.store import Store

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
os.environ |= {tokens.MODE: "token", tokens.TOKEN: secrets.token_hex(32)}
pytestmark = [
    pytest.mark.usefixtures("mnist"),
    # Ray's own sockets and processes, and its use of the standard library
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one CPU each."""
    from ray.cluster_utils import Cluster

    tokens.require()
    made = Cluster(
        initialize_head=True, head_node_args={**NODE, "include_dashboard": False}
    )
    made.add_node(**NODE)
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def here(tmp_path_factory, mnist):
    """The same runs by processes of this machine."""
    del mnist
    root = tmp_path_factory.mktemp("here")
    execute([*SPECS, LONG], root, jobs=2)
    return root


def is_alive(cluster):
    """Do both raylets still run?"""
    return [node.any_processes_alive() for node in cluster.list_all_nodes()]


@contextmanager
def after_checkpoints(folders, act):
    """Act once all of these runs have a checkpoint; they must come so far."""
    over = threading.Event()

    def watch():
        while not over.wait(0.05):
            if all((f.path / "checkpoint.pt").exists() for f in folders):
                act()
                return True
        return False

    with ThreadPoolExecutor(1) as beside:
        acted = beside.submit(watch)
        try:
            yield
        finally:
            over.set()
        assert acted.result()


def test_two_nodes_make_the_records_of_one_machine(cluster, here, tmp_path):
    """And the cluster, which is not ours, is there when we have left it."""
    heard = {}
    outcomes = execute(
        SPECS,
        tmp_path,
        engine=RayEngine(cluster.address),
        studies={SPEC.id: "s"},
        on_progress=lambda run, share: heard.update({run: share}),
    )
    assert [o.spec for o in outcomes] == SPECS
    assert [o.status for o in outcomes] == ["done"] * 3
    assert set(heard.values()) == {1.0}
    for spec in SPECS:
        assert same(tmp_path, spec) == same(here, spec)
        assert attempts(tmp_path, spec) == [0]
    assert is_alive(cluster) == [True, True]
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {"store.json", *(spec.id for spec in SPECS)}


@pytest.mark.slow
def test_a_worker_that_is_killed_goes_on_from_its_checkpoint(cluster, here, tmp_path):
    folder = Store(tmp_path).folder(LONG)

    def kill():
        os.kill(folder.read()["attempts"][-1]["pid"], signal.SIGKILL)

    with after_checkpoints([folder], kill):
        (outcome,) = execute([LONG], tmp_path, engine=RayEngine(cluster.address))
    assert outcome.status == "done"
    assert same(tmp_path, LONG) == same(here, LONG)
    first, second = attempts(tmp_path, LONG)
    assert first == 0 < second
    assert {p.name for p in folder.path.iterdir()} == {"metrics.jsonl", "run.json"}


BAD = [
    ({"cpus": 2}, "cpus must be at most 1, what the largest node of the Ray cluster"),
    ({"gpus": 1}, "gpus must be at most 0, what the largest node of the Ray cluster"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_what_fits_no_node_is_refused_at_once(cluster, options, message, tmp_path):
    engine = RayEngine(cluster.address, **options)
    with pytest.raises(ValueError, match=message):
        execute([SPEC], tmp_path, engine=engine)
    assert is_alive(cluster) == [True, True]


def test_what_a_killed_driver_left_is_removed_and_what_others_use_stays(tmp_path):
    """The killed one was on this machine; of another's processes we know nothing."""
    far = tmp_path / ".driver-7-7-far-boot"
    far.touch()
    here = f"{leases.host()}-{leases.boot()}"
    (tmp_path / f".driver-{os.getpid()}-0-{here}").touch()
    with driver_mark(tmp_path) as ours:
        assert set(tmp_path.iterdir()) == {far, ours}
        with subprocess.Popen(["sleep", "900"]) as other:
            start = leases.process_start(other.pid)
            theirs = tmp_path / f".driver-{other.pid}-{start}-{here}"
            theirs.touch()
            with driver_mark(tmp_path):
                assert theirs.exists()
            other.kill()
    with driver_mark(tmp_path):
        assert not theirs.exists()
    assert set(tmp_path.iterdir()) == {far}


DRIVER = """
import json, pathlib, sys
from acprop.bench.engines.ray import RayEngine
from acprop.bench.execute import execute
from acprop.bench.spec import RunSpec
specs, root, address = json.loads(sys.argv[1])
outcomes = execute(
    [RunSpec(**plain) for plain in specs],
    pathlib.Path(root),
    engine=RayEngine(address),
)
assert [o.status for o in outcomes] == ["done"] * len(outcomes), outcomes
"""


def driver(start, specs, root, address):
    plain = [spec.plain() for spec in specs]
    words = json.dumps([plain, str(root), address])
    return start([sys.executable, "-c", DRIVER, words], stderr=subprocess.PIPE)


@pytest.mark.slow
def test_a_driver_that_is_killed_takes_its_own_cluster_along(tmp_path, start, until):
    """Ray's agents alone would wait a minute for a server that is gone."""
    first = driver(start, [LONG], tmp_path, "local")
    until((Store(tmp_path).folder(LONG).path / "checkpoint.pt").exists)
    mark = mark_of(first.pid)
    assert len(agents(mark)) == 2
    first.kill()
    until(lambda: not agents(mark))


def mark_of(driver):
    """What its watcher looks for: the last word of the child that runs agents.py."""
    children = subprocess.check_output(
        ["ps", "-ww", "--ppid", str(driver), "-o", "args="]
    )
    (watcher,) = [line for line in children.splitlines() if b"agents.py" in line]
    return watcher.split()[-1]


# Ray tries for 20 seconds with a token that is wrong; without one it does not begin.
WITHOUT = [
    pytest.param({tokens.TOKEN: "", "HOME": "/nowhere"}, id="none"),
    pytest.param({tokens.TOKEN: "f" * 64}, id="another", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("environment", WITHOUT)
def test_a_driver_without_the_token_is_told_where_it_is(
    cluster, start, tmp_path, monkeypatch, patience, environment
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    refused = driver(start, [SPEC], tmp_path, cluster.address)
    _, said = refused.communicate(timeout=patience)
    last = said.splitlines()[-1]
    assert last.startswith(
        "acprop.checks.UserError: the token must be that of the Ray cluster at "
    )
    assert last.endswith("copy ~/.ray/auth_token from its head, or set RAY_AUTH_TOKEN")


@pytest.mark.slow
def test_a_driver_that_is_killed_is_started_again(
    cluster, here, tmp_path, start, until, patience
):
    folder = Store(tmp_path).folder(LONG)
    first = driver(start, [LONG, *SPECS], tmp_path, cluster.address)
    until(lambda: (folder.path / "checkpoint.pt").exists())
    first.kill()
    first.wait()
    assert folder.status() == "interrupted"
    again = driver(start, [LONG, *SPECS], tmp_path, cluster.address)
    _, said = again.communicate(timeout=patience)
    assert again.returncode == 0, said
    for spec in [LONG, *SPECS]:
        assert same(tmp_path, spec) == same(here, spec)
    assert attempts(tmp_path, LONG)[-1] > 0
    assert is_alive(cluster) == [True, True]


@pytest.mark.slow
def test_an_interrupted_driver_lets_its_runs_write_a_checkpoint(
    cluster, tmp_path, start, until, patience
):
    """A worker that was killed instead would not have released its lease."""
    spec = replace(LONG, epochs=10_000)
    folder = Store(tmp_path).folder(spec)
    one = driver(start, [spec], tmp_path, cluster.address)
    until(folder.metrics)
    one.send_signal(signal.SIGINT)
    _, said = one.communicate(timeout=patience)
    assert said.splitlines()[-1] == "KeyboardInterrupt"
    assert (folder.status(), folder.holder()) == ("interrupted", None)
    assert json.loads((folder.path / "lease.1").read_text("utf-8"))["is_released"]
    assert folder.load()["progress"]["step"] >= 64
    assert not list(tmp_path.glob(".driver-*"))


@pytest.mark.slow
def test_two_drivers_share_the_work_of_one_store(cluster, tmp_path, start, patience):
    specs = [replace(SPEC, seed=seed) for seed in range(8)]
    both = [driver(start, specs, tmp_path, cluster.address) for _ in range(2)]
    for one in both:
        _, said = one.communicate(timeout=patience)
        assert one.returncode == 0, said
    assert [attempts(tmp_path, spec) for spec in specs] == [[0]] * 8


@pytest.mark.slow
def test_a_node_that_is_killed_loses_no_run(cluster, here, tmp_path):
    """Every run goes on where it was, on the node that is left."""
    specs = [LONG, replace(LONG, seed=1)]
    folders = [Store(tmp_path).folder(spec) for spec in specs]

    def kill():
        _, second = cluster.list_all_nodes()
        with suppress(Exception):
            cluster.remove_node(second, allow_graceful=False)

    try:
        with after_checkpoints(folders, kill):
            outcomes = execute(specs, tmp_path, engine=RayEngine(cluster.address))
    finally:
        cluster.add_node(**NODE)
    assert [o.status for o in outcomes] == ["done", "done"]
    assert same(tmp_path, LONG) == same(here, LONG)
    went = sorted(len(attempts(tmp_path, spec)) for spec in specs)
    assert went == [1, 2]
    assert all(later > 0 for spec in specs for later in attempts(tmp_path, spec)[1:])
