"""The row of a probe says in one word what is wrong, and holds no body."""

from datetime import UTC, datetime

import pytest

from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.models import HealthResponse, PartnerUsageResponse
from proofsweep.store.tables.probes import probe_row, usage_rows

from ..ended_operations import call_of, operation_named

OPERATION = operation_named("20261120T010000Z_000aa", "monitoring")


def probe(status: int | None, call: Call = Call.USAGE, failure: Failure | None = None) -> Exchange:
    """Make a probe."""
    exchange = call_of(OPERATION, "r-1", call, status)
    return Exchange(
        call=exchange.call,
        attempt=1,
        started_at=exchange.started_at,
        elapsed_ms=3.0,
        headers=exchange.headers,
        status=status,
        failure=failure,
    )


@pytest.mark.parametrize(
    ("exchange", "ok", "expected"),
    [
        (probe(200, Call.HEALTH), True, None),
        (probe(200, Call.HEALTH), None, None),
        (probe(200, Call.HEALTH), False, "not_ok"),
        (probe(503, Call.HEALTH), None, "http_503"),
        (probe(403, Call.HEALTH), None, "http_403"),
        (probe(200), None, None),
        (probe(403), None, "key_refused"),
        (probe(429), None, "throttled"),
        (probe(200, failure=Failure.BAD_ANSWER), None, "bad_answer"),
        (probe(502, failure=Failure.BAD_ANSWER), None, "http_502"),
        (probe(None, failure=Failure.TIMEOUT), None, "timeout"),
        (probe(None, failure=Failure.CONNECTION), None, "connection"),
    ],
)
def test_trouble_is_one_word(exchange: Exchange, ok: bool | None, expected: str | None) -> None:
    """`ok` is trouble only if it is false: absent is not false."""
    assert probe_row(exchange, HealthResponse(ok=ok))["trouble"] == expected


NOW = datetime(2026, 11, 20, tzinfo=UTC)


def test_each_day_is_a_row() -> None:
    """Figures that read as numbers are numbers; what is missing is null."""
    answer = {
        "plan": {"quotaLimit": "1000", "quotaPeriod": "month"},
        "days": [{"date": "20.11.", "used": "3", "remaining": 997.0}, {}],
    }

    first, second = usage_rows(PartnerUsageResponse.model_validate(answer), NOW)

    assert first == {
        "asked_at": NOW,
        "day": "20.11.",
        "used": 3,
        "remaining": 997,
        "quota_limit": 1000.0,
        "quota_period": "month",
    }
    assert (second["day"], second["used"], second["quota_limit"]) == (None, None, 1000.0)


def test_an_answer_without_days_has_no_row() -> None:
    """Nothing is invented."""
    assert usage_rows(PartnerUsageResponse(), NOW) == []
