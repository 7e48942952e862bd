"""The `runs` table: one row per leg of a run."""

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.items import Row
from proofsweep.store.tables.columns import INT, REAL, SMALL, TEXT, TIME, Column, Table, with_instants

COLUMNS = (
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
    Column(
        "epoch",
        SMALL,
        "that of the legs that had ended when this one began, or one more if such a leg has ended later by its clock: "
        "then one of the two clocks was wrong",
    ),
)

TABLE = Table(
    name="runs",
    meaning="One row for each leg of a run.",
    columns=COLUMNS,
    written_by="leg",
)


def stored_row(cells: Row) -> Row:
    return with_instants(cells, COLUMNS)
