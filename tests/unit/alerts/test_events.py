"""The list of events is whole: each kind has advice, each state of our flows belongs to one event or to none."""

import re
from pathlib import Path

import pytest

from proofsweep.alerts.events import (
    ALERTED_STATES,
    END_STATES,
    EVENTS,
    FLOWS,
    SILENT_STATES,
    AlertKind,
    state_of_ending,
    state_of_run,
)
from proofsweep.endings import EndedBy

ROOT = Path(__file__).parents[3]


def test_every_kind_has_its_event() -> None:
    """With what to do, which ends as a sentence does."""
    assert set(EVENTS) == set(AlertKind)
    assert all(event.when and event.advice.endswith((".", ";")) for event in EVENTS.values())
    assert all(bool(event.title) == bool(event.states) for event in EVENTS.values())


def test_every_flow_is_in_the_list() -> None:
    """A new flow is told of from its first day."""
    named = [
        re.findall(r'name="([a-z-]+)"', path.read_text()) for path in (ROOT / "flows" / "proofsweep_flows").glob("*.py")
    ]

    assert {name for names in named for name in names} == set(FLOWS)


@pytest.mark.parametrize("ended_by", EndedBy)
def test_every_ending_has_a_state_that_is_known(ended_by: EndedBy) -> None:
    """Whatever ends a leg, it is decided whether its state is told."""
    assert state_of_ending(ended_by) in END_STATES


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
    assert not set(SILENT_STATES) & ALERTED_STATES.keys()
    assert state_of_ending(EndedBy.CANCELLED) in SILENT_STATES
    assert ALERTED_STATES[state_of_ending(EndedBy.INTERRUPTED)] is AlertKind.ROWS_REMAIN
