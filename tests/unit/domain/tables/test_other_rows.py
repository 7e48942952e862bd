"""Rows of the audit trail, of plans and of legs survive being written down."""

import io
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.contract.headers import AnswerHeaders
from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.items import WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.tables import planned_items, runs, schemas
from proofsweep.domain.tables.columns import Row
from proofsweep.domain.tables.exchanges import exchange_row

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def read_back(row: Row, schema: pa.Schema) -> Row:
    """Write a row to Parquet, and read it."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([row], schema=schema), file)
    cells: Row = pq.read_table(file).to_pylist()[0]
    return cells


def exchange(call: Call = Call.USAGE, **facts: object) -> Exchange:
    """Make an exchange with facts of its own."""
    known = {"call": call, "attempt": 2, "started_at": NOON, "elapsed_ms": 1.5, "headers": AnswerHeaders()}
    return Exchange(**(known | facts))  # type: ignore[arg-type]


def test_an_exchange_is_kept_with_all_that_its_headers_said() -> None:
    """Durations, counts and instants each in a column of their own."""
    headers = AnswerHeaders(
        retry_after_seconds=2.0, rate_limit=10, rate_remaining=0, rate_reset=NOON, partner_date=NOON, sunset="soon"
    )

    row = exchange_row(exchange(headers=headers, status=429, request_id="rid"), run_id="r", leg=1, manifest_row=None)

    assert list(row) == schemas.EXCHANGES.names
    assert read_back(row, schemas.EXCHANGES) == row
    assert (row["call"], row["manifest_row"], row["request_id"]) == ("usage", None, "rid")


def test_an_exchange_without_an_answer_is_a_row_as_well() -> None:
    """It has no status and no ID, and says why."""
    lost = exchange(failure=Failure.CONNECTION, bytes_sent=None)

    row = read_back(exchange_row(lost, run_id="r", leg=1, manifest_row=5), schemas.EXCHANGES)

    assert (row["status"], row["failure"], row["request_id"], row["bytes_sent"]) == (None, "connection", None, None)


def test_the_storage_s_own_id_stands_in_for_a_request_id() -> None:
    """The slot's target is not the partner, and has ids of its own."""
    row = exchange_row(exchange(Call.SLOT, storage_id="S3-7"), run_id="r", leg=1, manifest_row=5)

    assert row["request_id"] == "S3-7"


@pytest.mark.parametrize(
    "item",
    [
        WorkItem(manifest_row=0, item_id="i", audio="/a.wav", audio_bytes=1, audio_version="v", tags_json="{}"),
        WorkItem(manifest_row=1, item_id="i", audio="/caf\udce9\n.wav", sidecar="/s\udcff"),
        WorkItem(manifest_row=2, item_id="i", audio="", ineligible=Ineligible(Reason.MISSING_AUDIO, "None.")),
    ],
)
def test_a_planned_item_is_read_as_it_was_written(item: WorkItem) -> None:
    """Byte for byte, also where a file's name is not UTF-8."""
    assert planned_items.planned_item(read_back(planned_items.planned_row(item), schemas.ITEMS)) == item


def test_a_leg_s_row_is_read_back_from_its_receipt() -> None:
    """JSON has no instants, so they are text there."""
    cells = dict.fromkeys(schemas.RUNS.names) | {"run_id": "r", "leg": 1, "started_at": NOON.isoformat(), "items": 4}

    row = runs.stored_row(cells)

    assert (row["started_at"], row["finished_at"], row["items"]) == (NOON, None, 4)
