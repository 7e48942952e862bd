"""The `runs` table: one row per leg of a run."""

from datetime import datetime

from proofsweep.domain.tables.columns import INT, REAL, SMALL, TEXT, TIME, Column, Row

COLUMNS = (
    Column("run_id", TEXT, "the run", nullable=False),
    Column("leg", SMALL, "one sitting of the run, from 1", nullable=False),
    Column("environment", TEXT, "label of the service's environment", nullable=False),
    Column("base_url_host", TEXT, "host of the service"),
    Column("key_fingerprint", TEXT, "12 hex digits that tell keys apart and give none away"),
    Column("flow_run_id", TEXT, "the Prefect flow run"),
    Column("catalog", TEXT, "location of the catalog"),
    Column("catalog_digest", TEXT, "hex sha256 of the catalog as planned"),
    Column("started_at", TIME, "when the leg began"),
    Column("finished_at", TIME, "when it ended"),
    Column(
        "ended_by", TEXT, "complete, quota, window, cancelled, key_refused, breaker, killed or error", nullable=False
    ),
    Column("items", INT, "rows of the whole plan"),
    Column("skipped", INT, "catalog rows left out of the plan as unchanged since an answer"),
    Column("accepted", INT, "rows of this leg"),
    Column("rejected", INT, "rows of this leg"),
    Column("failed", INT, "rows of this leg"),
    Column("ineligible", INT, "rows of this leg"),
    Column("remaining", INT, "rows of the whole plan that are left after this leg"),
    Column("bytes_sent", INT, "bytes of request bodies"),
    Column("calls", INT, "keyed requests sent, any answer"),
    Column("calls_again", INT, "of these, for what an earlier leg had been answered for the same row"),
    Column("calls_unrecorded", INT, "what a killed leg spent beyond its journal; null: it is not known"),
    Column("throttled", INT, "answers 429"),
    Column("rate_learned", REAL, "calls per second that the service was seen to admit"),
    Column("quota_before", INT, "headroom when the leg began"),
    Column("quota_after", INT, "headroom when it ended"),
    Column("service_version", TEXT, "from GET /health"),
    Column("service_commit", TEXT, "from GET /health"),
    Column("service_deployed_at", TIME, "from GET /health"),
    Column("contract_version", TEXT, "the contract this program was written to"),
    Column("proofsweep_version", TEXT, "this program"),
    Column("sunset", TEXT, "the last Sunset header seen: a breaking change is announced"),
)


def stored_row(cells: Row) -> Row:
    """Read a row back from a receipt, where instants are ISO text."""
    times = {column.name for column in COLUMNS if column.kind == TIME}
    return {name: _instant(cell) if name in times else cell for name, cell in cells.items()}


def _instant(cell: object) -> datetime | None:
    return None if cell is None else datetime.fromisoformat(str(cell))
