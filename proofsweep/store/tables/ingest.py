"""The `ingest` table: one row for each file that a pass over a watched folder has verified or moved."""

from proofsweep.store.tables.columns import INT, SMALL, TEXT, TIME, Column, Table

COLUMNS = (
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
    Column(
        "supplier",
        TEXT,
        "the first folder below the watched one; of a delivery that lies in none its sender; else null",
    ),
    Column("outcome", TEXT, "accepted, rejected, failed or ineligible", nullable=False),
    Column("reason", TEXT, "why it is not accepted; null if it is"),
    Column("tries", SMALL, "how often this version was tried, this time included", nullable=False),
    Column("retry_at", TIME, "when it is tried again; null if it is not"),
    Column(
        "disposition",
        TEXT,
        "left, accepted, quarantined, or gone: taken away or replaced by somebody else",
        nullable=False,
    ),
    Column("audio_moved_to", TEXT, "where the audio is after a move"),
    Column("sidecar_moved_to", TEXT, "where the sidecar is after a move"),
    Column("detail", TEXT, "why a move was not made, in one sentence; null if it was, or if none was wanted"),
    Column("first_seen_at", TIME, "when a pass first saw this version"),
    Column("verified_at", TIME, "when the row got its outcome"),
    Column("acted_at", TIME, "when the file was moved or left", nullable=False),
    Column("tags", TEXT, "of a delivery's file, what its message says, as a JSON object"),
)

TABLE = Table(
    name="ingest",
    meaning="One row for each delivered file that a pass over a watched folder has verified or moved.",
    columns=COLUMNS,
    written_by="ingest pass",
)
