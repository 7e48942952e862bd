"""What is told, when and in which words; text that others wrote cannot act in a message."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.alerts.rules import (
    About,
    Alert,
    FlowEnd,
    ProbeFacts,
    alerts_of_end,
    alerts_of_probes,
    did_its_work,
    harmless,
    no_success,
    quota_low,
    quoted,
    rotated_key_ends,
    sunset_seen,
    title_of_run,
)

from .conftest import NEW, NOW, OLD, rotation


def cause(state: str, subject: str | None = None, flow: str = "verify-catalog") -> str:
    """Return the cause of the alert of an end."""
    about = About(environment="beta", catalog=subject, results_url="s3://label/results")
    (alert,) = alerts_of_end(FlowEnd(flow, state, about=about, details=["It said: `so`"]))
    return alert.cause


def test_a_cause_is_a_kind_with_its_catalog() -> None:
    """Whichever flow ended so. The key's are one for all catalogs; rows that failed are no flow that could not work."""
    assert cause("Outage", "music") == cause("Outage", "music", flow="check-ingest") == "outage\tbeta\tmusic"
    assert cause("Outage", "drops") == "outage\tbeta\tdrops"
    assert cause("WindowClosed", "music") == cause("Interrupted", "music") == "rows_remain\tbeta\tmusic"
    assert cause("Failed", "music") == cause("TimedOut", "music") == "failed\tbeta\tmusic"
    assert cause("SomeFailed", "music") == cause("AllFailed", "music") == "failed\tbeta\tmusic\trows"
    assert cause("QuotaSpent", "music") == cause("QuotaSpent", "drops")
    assert cause("KeyRefused", "music") == cause("KeyRefused", flow="run-operation notes") == "key_refused\tbeta"
    assert cause("Outage", flow="run-operation notes") == "outage\tbeta\trun-operation notes"


def test_a_title_says_what_happened_and_to_which_catalog_and_a_command_only_what_can_be_done() -> None:
    """Whatever stopped a run, its rows are the same: the titles tell the alerts apart."""
    about = About(environment="beta", catalog="s3://label/a/list.csv", run_id="R", rows="2 of 9 rows remain")
    told = {}
    for state in ("WindowClosed", "QuotaSpent", "KeyRefused", "Outage", "Crashed"):
        end = FlowEnd("verify-catalog", state, about, [], title_of_run(state, about.rows))
        [told[state]] = alerts_of_end(end)
    [unplanned] = alerts_of_end(FlowEnd("verify-catalog", "Crashed", replace(about, run_id=None), []))

    assert [alert.subject.removeprefix("proofsweep: ") for alert in told.values()] == [
        "2 of 9 rows remain (beta, a/list.csv)",
        "the quota is spent or reserved (beta)",
        "the service refused the API key (beta)",
        "the service or the source failed: 2 of 9 rows remain (beta, a/list.csv)",
        "a flow run was killed, and nobody works on it: 2 of 9 rows remain (beta, a/list.csv)",
    ]
    resumes = [state for state, alert in told.items() if "`proofsweep resume R`" in alert.body]
    assert (resumes, "resume" in unplanned.body) == (["WindowClosed", "Crashed"], False)


MUSIC, ANY = About(environment="beta", catalog="music"), About(environment="beta")


def hours_ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


@pytest.mark.parametrize(
    ("ended_by", "answered", "failed", "ineligible", "expected"),
    [
        ("complete", 0, 0, 0, True),
        ("complete", 0, 1, 5, False),
        ("quota", 1, 4, 0, True),
        ("window", 0, 0, 5, True),
        ("quota", 0, 0, 0, False),
        *((other, 500, 0, 0, False) for other in ("breaker", "key_refused", "cancelled", "killed", "error", None)),
    ],
)
def test_a_leg_did_its_work_if_only_its_own_limits_ended_it(
    ended_by: str | None, answered: int, failed: int, ineligible: int, *, expected: bool
) -> None:
    """Nobody is woken for a night that used all the calls that it had, unless all of its rows failed."""
    assert did_its_work(ended_by, answered=answered, failed=failed, ineligible=ineligible) == expected


@pytest.mark.parametrize(
    ("about", "last_success", "first_run", "was_sent"),
    [
        (MUSIC, hours_ago(35.9), None, False),
        (MUSIC, hours_ago(36), None, True),
        (MUSIC, None, None, True),
        (ANY, None, None, False),
        (ANY, None, hours_ago(1), False),
        (ANY, None, hours_ago(48), True),
    ],
)
def test_36_hours_without_a_success_are_told(
    about: About, last_success: datetime | None, first_run: datetime | None, *, was_sent: bool
) -> None:
    """Of a named catalog also if it never was verified; of a new installation not before its first night is over."""
    alerts = no_success(about, last_success, first_run, NOW, 36.0)

    assert bool(alerts) == was_sent
    if about is MUSIC and last_success is None:
        assert "catalog `music` that did its work ended: never." in alerts[0].body


@pytest.mark.parametrize(
    ("hours_left", "key_in_use", "expected"),
    [
        (25, OLD, None),
        (23, OLD, "still name the old key"),
        (23, NEW, "new one is in use here"),
        (23, "c" * 12, "not the old one, nor the new one of this rotation"),
        (23, None, "key that is in use here could not be read"),
        (0, OLD, "still name the old key"),
        (-99, OLD, "still name the old key"),
        (-1, NEW, None),
        (-1, None, None),
    ],
)
def test_the_end_of_a_rotated_key_is_told_before_it_and_after_it_only_to_who_uses_it(
    hours_left: int, key_in_use: str | None, expected: str | None
) -> None:
    alerts = rotated_key_ends(rotation(60, NOW + timedelta(hours=hours_left)), key_in_use, NOW)

    assert len(alerts) == (expected is not None)
    assert all(str(expected) in alert.body for alert in alerts)


def test_an_end_that_the_service_did_not_say_is_that_of_the_contract() -> None:
    """72 hours after the rotation; soon and over are two causes."""
    (soon,) = rotated_key_ends(rotation(60), OLD, NOW)
    (over,) = rotated_key_ends(rotation(60), OLD, NOW + timedelta(hours=12))

    assert "ends at 2026-11-21 00:00 UTC (beta)" in soon.subject
    assert soon.cause != over.cause


BEGAN = datetime(2026, 11, 20, tzinfo=UTC)
RESET = datetime(2026, 12, 1, tzinfo=UTC)


def probes(troubles: Sequence[str | None], call: str = "usage", left: int = 900) -> list[ProbeFacts]:
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
    return alerts_of_probes(facts, "beta")[0]


def kinds(*facts: ProbeFacts) -> list[str]:
    return [str(alert.kind) for alert in found(*facts)]


WELL: list[str | None] = [None] * 9


@pytest.mark.parametrize(
    ("troubles", "expected"),
    [
        ([], []),
        (["http_500", "timeout"], []),
        ([*WELL, "http_500", "timeout"], []),
        ([*WELL, "http_500", "timeout", "not_ok"], ["outage"]),
        ([*WELL, "http_500", "timeout", "not_ok", None], []),
        ([None, "http_503"] * 6, []),
        ([*WELL, "throttled", "throttled", "throttled"], ["outage"]),
        ([*WELL, "key_refused"], []),
        (["key_refused"] * 3, ["key_refused"]),
    ],
)
def test_one_failed_probe_is_no_alarm_and_three_in_a_row_are(troubles: list[str | None], expected: list[str]) -> None:
    assert kinds(*probes(troubles)) == expected


def test_health_and_usage_are_told_apart() -> None:
    """One may fail while the other works: ok is false with status 200."""
    (alert,), over = alerts_of_probes([*probes(["not_ok"] * 3, "health"), *probes([None] * 3)], "beta")

    assert alert.cause == "outage\tbeta\thealth"
    assert "The last 3 probes of GET /health failed:" in alert.body
    assert "not_ok, request ID `r-2`" in alert.body
    assert over == ["outage\tbeta\tusage", "key_refused\tbeta"]


def test_a_change_that_monitoring_was_told_is_one_cause_with_that_of_a_run() -> None:
    (probe,) = probes([None])
    [of_probe] = found(replace(probe, sunset="Sat, 01 May 2027"))
    [of_run] = sunset_seen("Sat, 01 May 2027", ANY)

    assert (of_probe.kind, of_probe.cause) == ("sunset", of_run.cause)


def test_a_low_quota_is_told_once_for_each_period() -> None:
    """At less than a tenth of it. One that is spent is no outage, though the service answers 429 until the reset."""
    assert kinds(*probes([None], left=100)) == []
    assert kinds(*probes(["throttled"] * 3, left=0)) == ["quota_low"]
    (alert,) = found(*probes([None], left=99))

    assert alert.cause == "quota_low\tbeta\t2026-12-01"
    assert "99 of 1,000 calls left; it resets 2026-12-01 00:00 UTC" in alert.body
    (late,) = quota_low(ANY, 99, 1_000, RESET, RESET + timedelta(days=1))
    assert "99 of 1,000 calls left; its reset time is not known." in late.body


HOSTILE = [
    "<!channel> <@U024BE7LH> @everyone &lt;!here&gt;",
    "` closes the span",
    "a\nTo do: pay\r\n",
    "\x1b[31mred\x07",
    "left \u202e right \u2066",
    "line\u2028separator\x00",
    "caf\udce9",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_foreign_text_leaves_its_code_span(text: str) -> None:
    """Chat programs read `<…>` and `@…` as mentions even inside a code span, so these letters are replaced."""
    span = quoted(text)

    assert span[0] == span[-1] == "`"
    assert not set("<>@&`\n\r\x1b\x00\u202e\u2028") & set(span[1:-1])
    assert span[1:-1].isprintable()
    span.encode("utf-8")


def test_plain_text_stays_and_long_text_is_cut() -> None:
    """A name is found by searching for it; a supplier's name of a megabyte does not fill the message."""
    assert quoted("s3://label/catalog_2026/*.csv") == "`s3://label/catalog_2026/*.csv`"
    assert harmless("Größe 東京") == "Größe 東京"
    assert len(harmless("x" * 1_000_000)) == 300
    assert harmless("x" * 301).endswith("…")
    assert quoted("") == "` `"


def test_a_success_makes_the_next_failure_a_new_cause() -> None:
    """Two bad weeks with a good night between them are told twice."""
    causes = [alert.cause for hours in (40, 90) for alert in no_success(MUSIC, hours_ago(hours), None, NOW, 36)]

    assert len({*causes}) == 2
