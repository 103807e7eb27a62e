"""Ctrl-C as a flag: not lost, and not earlier than it can be dealt with."""

import signal

import pytest

from acprop.bench.signals import STOPPING, signals_as_flag, signals_at_end

BOTH = pytest.mark.parametrize("number", STOPPING, ids=lambda n: n.name)


@BOTH
def test_a_signal_is_noted_and_nothing_is_interrupted(number):
    before = signal.getsignal(number)
    with signals_as_flag() as stop_requested:
        assert not stop_requested()
        signal.raise_signal(number)
        assert stop_requested()
    assert signal.getsignal(number) is before


@BOTH
def test_a_signal_that_was_held_back_is_raised_at_the_end(number):
    before, after = signal.getsignal(number), []

    def work():
        with signals_at_end():
            signal.raise_signal(number)
            after.append("still here")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert after
    assert signal.getsignal(number) is before


def test_what_fails_after_a_signal_fails_because_of_it():
    """A pool whose workers died of the same Ctrl-C is not broken."""

    def work():
        with signals_at_end():
            signal.raise_signal(signal.SIGINT)
            raise RuntimeError("the pool is broken")

    with pytest.raises(KeyboardInterrupt):
        work()


def test_without_a_signal_an_error_is_an_error():
    with pytest.raises(RuntimeError, match=r"^broken$"), signals_at_end():
        raise RuntimeError("broken")
    with signals_at_end() as stop_requested:
        assert not stop_requested()
