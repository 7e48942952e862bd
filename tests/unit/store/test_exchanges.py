"""Each HTTP exchange becomes one row of the audit trail."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa

from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.items import Row
from proofsweep.store.tables.exchanges import exchange_row
from proofsweep.store.tables.schemas import SCHEMAS

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
EXCHANGE = Exchange(call=Call.USAGE, attempt=2, started_at=NOON, elapsed_ms=1.5, headers=AnswerHeaders())


def row_of(exchange: Exchange, manifest_row: int | None = 5) -> Row:
    """Make the row of an exchange."""
    return exchange_row(exchange, run_id="r", leg=1, manifest_row=manifest_row)


def test_an_exchange_is_kept_with_all_that_its_headers_said(read_back: Callable[[Row, pa.Schema], Row]) -> None:
    """Durations, counts and instants have a column each."""
    headers = AnswerHeaders(
        retry_after_seconds=2.0, rate_limit=10, rate_remaining=0, rate_reset=NOON, partner_date=NOON, sunset="soon"
    )

    row = row_of(replace(EXCHANGE, headers=headers, status=429, request_id="rid"), manifest_row=None)

    assert set(row) == set(SCHEMAS["exchanges"].names)
    assert read_back(row, SCHEMAS["exchanges"]) == row
    assert (row["call"], row["manifest_row"], row["request_id"]) == ("usage", None, "rid")


def test_an_exchange_without_an_answer_has_a_row(read_back: Callable[[Row, pa.Schema], Row]) -> None:
    """It has no status and no request ID, and says why."""
    lost = replace(EXCHANGE, failure=Failure.CONNECTION, bytes_sent=None)

    row = read_back(row_of(lost), SCHEMAS["exchanges"])

    assert (row["status"], row["failure"], row["request_id"], row["bytes_sent"]) == (None, "connection", None, None)


def test_the_storage_target_s_own_id_replaces_the_request_id() -> None:
    """The slot's target is not the partner, and has IDs of its own."""
    assert row_of(replace(EXCHANGE, call=Call.SLOT, storage_id="S3-7"))["request_id"] == "S3-7"


def test_what_the_contract_does_not_name_is_a_list_or_null() -> None:
    """Most answers hold no such name."""
    assert row_of(EXCHANGE)["unnamed"] is None
    assert row_of(replace(EXCHANGE, unnamed=("grade.x", "y")))["unnamed"] == "grade.x,y"
