"""Rows of the tables: what an outcome, an exchange, a probe and a planned item become. Pure, and without Arrow.

`proofsweep check` makes a row without a store, and starts quickly.
"""

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from operator import attrgetter
from typing import Any, assert_never

from proofsweep.domain.exchanges import DATE_AGE, Call, Exchange
from proofsweep.domain.items import Row, WorkItem, declared_from, declared_json, location_of, raw_bytes, utf8_text
from proofsweep.domain.models import (
    HealthResponse,
    PartnerUsageResponse,
    VerifyResponse,
    canonical_json,
    flag_of,
    number_of,
    object_of,
    short_text_of,
)
from proofsweep.domain.outcomes import Accepted, Action, Answer, Failed, Finished, Outcome, Rejected, word_for
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.store.tables import TABLES, TIME

# Cells of `verdicts` and of a planned item that a work item has under the same name.
_OF_ITEM = (
    *("manifest_row", "item_id", "audio_format", "audio_bytes", "audio_version"),
    *("sidecar_version", "relative_path", "manifest_line"),
)
_AS_PLANNED = (*_OF_ITEM, "is_delivered", "is_touched")
_AS_ANSWERED = ("good", "proof_id", "song", "issued_at", "classification")
_AS_JSON = ("grade", "interpretation", "embedded_credential")
_OF_EXCHANGE = ("started_at", "elapsed_ms", "status", "error_code")
_OF_HEADERS = ("retry_after_seconds", "rate_limit", "rate_remaining", "rate_reset", "partner_date", "sunset")
_IDS = ("http_status", "uploads_request_id", "storage_request_id", "verify_request_id")
_FLOW = (Call.UPLOADS, Call.SLOT, Call.VERIFY)


@dataclass(frozen=True, slots=True)
class RowContext:
    """What all rows of one leg share."""

    run_id: str
    leg: int
    environment: str
    recovered: AbstractSet[tuple[str, str]] = frozenset()  # location and hex sha256 of sidecars a recovery has written


def row_of(finished: Finished, context: RowContext) -> Row:
    """Return the verdicts row of a finished item. ValueError for an acceptance of bytes that nobody knows."""
    row = empty_row("verdicts")
    row["run_id"] = context.run_id
    row["leg"] = context.leg
    row["environment"] = context.environment
    row |= _item_cells(finished.item)
    read = finished.read
    if read is not None:
        row["audio_format"] = read.audio_format
        row["audio_bytes"] = read.size_bytes
        row["audio_version"] = read.version
        row["audio_sha256"] = read.sha256
        row["sidecar_sha256"] = read.sidecar_sha256
    if (row["sidecar"], row["sidecar_sha256"]) in context.recovered:
        row["sidecar_source"] = "recovered"
    row |= _exchange_cells(finished.exchanges)
    charged = sum(exchange.is_charged for exchange in finished.exchanges)
    row["calls"] = finished.calls_before + charged
    row |= _outcome_cells(finished.outcome)
    row["started_at"] = finished.started_at
    row["finished_at"] = finished.finished_at
    row["answered_at"] = finished.finished_at
    if row["verdict"] is not None:
        row["answered_at"] = _answered_at(finished.original or finished)
    row |= _reused_cells(finished)
    if row["accepted"] and row["audio_sha256"] is None:
        raise ValueError("an accepted row without the digest of what was sent")
    return row


def _reused_cells(finished: Finished) -> Row:
    """Return whose answer is used, with its IDs: support asks for those of the call that the service answered."""
    cells: Row = {}
    original = finished.original
    if original is not None:
        of_original = _exchange_cells(original.exchanges)
        for name in _IDS:
            cells[name] = of_original[name]
        cells["answered_by_row"] = original.item.manifest_row
    earlier = finished.earlier
    if earlier is not None:
        for name in (*_IDS, "answered_at", "started_at", "finished_at"):
            cells[name] = earlier[name]
        cells["answered_by_run"] = earlier["answered_by_run"] or earlier["run_id"]
    return cells


def _answered_at(finished: Finished) -> datetime:
    verify = _last_attempt(finished.exchanges)[2]
    if verify is None:
        return finished.finished_at
    # The service spoke about when its `Date` says, and before the answer was read. A `Date` that is older than one can
    # be shows that the answer was read late, as by a process that was frozen: its older answer would be the newest.
    date = verify.headers.partner_date
    if date is None or date <= verify.ended_at <= date + DATE_AGE:
        return verify.ended_at
    return date


def _item_cells(item: WorkItem) -> Row:
    cells: Row = {name: getattr(item, name) for name in _OF_ITEM}
    cells["audio"] = utf8_text(item.audio)
    cells["tags"] = item.tags_json
    if item.sidecar is not None:
        cells["sidecar"] = utf8_text(item.sidecar)
        cells["sidecar_source"] = "given"
    # Whose sidecar it is tells the mode: a folder, and a file whose sidecar may be another's, have none.
    is_ambiguous = item.ineligible is not None and item.ineligible.reason is Reason.AMBIGUOUS_SIDECAR
    if item.audio and not item.audio.endswith("/") and not is_ambiguous:
        cells["mode"] = str(item.mode)
    return cells


def _exchange_cells(exchanges: Sequence[Exchange]) -> Row:
    cells: Row = dict.fromkeys(_IDS)
    cells["verify_attempts"] = sum(exchange.call is Call.VERIFY for exchange in exchanges)
    if exchanges:
        cells["http_status"] = exchanges[-1].status
    uploads, slot, verify = _last_attempt(exchanges)
    if uploads is not None:
        cells["uploads_request_id"] = uploads.request_id
        cells["slot_ms"] = uploads.elapsed_ms
    if slot is not None:
        cells["storage_request_id"] = slot.storage_id or slot.request_id
        cells["upload_ms"] = slot.elapsed_ms
    if verify is not None:
        cells["verify_request_id"] = verify.request_id
        cells["verify_ms"] = verify.elapsed_ms
    return cells


def _last_attempt(exchanges: Sequence[Exchange]) -> list[Exchange | None]:
    """Return the calls of the last attempt, in the order of `_FLOW`; None for one that was not made."""
    attempt: list[Exchange | None] = [None, None, None]
    for exchange in exchanges:
        if exchange.call in _FLOW:
            step = _FLOW.index(exchange.call)
            attempt[step] = exchange
            # A new slot begins anew: what was said of an earlier slot did not lead to the outcome.
            attempt[step + 1 :] = [None] * (2 - step)
    return attempt


def _outcome_cells(outcome: Outcome) -> Row:
    cells: Row = {"outcome": word_for(outcome), "accepted": isinstance(outcome, Accepted)}
    match outcome:
        case Accepted(answer):
            cells |= _answer_cells(answer)
            cells["action"] = str(Action.ACCEPT)
        case Rejected(answer, reason, detail, action):
            cells |= _answer_cells(answer)
            cells["action"] = str(action)
            cells["reason"] = short_text_of(reason) or ""
            cells["detail"] = detail
        case Failed(reason=reason, detail=detail, error_code=code):
            cells["action"] = str(Action.TRY_AGAIN)
            cells["reason"] = str(reason)
            cells["detail"] = detail
            cells["error_code"] = code
        case Ineligible(reason, detail):
            cells["action"] = str(Action.FIX_CATALOG)
            cells["reason"] = str(reason)
            cells["detail"] = detail
        case _:
            assert_never(outcome)
    return cells


def _answer_cells(answer: Answer) -> Row:
    response = answer.response
    cells: Row = {name: getattr(response, name) for name in _AS_ANSWERED}
    cells["answer_sha256"] = answer.body_sha256
    cells["verdict"] = short_text_of(response.verdict) or ""
    for name in _AS_JSON:
        value = getattr(response, name)
        if value is not None:
            cells[f"{name}_json"] = canonical_json(value)
    grade = object_of(response.grade)
    for name in ("human", "ai", "unknown"):
        cells[f"grade_{name}"] = number_of(grade.get(name))
    cells["grade_risk_category"] = _word(grade.get("riskCategory"))
    cells["grade_rubric_version"] = _word(grade.get("rubricVersion"))
    credential = object_of(response.embedded_credential)
    cells["publicly_trusted"] = flag_of(credential.get("publiclyTrusted"))
    return cells


def _word(member: object) -> str | None:
    if isinstance(member, bool | int | float):
        return json.dumps(member)
    return short_text_of(member)


def answer_in(row: Row) -> Answer:
    """Return the answer of the service that a row of `verdicts` holds."""
    cells: dict[str, Any] = {name: row[name] for name in ("verdict", *_AS_ANSWERED)}
    for name in _AS_JSON:
        text = row[f"{name}_json"]
        cells[name] = None if text is None else json.loads(str(text))
    response = VerifyResponse.model_construct(None, **cells)
    return Answer(response, str(row["answer_sha256"]))


def exchange_row(exchange: Exchange, *, run_id: str, leg: int, manifest_row: int | None, environment: str) -> Row:
    row = _call_cells(exchange)
    row["run_id"] = run_id
    row["leg"] = leg
    row["manifest_row"] = manifest_row
    row["environment"] = environment
    row["attempt"] = exchange.attempt
    row["request_id"] = exchange.request_id or exchange.storage_id
    row["bytes_sent"] = exchange.bytes_sent
    row["unnamed"] = ",".join(exchange.unnamed) or None
    return row


def _call_cells(exchange: Exchange) -> Row:
    cells: Row = {name: getattr(exchange, name) for name in _OF_EXCHANGE}
    for name in _OF_HEADERS:
        cells[name] = getattr(exchange.headers, name)
    cells["call"] = str(exchange.call)
    cells["failure"] = None if exchange.failure is None else str(exchange.failure)
    return cells


def probe_row(exchange: Exchange, health: HealthResponse | None = None) -> Row:
    """Make the row of a probe; `health` is what GET /health answered."""
    health = health or HealthResponse()
    row = _call_cells(exchange)
    row["trouble"] = _trouble_of(exchange, ok=health.ok)
    row["request_id"] = exchange.request_id
    row["ok"] = health.ok
    row["service_version"] = health.version
    row["service_commit"] = health.commit
    row["service_deployed_at"] = health.deployed_at
    return row


def _trouble_of(exchange: Exchange, *, ok: bool | None) -> str | None:
    if exchange.is_success:
        return "not_ok" if ok is False else None
    status = exchange.status
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "throttled"
    # Without an error code, something on the way refused it.
    if exchange.call.is_keyed and status == HTTPStatus.FORBIDDEN and exchange.error_code is not None:
        return "key_refused"
    # A 2xx that is no success has a body that cannot be used: the failure says why.
    if status is None or 200 <= status < 300:  # noqa: PLR2004 - the class of statuses
        return str(exchange.failure)
    return f"http_{status}"


def usage_rows(usage: PartnerUsageResponse, asked_at: datetime) -> list[Row]:
    """Return what a probe keeps of each UTC day that GET /partner/usage names."""
    rows: list[Row] = []
    for day in usage.days:
        row: Row = {"asked_at": asked_at, "day": day.date, "used": day.used, "remaining": day.remaining}
        row["quota_limit"] = usage.plan.quota_limit
        row["quota_period"] = usage.plan.quota_period
        rows.append(row)
    return rows


def planned_columns(items: Sequence[WorkItem]) -> dict[str, list[object]]:
    """Return the columns of planned items, as lists of their cells."""
    columns: dict[str, list[object]] = {}
    for name in _AS_PLANNED:
        columns[name] = list(map(attrgetter(name), items))
    columns["audio"] = [raw_bytes(item.audio) for item in items]
    columns["sidecar"] = [_raw_or_none(item.sidecar) for item in items]
    columns["tags"] = [item.tags_json for item in items]
    columns["declared"] = [declared_json(item.declared) for item in items]
    refusals = [item.ineligible for item in items]
    columns["reason"] = [refusal and str(refusal.reason) for refusal in refusals]
    columns["detail"] = [refusal and refusal.detail for refusal in refusals]
    return columns


def _raw_or_none(location: str | None) -> bytes | None:
    return None if location is None else raw_bytes(location)


def planned_item(row: Row) -> WorkItem:
    cells: dict[str, Any] = row
    same = {name: cells[name] for name in _AS_PLANNED}
    audio = location_of(cells["audio"])
    sidecar = cells["sidecar"]
    if sidecar is not None:
        sidecar = location_of(sidecar)
    ineligible = None
    if cells["reason"] is not None:
        ineligible = Ineligible(Reason(cells["reason"]), cells["detail"])
    declared = declared_from(cells["declared"])
    return WorkItem(
        **same, audio=audio, sidecar=sidecar, tags_json=cells["tags"], declared=declared, ineligible=ineligible
    )


def empty_row(table: str) -> Row:
    return dict.fromkeys(column.name for column in TABLES[table].columns)


def with_instants(table: str, row: Row) -> Row:
    """Read a row of a table from JSON, where instants are ISO text."""
    cells = dict(row)
    for column in TABLES[table].columns:
        if column.kind == TIME and row.get(column.name):
            cells[column.name] = datetime.fromisoformat(str(row[column.name]))
    return cells
