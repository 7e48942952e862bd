"""Mutants of health, authentication and the list of keys."""

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

from .broken_parts import accept_any_key, hide_newest_key, ignore_tenants, skip_one_entry
from .changes import (
    Members,
    answer_error,
    change_query,
    change_request_header,
    change_status,
    change_success,
    replace_query_value,
    set_header,
    set_members,
)
from .definition import Mutant


def _with_secret(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    secret = exchange.caller.secret

    def add_secret(members: Members) -> None:
        for key in members["keys"]:
            key["secret"] = secret

    return change_success(add_secret)(service, exchange, answer)


def _deployed_now(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    return set_members(deployedAt=service.clock.second())(service, exchange, answer)


def _without_status(members: Members) -> None:
    for key in members["keys"]:
        del key["status"]


def _with_an_empty_last_page(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    listing = f"keys of {exchange.caller.tenant}"
    cursor = service.signatures.cursor(listing, [2**40])
    return change_success(lambda members: members["keys"] and members.setdefault("nextCursor", cursor))(
        service, exchange, answer
    )


def _one_at_a_time(query: dict[str, str]) -> None:
    if not query:
        query["limit"] = "1"


MUTANTS = (
    Mutant(
        rule="endpoints-1-health-needs-no-key",
        breaks="health is refused",
        on=("health",),
        change_answer=answer_error(403),
    ),
    Mutant(
        rule="resources-health-fields", breaks="`ok` is a string", on=("health",), change_answer=set_members(ok="yes")
    ),
    Mutant(
        rule="resources-health-fields",
        breaks="`deployedAt` is an ISO string",
        on=("health",),
        change_answer=set_members(deployedAt="2026-01-02T03:04:05Z"),
    ),
    Mutant(
        rule="resources-health-fields",
        breaks="`deployedAt` is in milliseconds",
        on=("health",),
        change_answer=change_success(lambda members: members.update(deployedAt=members["deployedAt"] * 1000)),
    ),
    Mutant(
        rule="resources-health-deployed-at-is-past",
        breaks="`deployedAt` is the time of the call",
        on=("health",),
        change_answer=_deployed_now,
    ),
    Mutant(
        rule="authentication-1-key-is-taken",
        breaks="the header `x-api-key` is ignored",
        on=("usage",),
        change_request=change_request_header("x-api-key", lambda _: None),
    ),
    Mutant(
        rule="authentication-2-every-operation-needs-a-key",
        breaks="proofs are listed without a key",
        on=("proofs",),
        change_request=change_request_header("x-api-key", lambda key: key or "nobody"),
        replace_part=accept_any_key,
    ),
    Mutant(
        rule="authentication-3-invalid-key-is-refused-everywhere",
        breaks="an invalid key is answered with 401",
        change_answer=change_status(403, 401),
    ),
    Mutant(
        rule="authentication-4-lists-are-the-tenants-own",
        breaks="the proofs of all tenants are listed",
        on=("proofs",),
        replace_part=ignore_tenants,
    ),
    Mutant(
        rule="authentication-6-other-environments-key-is-403",
        breaks="every key is accepted",
        replace_part=accept_any_key,
    ),
    Mutant(
        rule="resources-keys-record-fields",
        breaks="a key has no `status`",
        on=("keys",),
        change_answer=change_success(_without_status),
    ),
    Mutant(rule="resources-keys-list-no-secret", breaks="secrets are listed", on=("keys",), change_answer=_with_secret),
    Mutant(
        rule="endpoints-2-full-inventory-without-paging",
        breaks="a list without a limit has one key per page",
        on=("keys",),
        change_request=change_query(_one_at_a_time),
    ),
    Mutant(
        rule="endpoints-2-pages-of-any-size-agree",
        breaks="the cursor is ignored",
        on=("keys",),
        change_request=change_query(lambda query: query.pop("cursor", None)),
    ),
    Mutant(
        rule="endpoints-2-pages-of-any-size-agree",
        breaks="the cursor skips a key",
        on=("keys",),
        replace_part=skip_one_entry,
    ),
    Mutant(
        rule="resources-keys-next-cursor-only-while-more",
        breaks="`nextCursor` is null on the last page",
        on=("keys",),
        change_answer=change_success(lambda members: members.setdefault("nextCursor", None)),
    ),
    Mutant(
        rule="resources-keys-next-cursor-only-while-more",
        breaks="the last page is empty",
        on=("keys",),
        change_answer=_with_an_empty_last_page,
    ),
    Mutant(
        rule="endpoints-2-pages-of-any-size-agree",
        breaks="a page has one key more",
        on=("keys",),
        change_request=replace_query_value("limit", "1", "2"),
    ),
    Mutant(
        rule="endpoints-2-pages-of-any-size-agree",
        breaks="a page of 100 is refused",
        on=("keys",),
        change_request=replace_query_value("limit", "100", "101"),
    ),
    Mutant(
        rule="endpoints-2-limit-out-of-bounds-is-400",
        breaks="a limit of 0 is accepted",
        on=("keys",),
        change_request=replace_query_value("limit", "0", "1"),
    ),
    Mutant(
        rule="endpoints-2-limit-out-of-bounds-is-400",
        breaks="a limit of 101 is accepted",
        on=("keys",),
        change_request=replace_query_value("limit", "101", "100"),
    ),
    Mutant(
        rule="endpoints-2-odd-cursor-is-no-failure",
        breaks="an unknown cursor is answered with 404",
        on=("keys",),
        change_answer=change_status(400, 404, where=lambda exchange: "cursor" in exchange.request.query_params),
    ),
    Mutant(
        rule="endpoints-2-keys-tell-the-quota",
        breaks="the list of keys has no `X-RateLimit-Reset`",
        on=("keys",),
        change_answer=set_header("x-ratelimit-reset", None),
    ),
    Mutant(
        rule="rotate-changes-one-key-alone",
        breaks="a new key is not listed",
        on=("keys",),
        replace_part=hide_newest_key,
    ),
)
