"""Rows of the tables: what an outcome, an exchange, a probe and a planned item become. Pure, and without Arrow.

`proofsweep check` makes a row without a store, and starts quickly.
"""

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, assert_never

from proofsweep.domain.exchanges import DATE_AGE, Call, Exchange
from proofsweep.domain.items import Row, WorkItem, declared_from, declared_json, raw_bytes, utf8_text
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
    row |= {"run_id": context.run_id, "leg": context.leg, "environment": context.environment}
    row |= _item_cells(finished.item)
    read = finished.read
    if read is not None:
        row |= {"audio_format": read.audio_format, "audio_bytes": read.size_bytes, "audio_version": read.version}
        row |= {"audio_sha256": read.sha256, "sidecar_sha256": read.sidecar_sha256}
    if (row["sidecar"], row["sidecar_sha256"]) in context.recovered:
        row["sidecar_source"] = "recovered"
    row |= _exchange_cells(finished.exchanges)
    row["calls"] = finished.calls_before + sum(exchange.is_charged for exchange in finished.exchanges)
    if (original := finished.original) is not None:
        cells = _exchange_cells(original.exchanges)
        row |= {name: cells[name] for name in _IDS} | {"answered_by_row": original.item.manifest_row}
    row |= _outcome_cells(finished.outcome)
    row |= {"started_at": finished.started_at, "finished_at": finished.finished_at}
    row["answered_at"] = _answered_at(original or finished) if row["verdict"] is not None else finished.finished_at
    if (earlier := finished.earlier) is not None:
        row |= {name: earlier[name] for name in (*_IDS, "answered_at", "started_at", "finished_at")}
        row["answered_by_run"] = earlier["answered_by_run"] or earlier["run_id"]
    if row["accepted"] and row["audio_sha256"] is None:
        raise ValueError("an accepted row without the digest of what was sent")
    return row


def _answered_at(finished: Finished) -> datetime:
    """Return when the service gave a verdict: about when its `Date` says, and before the answer was read.

    A `Date` that is older than one can be shows that the answer was read late, as by a process that was frozen.
    """
    verify = _last_attempt(finished.exchanges)[2]
    if verify is None:
        return finished.finished_at
    date = verify.headers.partner_date
    if date is None or date <= verify.ended_at <= date + DATE_AGE:
        return verify.ended_at
    return date


def _item_cells(item: WorkItem) -> Row:
    is_ambiguous = item.ineligible is not None and item.ineligible.reason is Reason.AMBIGUOUS_SIDECAR
    has_mode = item.audio and not item.audio.endswith("/") and not is_ambiguous
    return {name: getattr(item, name) for name in _OF_ITEM} | {
        "audio": utf8_text(item.audio),
        "sidecar": None if item.sidecar is None else utf8_text(item.sidecar),
        "sidecar_source": None if item.sidecar is None else "given",
        "mode": str(item.mode) if has_mode else None,
        "tags": item.tags_json,
    }


def _exchange_cells(exchanges: Sequence[Exchange]) -> Row:
    uploads, slot, verify = _last_attempt(exchanges)
    return {
        "http_status": exchanges[-1].status if exchanges else None,
        "uploads_request_id": uploads.request_id if uploads else None,
        "storage_request_id": (slot.storage_id or slot.request_id) if slot else None,
        "verify_request_id": verify.request_id if verify else None,
        "slot_ms": uploads.elapsed_ms if uploads else None,
        "upload_ms": slot.elapsed_ms if slot else None,
        "verify_ms": verify.elapsed_ms if verify else None,
        "verify_attempts": sum(exchange.call is Call.VERIFY for exchange in exchanges),
    }


def _last_attempt(exchanges: Sequence[Exchange]) -> list[Exchange | None]:
    last: list[Exchange | None] = [None, None, None]
    for exchange in (exchange for exchange in exchanges if exchange.call in _FLOW):
        index = _FLOW.index(exchange.call)
        last[index:] = [exchange] + [None] * (2 - index)
    return last


def _outcome_cells(outcome: Outcome) -> Row:
    cells: Row = {"outcome": word_for(outcome), "accepted": isinstance(outcome, Accepted)}
    match outcome:
        case Accepted(answer):
            return cells | _answer_cells(answer) | {"action": str(Action.ACCEPT)}
        case Rejected(answer, reason, detail, action):
            said = {"action": str(action), "reason": short_text_of(reason) or "", "detail": detail}
            return cells | _answer_cells(answer) | said
        case Failed(reason=reason, detail=detail, error_code=code):
            said = {"action": str(Action.TRY_AGAIN), "reason": str(reason), "detail": detail}
            return cells | said | {"error_code": code}
        case Ineligible(reason, detail):
            return cells | {"action": str(Action.FIX_CATALOG), "reason": str(reason), "detail": detail}
        case _:
            assert_never(outcome)


def _answer_cells(answer: Answer) -> Row:
    response, grade = answer.response, object_of(answer.response.grade)
    cells: Row = {name: getattr(response, name) for name in _AS_ANSWERED}
    whole = {name: getattr(response, name) for name in _AS_JSON}
    cells |= {f"{name}_json": None if value is None else canonical_json(value) for name, value in whole.items()}
    cells |= {f"grade_{name}": number_of(grade.get(name)) for name in ("human", "ai", "unknown")}
    return cells | {
        "verdict": short_text_of(response.verdict) or "",
        "grade_risk_category": _word(grade.get("riskCategory")),
        "grade_rubric_version": _word(grade.get("rubricVersion")),
        "publicly_trusted": flag_of(object_of(response.embedded_credential).get("publiclyTrusted")),
        "answer_sha256": answer.body_sha256,
    }


def _word(member: object) -> str | None:
    return json.dumps(member) if isinstance(member, bool | int | float) else short_text_of(member)


def answer_in(row: Row) -> Answer:
    """Return the answer of the service that a row of `verdicts` holds."""
    whole = {name: row[f"{name}_json"] for name in _AS_JSON}
    cells: dict[str, Any] = {name: row[name] for name in ("verdict", *_AS_ANSWERED)}
    cells |= {name: None if text is None else json.loads(str(text)) for name, text in whole.items()}
    response = VerifyResponse.model_construct(None, **cells)
    return Answer(response, str(row["answer_sha256"]))


def exchange_row(exchange: Exchange, *, run_id: str, leg: int, manifest_row: int | None, environment: str) -> Row:
    return _call_cells(exchange) | {
        "run_id": run_id,
        "leg": leg,
        "manifest_row": manifest_row,
        "attempt": exchange.attempt,
        "request_id": exchange.request_id or exchange.storage_id,
        "bytes_sent": exchange.bytes_sent,
        "environment": environment,
        "unnamed": ",".join(exchange.unnamed) or None,
    }


def _call_cells(exchange: Exchange) -> Row:
    cells: Row = {name: getattr(exchange, name) for name in _OF_EXCHANGE}
    cells |= {name: getattr(exchange.headers, name) for name in _OF_HEADERS}
    return cells | {"call": str(exchange.call), "failure": None if exchange.failure is None else str(exchange.failure)}


def probe_row(exchange: Exchange, health: HealthResponse | None = None) -> Row:
    """Make the row of a probe; `health` is what GET /health answered."""
    health = health or HealthResponse()
    return _call_cells(exchange) | {
        "trouble": _trouble_of(exchange, ok=health.ok),
        "request_id": exchange.request_id,
        "ok": health.ok,
        "service_version": health.version,
        "service_commit": health.commit,
        "service_deployed_at": health.deployed_at,
    }


def _trouble_of(exchange: Exchange, *, ok: bool | None) -> str | None:
    if exchange.is_success:
        return "not_ok" if ok is False else None
    if exchange.status == HTTPStatus.TOO_MANY_REQUESTS:
        return "throttled"
    if exchange.call.is_keyed and exchange.status == HTTPStatus.FORBIDDEN:
        return "key_refused"
    is_error = exchange.status is not None and not 200 <= exchange.status < 300  # noqa: PLR2004 - the class of statuses
    return f"http_{exchange.status}" if is_error else str(exchange.failure)


def usage_rows(usage: PartnerUsageResponse, asked_at: datetime) -> list[Row]:
    """Return what a probe keeps of each UTC day that GET /partner/usage names."""
    return [
        {
            "asked_at": asked_at,
            "day": day.date,
            "used": day.used,
            "remaining": day.remaining,
            "quota_limit": usage.plan.quota_limit,
            "quota_period": usage.plan.quota_period,
        }
        for day in usage.days
    ]


def planned_row(item: WorkItem) -> Row:
    return {name: getattr(item, name) for name in _AS_PLANNED} | {
        "audio": raw_bytes(item.audio),
        "sidecar": None if item.sidecar is None else raw_bytes(item.sidecar),
        "tags": item.tags_json,
        "reason": str(item.ineligible.reason) if item.ineligible else None,
        "detail": item.ineligible.detail if item.ineligible else None,
        "declared": declared_json(item.declared),
    }


def planned_item(row: Row) -> WorkItem:
    cells: dict[str, Any] = row
    reason, declared = cells["reason"], cells["declared"]
    return WorkItem(
        **{name: cells[name] for name in _AS_PLANNED},
        audio=cells["audio"].decode("utf-8", "surrogateescape"),
        sidecar=None if cells["sidecar"] is None else cells["sidecar"].decode("utf-8", "surrogateescape"),
        tags_json=cells["tags"],
        declared=declared_from(declared),
        ineligible=None if reason is None else Ineligible(Reason(reason), cells["detail"]),
    )


def empty_row(table: str) -> Row:
    return dict.fromkeys(column.name for column in TABLES[table].columns)


def with_instants(table: str, row: Row) -> Row:
    """Read a row of a table from JSON, where instants are ISO text."""
    times = {column.name for column in TABLES[table].columns if column.kind == TIME and row.get(column.name)}
    return {name: datetime.fromisoformat(str(cell)) if name in times else cell for name, cell in row.items()}
