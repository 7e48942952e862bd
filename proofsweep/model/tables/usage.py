"""The view `usage`: what GET /partner/usage says of a UTC day, each time that it was asked."""

from datetime import datetime

from proofsweep.contract.models import PartnerUsageResponse
from proofsweep.model.tables.columns import INT, REAL, TEXT, TIME, Column, Row

COLUMNS = (
    Column("operation_id", TEXT, "the pass of monitoring", nullable=False),
    Column("environment", TEXT, "label of the service's environment", nullable=False),
    Column("asked_at", TIME, "when the request began", nullable=False),
    Column("day", TEXT, "the day's label as received; days are in UTC"),
    Column("used", INT, "calls of that day, as the service counts them"),
    Column("remaining", INT, "calls left, as the entry of the day says it; X-RateLimit-Remaining is in `probes`"),
    Column("quota_limit", REAL, "quota of the plan"),
    Column("quota_period", TEXT, "period of the quota, as received"),
)


def usage_rows(usage: PartnerUsageResponse, asked_at: datetime) -> list[Row]:
    """Make a row for each day of an answer."""
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
