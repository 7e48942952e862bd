"""The `verdicts` table: one row per manifest row."""

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, assert_never

from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.items import Row, WorkItem, utf8_text
from proofsweep.domain.models import VerifyResponse, canonical_json, flag_of, number_of, object_of, text_of
from proofsweep.domain.outcomes import Accepted, Answer, Failed, Finished, Outcome, Rejected, word_for
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.verdicts import Action
from proofsweep.store.tables.columns import FLAG, INT, REAL, SMALL, STATUS, TEXT, TIME, Column, Table, empty_row
from proofsweep.store.tables.planned_items import OF_ITEM

COLUMNS = (
    Column("run_id", TEXT, "the run", nullable=False),
    Column("leg", SMALL, "the leg of the run that finished this row", nullable=False),
    Column("environment", TEXT, "label of the service's environment: sandbox, beta, production", nullable=False),
    Column("manifest_row", INT, "0-based row number in the catalog as planned; unique within the run", nullable=False),
    Column("item_id", TEXT, "the same in every run and on every machine; join runs by it", nullable=False),
    Column("audio", TEXT, "location of the audio: an absolute path or a URL", nullable=False),
    Column("sidecar", TEXT, "location of the sidecar proof file"),
    Column(
        "sidecar_source", TEXT, "given, or recovered: a recovery has written it there, and it has these bytes still"
    ),
    Column(
        "mode", TEXT, "one_file or legacy_pair; null if the row names no audio file, or if its sidecar is ambiguous"
    ),
    Column("audio_format", TEXT, "recognised from the content: wav rf64 bw64 aiff caf mp3 m4a flac ogg unknown"),
    Column("audio_bytes", INT, "size of the audio in bytes"),
    Column("audio_sha256", TEXT, "hex sha256 of the bytes that were sent"),
    Column("sidecar_sha256", TEXT, "hex sha256 of the sidecar that was sent"),
    Column("audio_version", TEXT, "the store's version of the audio: ETag, or size and modification time"),
    Column("outcome", TEXT, "accepted, rejected, failed or ineligible", nullable=False),
    Column("accepted", FLAG, "true only for good = true and verdict = valid", nullable=False),
    Column("action", TEXT, "what to do next: " + ", ".join(Action), nullable=False),
    Column("verdict", TEXT, "as received, also if unknown; null if the service gave none"),
    Column("good", FLAG, "as received; null if absent"),
    Column("reason", TEXT, "why the row is not accepted; null if it is"),
    Column("detail", TEXT, "the reason in one sentence for a person"),
    Column("http_status", STATUS, "HTTP status of the last answer"),
    Column("error_code", TEXT, "ApiError code as received"),
    Column("proof_id", TEXT, "as received"),
    Column("song", TEXT, "as received"),
    Column("issued_at", TIME, "when the proof was issued"),
    Column("classification", TEXT, "report-only, as received"),
    Column("grade_human", REAL, "report-only; null unless it is a number or text that reads as one"),
    Column("grade_ai", REAL, "as grade_human"),
    Column("grade_unknown", REAL, "as grade_human"),
    Column("grade_risk_category", TEXT, "report-only"),
    Column("grade_rubric_version", TEXT, "report-only"),
    Column("grade_json", TEXT, "the whole grade as received, as canonical JSON"),
    Column("interpretation_json", TEXT, "the whole interpretation as received, as canonical JSON"),
    Column("embedded_credential_json", TEXT, "the whole embeddedCredential as received, as canonical JSON"),
    Column("publicly_trusted", FLAG, "as received; null if absent; false is not a failure"),
    Column("uploads_request_id", TEXT, "X-Request-Id of the POST /uploads that led to this outcome"),
    Column("verify_request_id", TEXT, "X-Request-Id of the POST /verify that gave this outcome"),
    Column("storage_request_id", TEXT, "the storage target's own ID, if it gives one"),
    Column("answer_sha256", TEXT, "hex sha256 of the exact body that POST /verify answered"),
    Column("answered_by_row", INT, "the row of this run with the same bytes whose answer is used; null if its own is"),
    Column("verify_attempts", SMALL, "attempts of POST /verify", nullable=False),
    Column("calls", SMALL, "keyed requests sent for this row, whatever the answer", nullable=False),
    Column("started_at", TIME, "when work on the row began"),
    Column("finished_at", TIME, "when work on the row ended"),
    Column("slot_ms", REAL, "milliseconds of POST /uploads, of the attempt that led to the outcome"),
    Column("upload_ms", REAL, "milliseconds of the slot's form POST"),
    Column("verify_ms", REAL, "milliseconds of POST /verify"),
    Column("tags", TEXT, "the manifest's further columns as a JSON object"),
    Column("sidecar_version", TEXT, "the store's version of the sidecar when the run was planned"),
    Column(
        "relative_path",
        TEXT,
        "the audio as seen from the catalog's root; null if it lies outside; of a row without audio, its line",
    ),
    Column("manifest_line", TEXT, "the manifest and the line, as an editor counts it: `list.xlsx, row 107`"),
    Column(
        "epoch",
        SMALL,
        "that of the leg: a row of a later epoch is newer, whatever the times say; see `runs`",
        nullable=False,
    ),
    Column(
        "answered_by_run",
        TEXT,
        "the earlier run that gave the answer for these bytes; request IDs and times are those of its row",
    ),
)

TABLE = Table(
    name="verdicts",
    meaning="One row for each row of a catalog and each run.",
    columns=COLUMNS,
    written_by="leg",
    proof_line=lambda row: f"verified: {words_of_outcome(row)}, {row['audio']}",
    proof_time="finished_at",
)


@dataclass(frozen=True, slots=True)
class RowContext:
    """What all rows of one leg share."""

    run_id: str
    leg: int
    environment: str
    # location and hex sha256 of each sidecar that a recovery has written.
    recovered: AbstractSet[tuple[str, str]] = frozenset()
    epoch: int = 0


def words_of_outcome(row: Row) -> str:
    words = [row["outcome"], *dict.fromkeys((row["verdict"], row["reason"]))]
    return " · ".join(str(word) for word in words if word is not None)


def row_of(finished: Finished, context: RowContext) -> Row:
    """Return the verdicts row of a finished item; pure. ValueError for an acceptance of bytes that nobody knows."""
    row: Row = empty_row(COLUMNS)
    row |= {"run_id": context.run_id, "leg": context.leg, "environment": context.environment, "epoch": context.epoch}
    row |= _item_cells(finished.item)
    read = finished.read
    if read is not None:
        row |= {"audio_format": read.audio_format, "audio_bytes": read.size_bytes, "audio_version": read.version}
        row |= {"audio_sha256": read.sha256, "sidecar_sha256": read.sidecar_sha256}
    if (row["sidecar"], row["sidecar_sha256"]) in context.recovered:
        row["sidecar_source"] = "recovered"
    row |= _exchange_cells(finished.exchanges)
    if finished.original is not None:
        row |= _original_cells(finished.original)
    row |= _outcome_cells(finished.outcome)
    row |= {"started_at": finished.started_at, "finished_at": finished.finished_at}
    if (earlier := finished.earlier) is not None:
        row |= {name: earlier[name] for name in (*_IDS, "started_at", "finished_at")}
        row["answered_by_run"] = earlier["answered_by_run"] or earlier["run_id"]
    if row["accepted"] and row["audio_sha256"] is None:
        raise ValueError("an accepted row without the digest of what was sent")
    return row


def _item_cells(item: WorkItem) -> Row:
    is_ambiguous = item.ineligible is not None and item.ineligible.reason is Reason.AMBIGUOUS_SIDECAR
    has_mode = item.audio and not item.audio.endswith("/") and not is_ambiguous
    return {name: getattr(item, name) for name in OF_ITEM} | {
        "audio": utf8_text(item.audio),
        "sidecar": None if item.sidecar is None else utf8_text(item.sidecar),
        "sidecar_source": None if item.sidecar is None else "given",
        "mode": str(item.mode) if has_mode else None,
        "tags": item.tags_json,
    }


def _exchange_cells(exchanges: Sequence[Exchange]) -> Row:
    uploads, slot, verify = _last_attempt(exchanges)
    last = exchanges[-1] if exchanges else None
    return {
        "http_status": last.status if last else None,
        "uploads_request_id": uploads.request_id if uploads else None,
        "storage_request_id": (slot.storage_id or slot.request_id) if slot else None,
        "verify_request_id": verify.request_id if verify else None,
        "slot_ms": uploads.elapsed_ms if uploads else None,
        "upload_ms": slot.elapsed_ms if slot else None,
        "verify_ms": verify.elapsed_ms if verify else None,
        "verify_attempts": sum(exchange.call is Call.VERIFY for exchange in exchanges),
        "calls": sum(exchange.is_charged for exchange in exchanges),
    }


def _original_cells(original: Finished) -> Row:
    cells = _exchange_cells(original.exchanges)
    return {name: cells[name] for name in _IDS} | {"answered_by_row": original.item.manifest_row}


_AS_ANSWERED = ("good", "proof_id", "song", "issued_at", "classification")
_AS_JSON = ("grade", "interpretation", "embedded_credential")


def answer_in(row: Row) -> Answer:
    whole = {name: row[f"{name}_json"] for name in _AS_JSON}
    cells: dict[str, Any] = {name: row[name] for name in ("verdict", *_AS_ANSWERED)}
    cells |= {name: None if text is None else json.loads(str(text)) for name, text in whole.items()}
    response = VerifyResponse.model_construct(None, **cells)
    return Answer(response, str(row["answer_sha256"]))


_IDS = ("http_status", "uploads_request_id", "storage_request_id", "verify_request_id")
_FLOW = (Call.UPLOADS, Call.SLOT, Call.VERIFY)


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
            said = {"action": str(action), "reason": text_of(reason) or "", "detail": detail}
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
    cells |= {f"{name}_json": _json(getattr(response, name)) for name in _AS_JSON}
    cells |= {f"grade_{name}": number_of(grade.get(name)) for name in ("human", "ai", "unknown")}
    return cells | {
        "verdict": text_of(response.verdict) or "",
        "grade_risk_category": _word(grade.get("riskCategory")),
        "grade_rubric_version": _word(grade.get("rubricVersion")),
        "publicly_trusted": flag_of(object_of(response.embedded_credential).get("publiclyTrusted")),
        "answer_sha256": answer.body_sha256,
    }


def _word(member: object) -> str | None:
    return json.dumps(member) if isinstance(member, bool | int | float) else text_of(member)


def _json(value: object) -> str | None:
    return None if value is None else canonical_json(value)
