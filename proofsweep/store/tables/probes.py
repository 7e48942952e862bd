"""The `probes` table: one row for each probe of the service, as the contract's monitoring guidance has it.

What GET /partner/usage says of each UTC day is in one of its cells.
"""

from datetime import datetime
from http import HTTPStatus

from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import Row
from proofsweep.domain.models import HealthResponse, PartnerUsageResponse
from proofsweep.store.tables.columns import FLAG, INT, REAL, STATUS, TEXT, TIME, Column, Table
from proofsweep.store.tables.exchanges import call_cells

COLUMNS = (
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
    Column(
        "usage_json",
        TEXT,
        "what GET /partner/usage said of each UTC day: a JSON array of day, used, remaining, quota_limit, quota_period",
    ),
)

TABLE = Table(
    name="probes",
    meaning="One row for each probe of the service: status, latency, request ID, headers of the quota, and what "
    "is wrong.",
    columns=COLUMNS,
    written_by="monitoring",
)


def probe_row(exchange: Exchange, health: HealthResponse | None = None) -> Row:
    """Make the row of a probe; `health` is what GET /health answered."""
    health = health or HealthResponse()
    return call_cells(exchange) | {
        "trouble": trouble_of(exchange, ok=health.ok),
        "request_id": exchange.request_id,
        "ok": health.ok,
        "service_version": health.version,
        "service_commit": health.commit,
        "service_deployed_at": health.deployed_at,
    }


def trouble_of(exchange: Exchange, *, ok: bool | None) -> str | None:
    if exchange.is_success:
        return "not_ok" if ok is False else None
    if exchange.status == HTTPStatus.TOO_MANY_REQUESTS:
        return "throttled"
    if exchange.call.is_keyed and exchange.status == HTTPStatus.FORBIDDEN:
        return "key_refused"
    is_error = exchange.status is not None and not 200 <= exchange.status < 300  # noqa: PLR2004 - the class of statuses
    return f"http_{exchange.status}" if is_error else str(exchange.failure)


def usage_rows(usage: PartnerUsageResponse, asked_at: datetime) -> list[Row]:
    plan = usage.plan
    return [
        {
            "asked_at": asked_at,
            "day": day.date,
            "used": day.used,
            "remaining": day.remaining,
            "quota_limit": plan.quota_limit,
            "quota_period": plan.quota_period,
        }
        for day in usage.days
    ]
