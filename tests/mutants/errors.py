"""Mutants of errors, and of the rules for every response."""

from secrets import token_hex

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

from .changes import Members, change_error, change_status, set_header
from .definition import Mutant

# Contract, Errors 5: the status of a throttled call.
_THROTTLED = 429


def _without_api_error(members: Members) -> None:
    members.clear()
    members["message"] = "Forbidden"


def _in_milliseconds(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    seconds = answer.headers.get("retry-after")
    return answer if seconds is None else set_header("retry-after", f"{seconds}000")(service, exchange, answer)


MUTANTS = (
    Mutant(
        rule="errors-1-every-error-is-an-api-error",
        breaks="the 404 of an unknown proof has no `code`",
        on=("proof",),
        change_answer=change_error(lambda members: members.pop("code")),
    ),
    Mutant(
        rule="errors-1-every-error-is-an-api-error",
        breaks="the body of a 403 is no ApiError",
        change_answer=change_error(_without_api_error, 403),
    ),
    Mutant(
        rule="errors-1-every-error-is-an-api-error",
        breaks="`error` is an object",
        change_answer=change_error(lambda members: members.update(error={"text": members["error"]})),
    ),
    Mutant(
        rule="resources-api-error-code-is-stable",
        breaks="`code` differs each time",
        change_answer=change_error(lambda members: members.update(code=f"e_{token_hex(4)}")),
    ),
    Mutant(
        rule="errors-5-429s-that-were-met",
        breaks="a 429 has no `Retry-After`",
        change_answer=set_header("retry-after", None, status=_THROTTLED),
    ),
    Mutant(
        rule="errors-5-a-429-tells-what-to-do",
        breaks="the code of a 429 is `throttled`",
        change_answer=change_error(lambda members: members.update(code="throttled"), _THROTTLED),
    ),
    Mutant(
        rule="errors-5-a-429-tells-what-to-do",
        breaks="a 429 has no `Retry-After`",
        change_answer=set_header("retry-after", None, status=_THROTTLED),
    ),
    Mutant(
        rule="errors-5-a-429-tells-what-to-do",
        breaks="`Retry-After` is a date",
        change_answer=set_header("retry-after", "Sat, 01 May 2027 00:00:00 GMT", status=_THROTTLED),
    ),
    Mutant(
        rule="errors-5-retry-after-is-in-seconds",
        breaks="`Retry-After` is in milliseconds",
        change_answer=_in_milliseconds,
    ),
    Mutant(
        rule="errors-5-a-429-tells-what-to-do",
        breaks="a 429 has no `X-RateLimit-Limit`",
        change_answer=set_header("x-ratelimit-limit", None, status=_THROTTLED),
    ),
    Mutant(
        rule="errors-7-request-id-on-every-response",
        breaks="an error has no `X-Request-Id`",
        change_answer=set_header("x-request-id", None, status=403),
    ),
    Mutant(
        rule="errors-7-request-ids-differ",
        breaks="the list of keys has the same request ID each time",
        on=("keys",),
        change_answer=set_header("x-request-id", "00000000-0000-4000-8000-000000000000"),
    ),
    Mutant(
        rule="errors-2-code-is-a-slug",
        breaks="`code` is a sentence",
        change_answer=change_error(lambda members: members.update(code=members["error"])),
    ),
    Mutant(
        rule="errors-5-retry-after-is-enough",
        breaks="`Retry-After` is always 0",
        change_answer=set_header("retry-after", "0", status=_THROTTLED),
    ),
    Mutant(
        rule="errors-7-request-id-on-every-response",
        breaks="`x-amzn-requestid` is another id",
        change_answer=set_header("x-amzn-requestid", "00000000-0000-4000-8000-000000000000"),
    ),
    Mutant(
        rule="endpoints-all-return-json",
        breaks="health has the content type `text/plain`",
        on=("health",),
        change_answer=set_header("content-type", "text/plain"),
    ),
    Mutant(
        rule="endpoints-answer-with-documented-statuses",
        breaks="a new slot is answered with 201",
        on=("uploads",),
        change_answer=change_status(200, 201),
    ),
)
