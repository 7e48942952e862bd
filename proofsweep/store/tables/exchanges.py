"""The `exchanges` table: one row per HTTP exchange, the audit trail."""

from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import Row
from proofsweep.store.tables.columns import INT, REAL, SMALL, STATUS, TEXT, TIME, Column, Table

COLUMNS = (
    Column("run_id", TEXT, "the run, or the operation", nullable=False),
    Column("leg", SMALL, "the leg of the run that made the call; 1 for an operation", nullable=False),
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
    Column(
        "environment",
        TEXT,
        "label of the service's environment, for the calls of an operation; null for those of a run",
    ),
    Column(
        "unnamed",
        TEXT,
        "names of members of the answer that the contract does not name, sorted and separated by commas",
    ),
)

TABLE = Table(
    name="exchanges",
    meaning="One row for each HTTP exchange, retries included. Its environment is its own for an operation, else "
    "that of its run.",
    columns=COLUMNS,
    written_by="leg",
)


_OF_EXCHANGE = ("started_at", "elapsed_ms", "status", "error_code")
_OF_HEADERS = ("retry_after_seconds", "rate_limit", "rate_remaining", "rate_reset", "partner_date", "sunset")


def exchange_row(
    exchange: Exchange, *, run_id: str, leg: int, manifest_row: int | None, environment: str | None = None
) -> Row:
    """Make the row of an exchange; only an operation gives its environment."""
    return call_cells(exchange) | {
        "run_id": run_id,
        "leg": leg,
        "manifest_row": manifest_row,
        "attempt": exchange.attempt,
        "request_id": exchange.request_id or exchange.storage_id,
        "bytes_sent": exchange.bytes_sent,
        "environment": environment,
        "unnamed": ",".join(exchange.unnamed) or None,
    }


def call_cells(exchange: Exchange) -> Row:
    """Return the cells that rows of `exchanges` and of `probes` share."""
    cells: Row = {name: getattr(exchange, name) for name in _OF_EXCHANGE}
    cells |= {name: getattr(exchange.headers, name) for name in _OF_HEADERS}
    return cells | {"call": str(exchange.call), "failure": None if exchange.failure is None else str(exchange.failure)}
