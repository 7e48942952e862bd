"""The `recoveries` table: sidecars that were compared with the sealed ones, and those that were written again."""

from proofsweep.store.tables.columns import INT, TEXT, TIME, Column, Table

COLUMNS = (
    Column("operation_id", TEXT, "the recovery", nullable=False),
    Column("environment", TEXT, "label of the service's environment", nullable=False),
    Column("proof_id", TEXT, "the proof whose sealed sidecar was asked for", nullable=False),
    Column("item_id", TEXT, "the item, as in `verdicts`", nullable=False),
    Column("audio", TEXT, "its audio, as in `verdicts`", nullable=False),
    Column("sidecar", TEXT, "its sidecar, as in `verdicts`; null for a one-file item"),
    Column(
        "outcome",
        TEXT,
        "recovered, the local one was missing; differs, the local one is not the sealed one; same, the sealed one is "
        "there already; exists, another file has the name; gone, no such proof exists (404); failed",
        nullable=False,
    ),
    Column("recovered_to", TEXT, "where the sealed sidecar was written; null if it was not"),
    Column("sidecar_bytes", INT, "size of the sealed sidecar"),
    Column("sidecar_sha256", TEXT, "hex sha256 of the sealed sidecar"),
    Column("local_sha256", TEXT, "hex sha256 of the local one; null if it could not be read"),
    Column("detail", TEXT, "one sentence for a person"),
    Column("request_id", TEXT, "X-Request-Id of GET /proofs/{proofId}"),
    Column("acted_at", TIME, "when the row was made", nullable=False),
)

TABLE = Table(
    name="recoveries",
    meaning="One row for each sidecar that a recovery compared with the sealed one, or wrote again.",
    columns=COLUMNS,
    written_by="operation",
    proof_line=lambda row: f"sidecar: {row['outcome']}" + (f", written to {to}" if (to := row["recovered_to"]) else ""),
    proof_time="acted_at",
)
