"""The `erasures` table: one row for each proof that the service was asked to erase, and what it answered."""

from proofsweep.store.tables.columns import STATUS, TEXT, TIME, Column, Table

COLUMNS = (
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
)

TABLE = Table(
    name="erasures",
    meaning="One row for each proof that the service was asked to erase, and what it answered; a repeat is a row "
    "of its own.",
    columns=COLUMNS,
    written_by="operation",
    proof_line=lambda row: f"erased by us: {row['outcome'] or row['reason']}",
    proof_time="asked_at",
)


GONE = ("erased", "already_erased")
"""The outcomes that say that the service has nothing of a proof any more (contract, EraseProofResponse)."""
