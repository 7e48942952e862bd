"""One place decides what is told of the end of a flow run, for each flow and each state."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.alerts.rules import (
    ALERTED_STATES,
    EVENTS,
    About,
    Alert,
    AlertKind,
    FlowEnd,
    ProbeFacts,
    WorkFacts,
    alerts_of_end,
    alerts_of_probes,
    did_its_work,
    key_expires,
    no_success,
    over_after_end,
    rotated_key_ends,
    state_of_ending,
    state_of_run,
    sunset_seen,
)
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.operations import Rotation


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
    title = "the quota is spent or reserved" if state == "QuotaSpent" else event.title
    assert alert.subject == f"proofsweep: {title} (beta)"
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


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MUSIC, ANY = WorkFacts("beta", About(catalog="music")), WorkFacts("beta", About())


def hours_ago(hours: float) -> datetime:
    """Return an instant before now."""
    return NOW - timedelta(hours=hours)


@pytest.mark.parametrize(
    ("ended_by", "finished_rows", "expected"),
    [
        ("complete", 0, True),
        ("quota", 5, True),
        ("window", 5, True),
        ("quota", 0, False),
        ("window", 0, False),
        ("breaker", 500, False),
        ("key_refused", 500, False),
        ("cancelled", 500, False),
        ("killed", 500, False),
        ("error", 500, False),
        (None, 0, False),
    ],
)
def test_a_leg_did_its_work_if_only_its_own_limits_ended_it(
    ended_by: str | None, finished_rows: int, *, expected: bool
) -> None:
    """Nobody is woken for a night that used all the calls that it had."""
    assert did_its_work(ended_by, finished_rows, have_all_failed=False) == expected
    assert not did_its_work(ended_by, finished_rows, have_all_failed=True)


@pytest.mark.parametrize(("hours", "was_sent"), [(35.9, False), (36, True), (1_000, True)])
def test_36_hours_without_a_success_are_told(hours: float, *, was_sent: bool) -> None:
    """One missed night is not; a second one is."""
    facts = replace(MUSIC, last_success=hours_ago(hours))

    assert (no_success(facts, NOW, 36.0) is not None) == was_sent


def test_a_catalog_that_was_never_verified_is_told() -> None:
    """It was named, so somebody waits for it."""
    alert = no_success(MUSIC, NOW, 36.0)

    assert alert is not None
    assert "catalog `music` that did its work ended: never." in alert.body


def test_a_store_without_any_run_is_not_told() -> None:
    """A new installation has time until its first night, and nothing was named."""
    assert no_success(ANY, NOW, 36.0) is None


def test_a_first_run_has_the_same_time() -> None:
    """What was planned an hour ago may still succeed; after two days it has not."""
    young, old = (replace(ANY, first_run=hours_ago(hours)) for hours in (1, 48))

    assert no_success(young, NOW, 36.0) is None
    assert no_success(old, NOW, 36.0) is not None


def test_a_success_makes_the_next_failure_a_new_cause() -> None:
    """Two bad weeks with a good night between them are told twice."""
    alerts = [no_success(replace(MUSIC, last_success=hours_ago(hours)), NOW, 36) for hours in (40, 90)]

    assert len({alert.cause for alert in alerts if alert is not None}) == 2


@pytest.mark.parametrize(
    ("hours_left", "was_sent"), [(72, False), (24.01, False), (24, True), (1, True), (0, True), (-100, True)]
)
def test_a_key_is_told_of_in_the_last_24_hours_of_its_grace(hours_left: float, *, was_sent: bool) -> None:
    """A rotated key works for 72 hours; then it is refused."""
    alert = key_expires("beta", NOW + timedelta(hours=hours_left), NOW)

    assert (alert is not None) == was_sent


def test_a_key_that_has_ended_is_news_after_one_that_ends() -> None:
    """Two messages: one to act in time, and one that it was not done."""
    soon, over = (key_expires("beta", NOW, NOW + timedelta(hours=hours)) for hours in (-1, 1))

    assert soon is not None
    assert over is not None
    assert soon.cause != over.cause
    assert "ends at 2026-11-20 12:00 UTC" in soon.subject
    assert "ended at" in over.subject


def test_without_an_expiry_nothing_is_told() -> None:
    """The contract does not let a client ask for it."""
    assert key_expires("beta", None, NOW) is None


def _rotation(expires_at: datetime | None) -> Rotation:
    return Rotation(
        operation_id="20261117T120000Z_000aa",
        environment="beta",
        key_fingerprint="a" * 12,
        new_key_fingerprint="b" * 12,
        requested_at=NOW - timedelta(hours=60),
        answered_at=NOW - timedelta(hours=60),
        previous_key_expires_at=expires_at,
    )


@pytest.mark.parametrize(
    ("hours_left", "key_in_use", "expected"),
    [
        (25, "a" * 12, None),
        (23, "a" * 12, "still name the old key"),
        (23, "b" * 12, "new one is in use here"),
        (23, None, "new one is in use here"),
        (0, "a" * 12, "ended at 2026-11-20 12:00 UTC"),
        (-99, "a" * 12, "still name the old key"),
        (-1, "b" * 12, None),
        (-1, None, None),
    ],
)
def test_the_end_of_a_rotated_key_is_told_before_it_and_after_it_only_to_who_uses_it(
    hours_left: int, key_in_use: str | None, expected: str | None
) -> None:
    """Others have nothing to do about a key that has ended."""
    alert = rotated_key_ends(_rotation(NOW + timedelta(hours=hours_left)), key_in_use, NOW)

    assert (alert is None) == (expected is None)
    assert alert is None or expected in alert.body  # type: ignore[operator]  # an alert has an expectation


def test_an_end_that_the_service_did_not_say_is_that_of_the_contract() -> None:
    """72 hours after the rotation; soon and over are two causes."""
    soon = rotated_key_ends(_rotation(None), "a" * 12, NOW)
    over = rotated_key_ends(_rotation(None), "a" * 12, NOW + timedelta(hours=12))

    assert soon is not None
    assert over is not None
    assert "ends at 2026-11-21 00:00 UTC (beta)" in soon.subject
    assert soon.cause != over.cause


BEGAN = datetime(2026, 11, 20, tzinfo=UTC)
RESET = datetime(2026, 12, 1, tzinfo=UTC)


def probes(troubles: Sequence[str | None], call: str = "usage", left: int = 900) -> list[ProbeFacts]:
    """Make a probe each five minutes."""
    return [
        ProbeFacts(
            call=call,
            started_at=BEGAN + timedelta(minutes=5 * number),
            trouble=trouble,
            request_id=f"r-{number}",
            rate_limit=1_000,
            rate_remaining=left,
            rate_reset=RESET,
        )
        for number, trouble in enumerate(troubles)
    ]


def found(*facts: ProbeFacts) -> list[Alert]:
    """Return the alerts that hold."""
    return alerts_of_probes(facts, "beta", 10.0)[0]


def kinds(*facts: ProbeFacts) -> list[str]:
    """Return the kinds of the alerts that hold."""
    return [str(alert.kind) for alert in found(*facts)]


WELL: list[str | None] = [None] * 9


@pytest.mark.parametrize(
    ("troubles", "expected"),
    [
        ([], []),
        (WELL, []),
        ([*WELL, "http_500"], []),
        ([*WELL, "http_500", "timeout"], []),
        ([*WELL, "http_500", "timeout", "not_ok"], ["outage"]),
        ([*WELL, "http_500", "timeout", "not_ok", None], []),
        ([None, "http_503"] * 6, ["outage"]),
        ([None, "http_503"] * 5, []),
        (["http_503", None] * 6, []),
        ([*WELL, "throttled", "throttled", "throttled"], ["outage"]),
        ([*WELL, "throttled", "throttled"], []),
        ([*WELL, "key_refused"], []),
        (["key_refused"] * 3, ["key_refused"]),
    ],
)
def test_one_failed_probe_is_no_alarm(troubles: list[str | None], expected: list[str]) -> None:
    """Three in a row are, and half of the last twelve if the newest is one of them."""
    assert kinds(*probes(troubles)) == expected


def test_health_and_usage_are_told_apart() -> None:
    """One may fail while the other works: ok is false with status 200."""
    (alert,), over = alerts_of_probes([*probes(["not_ok"] * 3, "health"), *probes([None] * 3)], "beta", 10.0)

    assert alert.cause == "outage\tbeta\thealth"
    assert "GET /health, 3 failed since 2026-11-20 00:00 UTC" in alert.body
    assert "not_ok, request ID `r-2`" in alert.body
    assert over == ["outage\tbeta\tusage", "key_refused\tbeta"]


def test_a_low_quota_is_told_once_for_each_period() -> None:
    """At less than the settings' share of it."""
    assert kinds(*probes([None], left=100)) == []
    (alert,) = found(*probes([None], left=99))

    assert alert.cause == "quota_low\tbeta\t2026-12-01"
    assert "99 of 1,000 calls left; it resets 2026-12-01 00:00 UTC" in alert.body


def test_a_spent_quota_is_no_outage() -> None:
    """The service answers 429 until the reset, and one message says why."""
    assert kinds(*probes(["throttled"] * 3, left=0)) == ["quota_low"]
