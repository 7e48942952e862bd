"""The switch is pulled once, and wakes all threads that wait."""

import threading
from datetime import UTC, datetime

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.errors import RunMustStop

RESET = datetime(2026, 12, 1, tzinfo=UTC)
OUTAGE = RunMustStop("The service is down.", ended_by="breaker", quota_reset=RESET)


def test_the_first_reason_stays() -> None:
    """A run ended for its first reason; later ones follow from it."""
    stop = StopSwitch()
    stop.pull(OUTAGE)

    stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))

    assert stop.reason is OUTAGE
    with pytest.raises(RunMustStop, match="down") as raised:
        stop.check()
    assert raised.value.ended_by == "breaker"


def test_each_thread_gets_an_error_of_its_own() -> None:
    """One exception in two threads would collect both tracebacks."""
    stop = StopSwitch()
    stop.pull(OUTAGE)

    with pytest.raises(RunMustStop) as raised:
        stop.rest(0.0)

    assert raised.value is not OUTAGE
    assert (raised.value.ended_by, raised.value.quota_reset) == ("breaker", RESET)


def test_it_wakes_threads_that_wait() -> None:
    """No thread sleeps through the end of the run."""
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


def test_only_a_switch_that_was_pulled_aborts() -> None:
    """A run that goes on keeps its calls in flight."""
    stop = StopSwitch()

    stop.abort()
    before = stop.is_aborted
    stop.pull(OUTAGE)
    pulled = stop.is_aborted
    stop.abort()

    assert (before, pulled, stop.is_aborted) == (False, False, True)
