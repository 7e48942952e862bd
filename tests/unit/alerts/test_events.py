"""The list of events is whole: each kind has advice, and each state belongs to one event or to none."""

from proofsweep.alerts.events import (
    ALERTED_STATES,
    EVENTS,
    AlertKind,
    state_of_ending,
    state_of_run,
)
from proofsweep.endings import EndedBy


def test_every_kind_has_its_event() -> None:
    """With what to do, which ends as a sentence does."""
    assert set(EVENTS) == set(AlertKind)
    assert all(event.when and event.advice.endswith((".", ";")) for event in EVENTS.values())
    assert all(bool(event.title) == bool(event.states) for event in EVENTS.values())


def test_the_rows_decide_the_state_of_a_run_that_is_over() -> None:
    """SomeFailed if any was answered, AllFailed if none was."""
    states = [
        state_of_run("complete", is_over=True, failed=failed, answered=answered)
        for failed, answered in [(0, 3), (1, 2), (3, 0)]
    ]

    assert states == ["Completed", "SomeFailed", "AllFailed"]
    assert state_of_run("quota", is_over=False, failed=1, answered=0) == "QuotaSpent"


def test_somebody_s_own_wish_is_not_told() -> None:
    """Nor a good night; but that a machine's shutdown has interrupted a run is."""
    assert not {"Completed", "AlreadyActive", state_of_ending(EndedBy.CANCELLED)} & ALERTED_STATES.keys()
    assert ALERTED_STATES[state_of_ending(EndedBy.INTERRUPTED)] is AlertKind.ROWS_REMAIN
