"""The tables of a results store: all their columns, in their order, each with its meaning.

Schemas, views, searches and the docs are made of these declarations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.outcomes import Action

TEXT = "string"
INT = "int64"
SMALL = "int32"
STATUS = "int16"
REAL = "double"
FLAG = "bool"
TIME = "timestamp[us, tz=UTC]"
BYTES = "binary"

Writer = Literal["leg", "ingest pass", "monitoring", "operation"]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: str
    meaning: str
    nullable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    name: str  # of the table, its view and the folder of its parts
    meaning: str  # what one row is, in a sentence or two
    written_by: Writer
    columns: Sequence[Column]


VERDICTS = Table(
    name="verdicts",
    meaning="One row for each row of a catalog and each run.",
    written_by="leg",
    columns=(
        Column("run_id", TEXT, "the run", nullable=False),
        Column("leg", SMALL, "the leg of the run that finished this row", nullable=False),
        Column("environment", TEXT, "label of the service's environment: sandbox, beta, production", nullable=False),
        Column("manifest_row", INT, "0-based row of the catalog as planned; unique within the run", nullable=False),
        Column("item_id", TEXT, "the same in every run and on every machine; join runs by it", nullable=False),
        Column("audio", TEXT, "location of the audio: an absolute path or a URL", nullable=False),
        Column("sidecar", TEXT, "location of the sidecar proof file"),
        Column("sidecar_source", TEXT, "given, or recovered: a recovery has written these bytes there"),
        Column("mode", TEXT, "one_file or legacy_pair; null without an audio file, or with an ambiguous sidecar"),
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
        Column("answered_by_row", INT, "the row of this run with the same bytes whose answer is used; else null"),
        Column("verify_attempts", SMALL, "attempts of POST /verify", nullable=False),
        Column("calls", SMALL, "keyed requests sent for this row, whatever the answer", nullable=False),
        Column("started_at", TIME, "when work on the row began"),
        Column("finished_at", TIME, "when work on the row ended"),
        Column("slot_ms", REAL, "milliseconds of POST /uploads, of the attempt that led to the outcome"),
        Column("upload_ms", REAL, "milliseconds of the slot's form POST"),
        Column("verify_ms", REAL, "milliseconds of POST /verify"),
        Column("tags", TEXT, "the manifest's further columns as a JSON object"),
        Column("sidecar_version", TEXT, "the store's version of the sidecar when the run was planned"),
        Column("relative_path", TEXT, "the audio below the catalog's root; null outside; without audio the row's line"),
        Column("manifest_line", TEXT, "the manifest and the line, as an editor counts it: `list.xlsx, row 107`"),
        Column("answered_by_run", TEXT, "the earlier run whose answer is used; request IDs and times are of its row"),
    ),
)

EXCHANGES = Table(
    name="exchanges",
    meaning="One row for each HTTP exchange, retries included. Its environment is its own for an operation, else "
    "that of its run.",
    written_by="leg",
    columns=(
        Column("run_id", TEXT, "the run, or the operation", nullable=False),
        Column("leg", SMALL, "the leg of the run or operation that made the call", nullable=False),
        Column("manifest_row", INT, "the row that the call was made for; null for a call for no row"),
        Column("call", TEXT, "the call: uploads, slot, verify, usage, health …; never a path", nullable=False),
        Column("attempt", SMALL, "number of this attempt of the call for this row, from 1", nullable=False),
        Column("started_at", TIME, "when the request began", nullable=False),
        Column("elapsed_ms", REAL, "milliseconds until the answer was read", nullable=False),
        Column("status", STATUS, "HTTP status; null without an answer"),
        Column("error_code", TEXT, "ApiError code as received"),
        Column("failure", TEXT, "timeout, connection or bad_answer; null if the answer was usable"),
        Column("request_id", TEXT, "X-Request-Id or x-amzn-requestid; for call slot, the storage target's own ID"),
        Column("retry_after_seconds", REAL, "Retry-After as a duration in seconds"),
        Column("rate_limit", INT, "X-RateLimit-Limit: the monthly quota"),
        Column("rate_remaining", INT, "X-RateLimit-Remaining: calls left"),
        Column("rate_reset", TIME, "X-RateLimit-Reset: when the quota resets"),
        Column("bytes_sent", INT, "bytes of the request's body, up to the answer; null without a connection"),
        Column("partner_date", TIME, "the answer's Date header"),
        Column("sunset", TEXT, "the answer's Sunset header, which announces a breaking change"),
        Column("environment", TEXT, "label of the service's environment for calls of an operation; null for a run's"),
        Column("unnamed", TEXT, "names of members of the answer that the contract does not name, sorted, with commas"),
    ),
)

RUNS = Table(
    name="runs",
    meaning="One row for each leg of a run.",
    written_by="leg",
    columns=(
        Column("run_id", TEXT, "the run", nullable=False),
        Column("leg", SMALL, "one attempt at the run, counted from 1", nullable=False),
        Column("environment", TEXT, "label of the service's environment", nullable=False),
        Column("base_url_host", TEXT, "host of the service"),
        Column("key_fingerprint", TEXT, "12 hex digits that distinguish keys without revealing them"),
        Column("flow_run_id", TEXT, "ID of the Prefect flow run"),
        Column("catalog", TEXT, "location of the catalog"),
        Column("catalog_digest", TEXT, "hex sha256 of the catalog as planned"),
        Column("started_at", TIME, "when the leg began"),
        Column("finished_at", TIME, "when the leg ended"),
        Column("ended_by", TEXT, ", ".join(EndedBy), nullable=False),
        Column("items", INT, "rows of the whole plan"),
        Column("skipped", INT, "catalog rows left out of the plan because they were not due"),
        Column("accepted", INT, "accepted rows of this leg"),
        Column("rejected", INT, "rejected rows of this leg"),
        Column("failed", INT, "failed rows of this leg"),
        Column("ineligible", INT, "ineligible rows of this leg"),
        Column("remaining", INT, "rows of the whole plan without an outcome after this leg"),
        Column("bytes_sent", INT, "bytes of all request bodies of this leg"),
        Column("calls", INT, "keyed requests sent, whatever the answer"),
        Column("calls_again", INT, "of these calls, those that repeat a call answered in an earlier leg"),
        Column("calls_unrecorded", INT, "calls of a killed leg that its journal lacks; null, as they are not known"),
        Column("throttled", INT, "answers with status 429"),
        Column("rate_learned", REAL, "calls per second that the service admits, as learned"),
        Column("quota_before", INT, "calls left in the quota when the leg began"),
        Column("quota_after", INT, "calls left in the quota when the leg ended"),
        Column("service_version", TEXT, "from GET /health"),
        Column("service_commit", TEXT, "from GET /health"),
        Column("service_deployed_at", TIME, "from GET /health"),
        Column("contract_version", TEXT, "version of the contract that this program implements"),
        Column("proofsweep_version", TEXT, "version of this program"),
        Column("sunset", TEXT, "the last Sunset header received, which announces a breaking change"),
    ),
)

INGEST = Table(
    name="ingest",
    meaning="One row for each delivered file that a pass over a watched folder has verified or moved.",
    written_by="ingest pass",
    columns=(
        Column("run_id", TEXT, "the run whose answer counts; its row is in `verdicts`", nullable=False),
        Column("leg", SMALL, "the leg of that run", nullable=False),
        Column("environment", TEXT, "label of the service's environment", nullable=False),
        Column("watched", TEXT, "the watched folder or prefix", nullable=False),
        Column("item_id", TEXT, "as in `verdicts`", nullable=False),
        Column("audio", TEXT, "where the audio was delivered", nullable=False),
        Column("sidecar", TEXT, "where the sidecar was delivered"),
        Column("audio_bytes", INT, "size of the audio in bytes"),
        Column("audio_version", TEXT, "the store's version of the audio"),
        Column("sidecar_version", TEXT, "the store's version of the sidecar"),
        Column("audio_sha256", TEXT, "hex sha256 of the audio that was verified"),
        Column("sidecar_sha256", TEXT, "hex sha256 of the sidecar that was verified"),
        Column("supplier", TEXT, "the first folder below the watched one; of a delivery in none its sender; else null"),
        Column("outcome", TEXT, "accepted, rejected, failed or ineligible", nullable=False),
        Column("reason", TEXT, "why it is not accepted; null if it is"),
        Column("tries", SMALL, "how often this version was tried, this time included", nullable=False),
        Column("retry_at", TIME, "when it is tried again; null if it is not"),
        Column("disposition", TEXT, "left, accepted, quarantined, or gone: taken away or replaced", nullable=False),
        Column("audio_moved_to", TEXT, "where the audio is after a move"),
        Column("sidecar_moved_to", TEXT, "where the sidecar is after a move"),
        Column("detail", TEXT, "why a move was not made, in one sentence; null if it was, or if none was wanted"),
        Column("first_seen_at", TIME, "when a pass first saw this version"),
        Column("verified_at", TIME, "when the row got its outcome"),
        Column("acted_at", TIME, "when the file was moved or left", nullable=False),
        Column("tags", TEXT, "of a delivery's file, what its message says, as a JSON object"),
    ),
)

PROBES = Table(
    name="probes",
    meaning="One row for each probe of the service: status, latency, request ID, headers of the quota, and what "
    "is wrong.",
    written_by="monitoring",
    columns=(
        Column("operation_id", TEXT, "the pass of monitoring", nullable=False),
        Column("environment", TEXT, "label of the service's environment", nullable=False),
        Column("call", TEXT, "health or usage", nullable=False),
        Column("started_at", TIME, "when the request began", nullable=False),
        Column("elapsed_ms", REAL, "milliseconds until the answer was read, or given up", nullable=False),
        Column("status", STATUS, "HTTP status; null without an answer"),
        Column("error_code", TEXT, "ApiError code as received"),
        Column("failure", TEXT, "timeout, connection or bad_answer; null if the answer was usable"),
        Column("trouble", TEXT, "not_ok, throttled, key_refused, http_<status> or the failure; null if all is well"),
        Column("request_id", TEXT, "X-Request-Id or x-amzn-requestid"),
        Column("retry_after_seconds", REAL, "Retry-After as a duration in seconds"),
        Column("rate_limit", INT, "X-RateLimit-Limit: the monthly quota"),
        Column("rate_remaining", INT, "X-RateLimit-Remaining: calls left; authoritative for call usage"),
        Column("rate_reset", TIME, "X-RateLimit-Reset: when the quota resets"),
        Column("ok", FLAG, "GET /health: its member ok, which may be false with status 200"),
        Column("service_version", TEXT, "GET /health: version"),
        Column("service_commit", TEXT, "GET /health: commit"),
        Column("service_deployed_at", TIME, "GET /health: deployedAt"),
        Column("partner_date", TIME, "the answer's Date header"),
        Column("sunset", TEXT, "the answer's Sunset header, which announces a breaking change"),
        Column("base_url", TEXT, "the service that was asked"),
        Column("usage_json", TEXT, "GET /partner/usage: JSON array of day, used, remaining, quota_limit, quota_period"),
    ),
)

ROTATIONS = Table(
    name="rotations",
    meaning="One row for each rotation of an API key: the IDs of both keys, when the old one ends, and the "
    "request ID; never a key.",
    written_by="operation",
    columns=(
        Column("operation_id", TEXT, "the rotation; its calls are in `exchanges` under this ID", nullable=False),
        Column("environment", TEXT, "label of the service's environment", nullable=False),
        Column("key_fingerprint", TEXT, "12 hex digits of the key that was rotated, as in `runs`", nullable=False),
        Column("new_key_fingerprint", TEXT, "12 hex digits of the new key", nullable=False),
        Column("requested_at", TIME, "when the rotation was begun, before its first call", nullable=False),
        Column("answered_at", TIME, "when the new key had come", nullable=False),
        Column("key_id", TEXT, "ID of the key that was rotated; null unless an earlier row of this table names it"),
        Column("new_key_id", TEXT, "ID of the new key; null if an interrupted rotation kept only the key itself"),
        Column("new_key_name", TEXT, "name of the new key"),
        Column("previous_key_expires_at", TIME, "when the old key ends, as the service said"),
        Column("replayed", FLAG, "whether the answer was a replay of an earlier one", nullable=False),
        Column("request_id", TEXT, "X-Request-Id of the answer"),
    ),
)

ERASURES = Table(
    name="erasures",
    meaning="One row for each proof that the service was asked to erase, and what it answered; a repeat is a row "
    "of its own.",
    written_by="operation",
    columns=(
        Column("operation_id", TEXT, "the erasure; its calls are in `exchanges` under this ID", nullable=False),
        Column("environment", TEXT, "label of the service's environment", nullable=False),
        Column("proof_id", TEXT, "the proof", nullable=False),
        Column("outcome", TEXT, "erased or already_erased, as received; null without a usable answer"),
        Column("erased_at", TIME, "erasedAt: when the service erased it"),
        Column("asked_at", TIME, "when the call began", nullable=False),
        Column("answered_at", TIME, "when the call was over, retries included", nullable=False),
        Column("request_id", TEXT, "X-Request-Id of the answer"),
        Column("http_status", STATUS, "HTTP status of an answer that is no success"),
        Column("reason", TEXT, "why it is not known to be erased: http_<status>, timeout, bad_answer …; null if it is"),
    ),
)

PROOFS = Table(
    name="proofs",
    meaning="One row for each proof of each inventory: as the service lists it, and how the newest answer agrees "
    "with it.",
    written_by="operation",
    columns=(
        Column("operation_id", TEXT, "the inventory", nullable=False),
        Column("environment", TEXT, "label of the service's environment", nullable=False),
        Column("proof_id", TEXT, "the proof", nullable=False),
        Column(
            "state",
            TEXT,
            "matched; differs, from the answer; no_file, the newest answers do not name it; not_listed, an accepted "
            "file names it and the service does not list it",
            nullable=False,
        ),
        Column("song", TEXT, "as listed"),
        Column("issued_at", TIME, "as listed"),
        Column("classification", TEXT, "as listed; report-only, and absent on older proofs"),
        Column("has_feedback", FLAG, "as listed"),
        Column("files", INT, "items whose newest answer names the proof"),
        Column("item_id", TEXT, "the item of these that was answered last"),
        Column("audio", TEXT, "its audio"),
        Column("run_id", TEXT, "the run of its newest answer"),
        Column("differs", TEXT, "what the answer has otherwise: classification, issued_at, or both with a comma"),
        Column("answer_issued_at", TIME, "issued_at of the newest answer"),
        Column("answer_classification", TEXT, "classification of the newest answer"),
    ),
)

INTERPRETATIONS = Table(
    name="interpretations",
    meaning="One row for each process note of each refresh that asked for it. Notes are report-only.",
    written_by="operation",
    columns=(
        Column("operation_id", TEXT, "the refresh", nullable=False),
        Column("environment", TEXT, "label of the service's environment", nullable=False),
        Column("proof_id", TEXT, "the proof", nullable=False),
        Column("item_id", TEXT, "an item whose newest answer accepts the proof"),
        Column(
            "status",
            TEXT,
            "ready, pending or unavailable as received; gone, no such proof exists (404); failed, no answer "
            "could be had",
            nullable=False,
        ),
        Column("text", TEXT, "the note, when ready; report-only"),
        Column("policy_version", TEXT, "the presentation policy that made the note, if it says so"),
        Column("retry_after_seconds", REAL, "the wait that a pending answer suggested"),
        Column("asked_at", TIME, "when it was asked for", nullable=False),
        Column("request_id", TEXT, "X-Request-Id of the answer"),
    ),
)

RECOVERIES = Table(
    name="recoveries",
    meaning="One row for each sidecar that was missing, and that a recovery asked for.",
    written_by="operation",
    columns=(
        Column("operation_id", TEXT, "the recovery", nullable=False),
        Column("environment", TEXT, "label of the service's environment", nullable=False),
        Column("proof_id", TEXT, "the proof whose sealed sidecar was asked for", nullable=False),
        Column("item_id", TEXT, "the item, as in `verdicts`", nullable=False),
        Column("audio", TEXT, "its audio, as in `verdicts`", nullable=False),
        Column("sidecar", TEXT, "its sidecar, as in `verdicts`"),
        Column(
            "outcome",
            TEXT,
            "recovered; present, a file appeared there meanwhile; gone, no such proof exists (404); failed",
            nullable=False,
        ),
        Column("recovered_to", TEXT, "where the sealed sidecar was written; null if it was not"),
        Column("sidecar_bytes", INT, "size of the sealed sidecar"),
        Column("sidecar_sha256", TEXT, "hex sha256 of the sealed sidecar"),
        Column("detail", TEXT, "one sentence for a person"),
        Column("request_id", TEXT, "X-Request-Id of GET /proofs/{proofId}"),
        Column("acted_at", TIME, "when the row was made", nullable=False),
    ),
)

# `verdicts` first: the rows of others may name an item by the proof that its answer names.
TABLES = {
    table.name: table
    for table in (
        *(VERDICTS, EXCHANGES, RUNS, INGEST, PROBES),
        *(ROTATIONS, ERASURES, PROOFS, INTERPRETATIONS, RECOVERIES),
    )
}

RECEIPTED = ("verdicts", "exchanges")
"""The tables whose parts the receipts of legs name, and whose old parts a pruning deletes."""

ANSWERED = ("accepted", "rejected")
"""The outcomes that are an answer of the service."""

GONE = ("erased", "already_erased")
"""The outcomes of `erasures` of a proof of which the service has nothing any more (contract, EraseProofResponse)."""


def _of_verdicts(*names: str) -> list[Column]:
    columns = {column.name: column for column in VERDICTS.columns}
    return [columns[name] for name in names]


PLANNED_ITEMS = (
    *_of_verdicts("manifest_row", "item_id", "audio_bytes", "audio_version", "tags", "reason", "detail"),
    *_of_verdicts("sidecar_version", "relative_path", "manifest_line"),
    Column("audio", BYTES, "location as exact bytes, because a file name may not be UTF-8", nullable=False),
    Column("sidecar", BYTES, "location of the sidecar"),
    Column("declared", TEXT, "what the delivery says of the audio: JSON object of `size_bytes` and digests"),
    Column("is_delivered", FLAG, "whether the file is of a delivery"),
    Column("is_touched", FLAG, "whether only its time differs from what was answered, as far as a listing shows"),
)
"""The objects of a plan, which are no table: its work items in manifest order."""

LATEST = (
    *_of_verdicts("item_id", "environment", "run_id", "leg", "manifest_row", "audio", "sidecar", "mode"),
    *_of_verdicts("audio_format", "audio_bytes", "audio_sha256", "sidecar_sha256", "audio_version", "outcome"),
    *_of_verdicts("accepted", "action", "verdict", "reason", "proof_id", "song", "issued_at", "classification"),
    *_of_verdicts("grade_human", "grade_ai", "grade_unknown", "grade_risk_category", "grade_rubric_version"),
    *_of_verdicts("publicly_trusted", "verify_request_id", "finished_at", "sidecar_version", "detail", "tags"),
    *_of_verdicts("relative_path", "http_status", "error_code", "uploads_request_id", "manifest_line"),
    Column("entry", INT, "the leg's number in the ledger: a row of a later one is newer", nullable=False),
    Column("part", TEXT, "name of the part of `verdicts` that has the row", nullable=False),
)
"""Columns of the newest answer of each item, and of its newest row without one. Derived."""


def written_by(writer: Writer) -> tuple[str, ...]:
    return tuple(name for name, table in TABLES.items() if table.written_by == writer)
