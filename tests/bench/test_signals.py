"""Ctrl-C as a flag: not lost, and not earlier than it can be dealt with."""

import signal

import pytest

from acprop.bench.signals import STOPPING, held, noted

BOTH = pytest.mark.parametrize("number", STOPPING, ids=lambda n: n.name)


@BOTH
def test_a_signal_is_noted_and_nothing_is_interrupted(number):
    before = signal.getsignal(number)
    with noted() as asked:
        assert not asked()
        signal.raise_signal(number)
        assert asked()
    assert signal.getsignal(number) is before


@BOTH
def test_a_signal_that_was_held_back_is_raised_at_the_end(number):
    before, after = signal.getsignal(number), []

    def work():
        with held():
            signal.raise_signal(number)
            after.append("still here")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert after
    assert signal.getsignal(number) is before


def test_what_fails_after_a_signal_fails_because_of_it():
    """A pool whose workers died of the same Ctrl-C is not broken."""

    def work():
        with held():
            signal.raise_signal(signal.SIGINT)
            raise RuntimeError("the pool is broken")

    with pytest.raises(KeyboardInterrupt):
        work()


def test_without_a_signal_an_error_is_an_error():
    with pytest.raises(RuntimeError, match=r"^broken$"), held():
        raise RuntimeError("broken")
    with held() as asked:
        assert not asked()
