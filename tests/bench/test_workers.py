"""Workers: they do their work, and they are gone when they should be.

The work is a function of the standard library's: a worker must be able to import it.
"""

import math
import os
import signal
import time
from multiprocessing import active_children

import pytest

from acprop.bench.workers import spread

FOR_EVER = 1e6  # seconds


def test_every_item_is_worked_on_once():
    found = {}
    spread(math.sqrt, [1, 4, 9], 2, lambda x, y: found.update({x: y.result()}))
    assert found == {1: 1, 4: 2, 9: 3}
    assert active_children() == []


def test_nothing_to_do_starts_nothing():
    spread(math.sqrt, [], 2, pytest.fail, meanwhile=pytest.fail)


def test_an_error_in_a_worker_is_the_items():
    found = {}
    spread(math.sqrt, [-1, 4], 1, lambda x, y: found.update({x: y.exception()}))
    assert isinstance(found[-1], ValueError)
    assert found[4] is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_workers_before_it_is_raised(number):
    """Whatever they are at: half started, or in the middle of something long."""
    with pytest.raises(KeyboardInterrupt):
        spread(
            time.sleep,
            [FOR_EVER] * 5,
            2,
            pytest.fail,
            meanwhile=lambda: signal.raise_signal(number),
        )
    assert active_children() == []


def test_an_error_here_ends_the_workers_too():
    with pytest.raises(ZeroDivisionError):
        spread(time.sleep, [0, FOR_EVER], 2, lambda *_: 1 / 0)
    assert active_children() == []


def test_ctrl_c_reaches_the_workers_and_only_the_parent_answers():
    """A terminal sends it to all; a worker that is starting would die of it."""
    found, sent = {}, []

    def interrupt():
        for worker in active_children():
            os.kill(worker.pid, signal.SIGINT)
            sent.append(worker.pid)

    spread(
        math.sqrt,
        range(20),
        2,
        lambda x, y: found.update({x: y.result()}),
        meanwhile=interrupt,
    )
    assert found == {x: math.sqrt(x) for x in range(20)}
    assert sent


def test_a_worker_is_prepared_before_its_first_item(tmp_path):
    """os.chdir prepares, os.path.abspath shows it."""
    found = []
    spread(
        os.path.abspath,
        ["here"],
        1,
        lambda _, y: found.append(y.result()),
        prepare=(os.chdir, tmp_path),
    )
    assert found == [str(tmp_path.resolve() / "here")]
