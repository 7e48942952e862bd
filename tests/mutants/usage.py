"""Mutants of usage and of the quota headers."""

from .broken_parts import count_nothing
from .changes import change_success, replace_query_value, set_header, set_members
from .definition import Mutant

MUTANTS = (
    Mutant(
        rule="endpoints-4-usage-tells-the-quota",
        breaks="usage has no `X-RateLimit-Remaining`",
        on=("usage",),
        change_answer=set_header("x-ratelimit-remaining", None),
    ),
    Mutant(
        rule="resources-usage-fields",
        breaks="`quotaLimit` is a string",
        on=("usage",),
        change_answer=set_members(plan={"quotaLimit": "many", "quotaPeriod": "MONTH"}),
    ),
    Mutant(
        rule="endpoints-4-usage-tells-the-quota",
        breaks="`X-RateLimit-Limit` is the lane's rate",
        on=("usage",),
        change_answer=set_header("x-ratelimit-limit", "2000"),
    ),
    Mutant(
        rule="limits-reset-is-when-the-month-ends",
        breaks="`X-RateLimit-Reset` is a duration",
        on=("usage",),
        change_answer=set_header("x-ratelimit-reset", "86400"),
    ),
    Mutant(
        rule="limits-reset-is-when-the-month-ends",
        breaks="`X-RateLimit-Reset` is in milliseconds",
        on=("usage",),
        change_answer=set_header("x-ratelimit-reset", "1790000000000"),
    ),
    Mutant(
        rule="resources-usage-has-an-entry-for-each-day",
        breaks="one day is listed twice",
        on=("usage",),
        change_answer=change_success(lambda members: members["days"].append(members["days"][0])),
    ),
    Mutant(
        rule="resources-usage-fields",
        breaks="`used` is negative",
        on=("usage",),
        change_answer=change_success(lambda members: members["days"][0].update(used=-1)),
    ),
    Mutant(
        rule="resources-usage-has-an-entry-for-each-day",
        breaks="the default window is 7 days",
        on=("usage",),
        change_request=replace_query_value("days", None, "7"),
    ),
    Mutant(
        rule="resources-usage-has-an-entry-for-each-day",
        breaks="a window of 90 days is refused",
        on=("usage",),
        change_request=replace_query_value("days", "90", "91"),
    ),
    Mutant(
        rule="resources-usage-has-an-entry-for-each-day",
        breaks="a window of 1 day has two days",
        on=("usage",),
        change_request=replace_query_value("days", "1", "2"),
    ),
    Mutant(
        rule="limits-usage-window-out-of-bounds-is-400",
        breaks="a window of 91 days is accepted",
        on=("usage",),
        change_request=replace_query_value("days", "91", "90"),
    ),
    Mutant(
        rule="limits-usage-window-out-of-bounds-is-400",
        breaks="a window of 0 days is accepted",
        on=("usage",),
        change_request=replace_query_value("days", "0", "1"),
    ),
    Mutant(
        rule="limits-quota-counts-each-call-once",
        breaks="`X-RateLimit-Remaining` never changes",
        on=("usage",),
        change_answer=set_header("x-ratelimit-remaining", "1000"),
    ),
    Mutant(
        rule="limits-quota-counts-each-call-once",
        breaks="slots are not counted",
        on=("uploads",),
        replace_part=count_nothing,
    ),
)
