"""The `proofs` table: the proofs that the service lists, reconciled with the newest answers."""

from proofsweep.store.tables.columns import FLAG, INT, TEXT, TIME, Column, Table

COLUMNS = (
    Column("operation_id", TEXT, "the inventory", nullable=False),
    Column("environment", TEXT, "label of the service's environment", nullable=False),
    Column("proof_id", TEXT, "the proof", nullable=False),
    Column(
        "state",
        TEXT,
        "matched; differs, from the answer; no_file, the newest answers do not name it; not_listed, an accepted file "
        "names it and the service does not list it",
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
)

TABLE = Table(
    name="proofs",
    meaning="One row for each proof of each inventory: as the service lists it, and how the newest answer agrees "
    "with it.",
    columns=COLUMNS,
    written_by="operation",
    proof_line=lambda row: f"inventory: {row['state']}" + (f" ({row['differs']})" if row["differs"] else ""),
)
