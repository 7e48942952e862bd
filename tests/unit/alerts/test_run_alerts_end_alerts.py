"""One place decides what is told of the end of a flow run, for each flow and each state."""

from dataclasses import replace
from itertools import product

import pytest

from proofsweep.alerts.events import ALERTED_STATES, END_STATES, EVENTS, FLOWS, SILENT_STATES
from proofsweep.alerts.run_alerts import FlowEnd, alerts_of_end, files_given_up, incomplete_batches, over_after_end


def ended(flow: str, state: str, subject: str | None = None) -> FlowEnd:
    """Let a flow run end in a state."""
    return FlowEnd("beta", flow, state, subject or flow, "s3://label/results", ["It said: `so`"])


@pytest.mark.parametrize(("flow", "state"), list(product(FLOWS, END_STATES)))
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
        "Account `beta`.",
        f"If nobody acts: {event.unattended}",
        f"To do: {event.advice}",
        "Tables: `s3://label/results`",
    ]
    assert not [over for over in over_after_end(ended(flow, state)) if alert.causes[0].startswith(over)]


@pytest.mark.parametrize(("state", "was_sent"), [("Failed", False), ("SomeFailed", True), ("Interrupted", True)])
def test_a_failure_that_is_tried_again_is_not_told(state: str, was_sent: bool) -> None:
    """Prefect tries again only what is of its type Failed; all else is told at once."""
    assert bool(alerts_of_end(replace(ended("inventory-proofs", state), tries_left=True))) == was_sent


def test_a_good_end_ends_what_was_told_of_the_same_work() -> None:
    """Of its catalog, and of flow runs that could not begin; the key works, and the quota was enough."""
    over = over_after_end(ended("verify-catalog", "Completed", "music"))

    assert {
        "outage\tbeta\tmusic",
        "outage\tbeta\tverify-catalog",
        "key_refused\tbeta",
        "quota_short\tbeta\tmusic",
    } <= set(over)


def test_work_that_was_begun_ends_what_kept_it_from_beginning() -> None:
    """What remains of the catalog is told once, until it is whole."""
    over = over_after_end(ended("verify-catalog", "QuotaSpent", "music"))

    assert "outage\tbeta\tverify-catalog" in over
    assert "key_refused\tbeta" in over
    assert not [cause for cause in over if "music" in cause]


def test_a_flow_run_that_could_not_begin_ends_nothing() -> None:
    """Nor does one whose key was refused."""
    assert over_after_end(ended("inventory-proofs", "Failed")) == []
    assert over_after_end(ended("verify-catalog", "KeyRefused", "music")) == []


def test_a_good_pass_tells_nothing() -> None:
    """Nothing is given up."""
    assert files_given_up("beta", "/in", "results", []) == []


def test_each_file_that_is_given_up_is_a_cause() -> None:
    """One that is given up later is told, although the others were."""
    (alert,) = files_given_up("beta", "/in/<!here>", "results", ["i2", "i1"])

    assert alert.causes == ("given_up\tbeta\t/in/<!here>\ti1", "given_up\tbeta\t/in/<!here>\ti2")
    assert alert.subject == "proofsweep: delivered files that are given up: 2 (beta)"
    assert "`proofsweep rejects`" in alert.body


def test_each_delivery_that_is_not_complete_is_a_cause() -> None:
    """The message says what is missing of each; a batch that is complete is told to nobody."""
    assert incomplete_batches("beta", "/in", "results", {}) == []
    why = "its completion file is not there"
    (alert,) = incomplete_batches("beta", "/in", "results", {"/in/B2": why, "/in/<!here>": why})

    assert alert.causes == ("incomplete_batch\tbeta\t/in\t/in/<!here>", "incomplete_batch\tbeta\t/in\t/in/B2")
    assert alert.subject == "proofsweep: deliveries that are not complete: 2 (beta)"
    assert f"- `/in/B2`: {why}" in alert.body
    assert "<!here>" not in alert.body
