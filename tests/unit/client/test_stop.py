"""The switch is pulled once, and everybody who waits hears of it."""

import threading
from datetime import UTC, datetime

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.errors import RunMustStop

OUTAGE = RunMustStop("The service is down.", ended_by="breaker")


def test_until_it_is_pulled_it_stands_in_nobody_s_way() -> None:
    """Checking and resting come back."""
    stop = StopSwitch()

    stop.check()
    stop.rest(0.0)
    stop.rest(-1.0)

    assert stop.reason is None


def test_the_first_reason_stays() -> None:
    """What ended a run is what came first, not what followed from it."""
    stop = StopSwitch()
    stop.pull(OUTAGE)

    stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))

    assert stop.reason is OUTAGE
    with pytest.raises(RunMustStop, match="down") as raised:
        stop.check()
    assert raised.value.ended_by == "breaker"


def test_when_the_quota_begins_anew_is_told_to_everybody() -> None:
    """Not to the thread alone that found it used up."""
    reset = datetime(2026, 12, 1, tzinfo=UTC)
    stop = StopSwitch()
    stop.pull(RunMustStop("The quota is used up.", ended_by="quota", quota_reset=reset))

    with pytest.raises(RunMustStop) as raised:
        stop.check()

    assert raised.value.quota_reset == reset


def test_each_thread_gets_an_error_of_its_own() -> None:
    """One exception raised in two threads would gather both their tracebacks."""
    stop = StopSwitch()
    stop.pull(OUTAGE)

    with pytest.raises(RunMustStop) as raised:
        stop.rest(0.0)

    assert raised.value is not OUTAGE


def test_it_wakes_those_who_rest() -> None:
    """Nobody sleeps through the end of the run."""
    stop, woken = StopSwitch(), threading.Event()

    def sleep_long() -> None:
        with pytest.raises(RunMustStop):
            stop.rest(3_600.0)
        woken.set()

    sleeper = threading.Thread(target=sleep_long)
    sleeper.start()
    stop.pull(OUTAGE)
    sleeper.join(30.0)

    assert woken.is_set()
