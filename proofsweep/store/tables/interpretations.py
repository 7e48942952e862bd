"""The `interpretations` table: the process notes of accepted proofs. Report-only: they change no verdict."""

from proofsweep.store.tables.columns import REAL, SMALL, TEXT, TIME, Column, Table

COLUMNS = (
    Column("operation_id", TEXT, "the refresh", nullable=False),
    Column("environment", TEXT, "label of the service's environment", nullable=False),
    Column("proof_id", TEXT, "the proof", nullable=False),
    Column("item_id", TEXT, "an item whose newest answer accepts the proof"),
    Column(
        "status",
        TEXT,
        "ready, pending or unavailable as received; gone, no such proof exists (404); failed, no answer could be had",
        nullable=False,
    ),
    Column("text", TEXT, "the note, when ready; report-only"),
    Column("policy_version", TEXT, "the presentation policy that made the note, if it says so"),
    Column("retry_after_seconds", REAL, "the wait that the last pending answer suggested"),
    Column("asks", SMALL, "how often the note was asked for", nullable=False),
    Column("asked_at", TIME, "when it was asked for last", nullable=False),
    Column("request_id", TEXT, "X-Request-Id of the last answer"),
)

TABLE = Table(
    name="interpretations",
    meaning="One row for each process note of each refresh that asked for it. Notes are report-only.",
    columns=COLUMNS,
    written_by="operation",
    proof_line=lambda row: f"process note: {row['status']}",
    proof_time="asked_at",
)
