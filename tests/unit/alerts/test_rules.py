"""One place decides what is told of the end of a flow run, for each flow and each state."""

from dataclasses import replace

import pytest

from proofsweep.alerts.events import ALERTED_STATES, EVENTS
from proofsweep.alerts.messages import About
from proofsweep.alerts.rules import FlowEnd, alerts_of_end, over_after_end, sunset_seen


def ended(flow: str, state: str, subject: str | None = None) -> FlowEnd:
    """Let a flow run end in a state."""
    about = About(catalog=subject, results_url="s3://label/results")
    return FlowEnd("beta", flow, state, about=about, details=["It said: `so`"])


SILENT_STATES = ("Completed", "Cancelled", "AlreadyActive")


@pytest.mark.parametrize("flow", ["verify-catalog", "check-ingest", "erase-proofs"])
@pytest.mark.parametrize("state", [*ALERTED_STATES, *SILENT_STATES])
def test_each_state_of_each_flow_is_decided(flow: str, state: str) -> None:
    """Told by the event's title and advice, or not at all; and what is told is not over."""
    alerts = alerts_of_end(ended(flow, state))

    if state in SILENT_STATES:
        assert alerts == []
        return
    (alert,) = alerts
    event = EVENTS[ALERTED_STATES[state]]
    assert alert.subject == f"proofsweep: {event.title} (beta)"
    assert alert.body.splitlines() == [
        f"Flow `{flow}` ended as {state}.",
        "It said: `so`",
        "Environment `beta`.",
        f"If nobody acts: {event.unattended}",
        f"To do: {event.advice}",
        "Tables: `s3://label/results`",
    ]
    assert not [over for over in over_after_end(ended(flow, state)) if alert.cause.startswith(over)]


@pytest.mark.parametrize(("state", "was_sent"), [("Failed", False), ("SomeFailed", True), ("Interrupted", True)])
def test_a_failure_that_is_tried_again_is_not_told(state: str, was_sent: bool) -> None:
    """Prefect tries again only what is of its type Failed; all else is told at once."""
    assert bool(alerts_of_end(replace(ended("inventory-proofs", state), tries_left=True))) == was_sent


def test_a_good_end_ends_what_was_told_of_the_same_work() -> None:
    """Of its catalog, and of flow runs that could not begin; and the key works."""
    over = over_after_end(ended("verify-catalog", "Completed", "music"))

    whole = {"outage\tbeta\tmusic\tOutage", "outage\tbeta\tverify-catalog\tOutage", "key_refused\tbeta"}
    assert whole | {"failed\tbeta\tmusic\tSomeFailed"} <= set(over)


def test_work_that_was_begun_ends_what_kept_it_from_beginning() -> None:
    """What remains of the catalog is told once, until it is whole."""
    over = over_after_end(ended("verify-catalog", "QuotaSpent", "music"))

    assert "outage\tbeta\tverify-catalog\tOutage" in over
    assert "key_refused\tbeta" in over
    assert not [cause for cause in over if "music" in cause]


def test_a_flow_run_that_could_not_begin_ends_nothing() -> None:
    """Nor does one whose key was refused."""
    assert over_after_end(ended("inventory-proofs", "Failed")) == []
    assert over_after_end(ended("verify-catalog", "KeyRefused", "music")) == []


def test_a_sunset_header_is_told_once_for_each_day_that_it_names() -> None:
    """It announces a breaking change."""
    (alert,) = sunset_seen("Sat, 31 Jul 2027 00:00:00 GMT", "beta", About())

    assert "`Sat, 31 Jul 2027 00:00:00 GMT`" in alert.body
    assert alert.cause == "sunset\tbeta\tSat, 31 Jul 2027 00:00:00 GMT"
    assert sunset_seen(None, "beta", About()) == []
