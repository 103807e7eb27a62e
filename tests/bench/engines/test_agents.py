"""What a driver of ours has started is gone when the driver is, however that ends."""

import os
import signal
import subprocess
import sys

from acprop.bench.engines.agents import agents

DRIVER = """
import subprocess, time
from acprop.bench.engines.agents import ending_with_us
with ending_with_us():
    subprocess.Popen(["ray::FakeAgent", "900"], executable="sleep")
    print("begun", flush=True)
    time.sleep(900)
"""


def test_agents_end_with_a_driver_that_is_killed(start, patience):
    driver = start([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE)
    assert driver.stdout.readline() == "begun\n"
    driver.kill()
    driver.communicate(timeout=patience)  # until the agent has closed it, too


def test_only_agents_of_this_driver_are_found(start):
    def fake(title, mark):
        env = {**os.environ, "ACPROP_CLUSTER": mark}
        return start([title, "900"], executable="sleep", env=env)

    ours = fake("ray::FakeAgent", "ours")
    fake("ray::FakeAgent", "another")
    fake("ray::IDLE", "ours")
    fake("FakeAgent", "ours")
    assert agents(b"ACPROP_CLUSTER=ours") == {ours.pid}


def test_an_agent_that_has_overwritten_its_mark_is_known_by_its_parent(start):
    """As Ray's do when they set their title."""
    words = "env -u ACPROP_CLUSTER bash -c 'exec -a ray::FakeAgent sleep 900' & echo $!"
    env = {**os.environ, "ACPROP_CLUSTER": "parent"}
    shell = start(["bash", "-c", f"{words}; wait"], stdout=subprocess.PIPE, env=env)
    agent = int(shell.stdout.readline())
    try:
        while not (found := agents(b"ACPROP_CLUSTER=parent")):
            assert shell.poll() is None
        assert found == {agent}
    finally:
        os.kill(agent, signal.SIGKILL)
