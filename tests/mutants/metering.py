"""Mutants of what usage counts, and of the quota headers."""

from datetime import date, timedelta

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

from .broken_registry import count_twice
from .changes import Members, change_success, set_header
from .definition import Mutant

_USAGE = ("usage",)
_MONTH_SECONDS = 30 * 86_400


def _used_days_only(members: Members) -> None:
    members["days"] = [day for day in members["days"] if day["used"]]


def _a_day_early(members: Members) -> None:
    for day in members["days"]:
        day["date"] = (date.fromisoformat(day["date"]) - timedelta(days=1)).isoformat()


def _more_remaining(members: Members) -> None:
    members["days"][-1]["remaining"] += 100


def _rolling_reset(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    reset = service.clock.second() + _MONTH_SECONDS
    return set_header("x-ratelimit-reset", str(reset))(service, exchange, answer)


MUTANTS = (
    Mutant(
        rule="resources-usage-has-an-entry-for-each-day",
        breaks="days without calls are left out",
        on=_USAGE,
        change_answer=change_success(_used_days_only),
    ),
    Mutant(
        rule="resources-usage-days-end-today",
        breaks="the latest day is yesterday",
        on=_USAGE,
        change_answer=change_success(_a_day_early),
    ),
    Mutant(
        rule="resources-usage-remaining-is-the-headers",
        breaks="`remaining` of today is another number than the header",
        on=_USAGE,
        change_answer=change_success(_more_remaining),
    ),
    Mutant(rule="limits-quota-counts-each-call-once", breaks="each call is counted twice", replace_part=count_twice),
    Mutant(
        rule="limits-quota-counts-each-call-once",
        breaks="a slot is counted twice",
        on=("uploads",),
        replace_part=count_twice,
    ),
    Mutant(
        rule="limits-quota-counts-each-call-once",
        breaks="a verification is counted twice",
        on=("verify",),
        replace_part=count_twice,
    ),
    Mutant(
        rule="limits-quota-counts-each-call-once",
        breaks="the record of a proof is counted twice",
        on=("proof",),
        replace_part=count_twice,
    ),
    Mutant(
        rule="limits-quota-counts-each-call-once",
        breaks="an interpretation is counted twice",
        on=("interpretation",),
        replace_part=count_twice,
    ),
    Mutant(
        rule="limits-reset-is-when-the-month-ends",
        breaks="`X-RateLimit-Reset` is always 30 days ahead",
        on=_USAGE,
        change_answer=_rolling_reset,
    ),
    Mutant(
        rule="endpoints-2-keys-tell-the-quota",
        breaks="the list of keys tells the lane's rate as the limit",
        on=("keys",),
        change_answer=set_header("x-ratelimit-limit", "2000"),
    ),
    Mutant(
        rule="resources-usage-remaining-is-the-headers",
        breaks="`X-RateLimit-Remaining` is more than the quota",
        on=_USAGE,
        change_answer=set_header("x-ratelimit-remaining", "99999999"),
    ),
)
