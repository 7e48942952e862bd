"""Mutants of health, authentication and the inventory of keys."""

from sandbox.answers import Answer
from sandbox.calls import Exchange
from sandbox.mutants.edits import (
    Members,
    asking,
    instead,
    refused,
    restatus,
    retold,
    told,
    with_header,
    with_request_header,
)
from sandbox.mutants.mutant import Mutant
from sandbox.mutants.parts import forward_cursors, latest_unlisted, one_tenant, open_door
from sandbox.service import Service


def _with_secret(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    secret = exchange.caller.secret

    def tell(members: Members) -> None:
        for key in members["keys"]:
            key["secret"] = secret

    return retold(tell)(service, exchange, answer)


def _without_status(members: Members) -> None:
    for key in members["keys"]:
        del key["status"]


def _with_an_empty_last_page(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    listing = f"keys of {exchange.caller.tenant}"
    cursor = service.signatures.cursor(listing, [2**40])
    return retold(lambda members: members["keys"] and members.setdefault("nextCursor", cursor))(
        service, exchange, answer
    )


def _one_at_a_time(query: dict[str, str]) -> None:
    if not query:
        query["limit"] = "1"


MUTANTS = (
    Mutant(
        rule="endpoints-1-health-needs-no-key",
        breaks="health is told to nobody",
        on=("health",),
        edit=refused(403),
    ),
    Mutant(rule="resources-health-fields", breaks="`ok` is a word", on=("health",), edit=told(ok="yes")),
    Mutant(
        rule="resources-health-deployed-at-in-seconds",
        breaks="`deployedAt` is an ISO string",
        on=("health",),
        edit=told(deployedAt="2026-01-02T03:04:05Z"),
    ),
    Mutant(
        rule="resources-health-deployed-at-in-seconds",
        breaks="`deployedAt` is in milliseconds",
        on=("health",),
        edit=retold(lambda members: members.update(deployedAt=members["deployedAt"] * 1000)),
    ),
    Mutant(
        rule="authentication-1-key-is-taken",
        breaks="the key is looked for in another header",
        on=("usage",),
        ask=with_request_header("x-api-key", lambda _: None),
    ),
    Mutant(
        rule="authentication-2-every-operation-needs-a-key",
        breaks="proofs are listed without a key",
        on=("proofs",),
        ask=with_request_header("x-api-key", lambda key: key or "nobody"),
        swap=open_door,
    ),
    Mutant(rule="authentication-3-invalid-key-is-403", breaks="an invalid key is 401", edit=restatus(403, 401)),
    Mutant(
        rule="authentication-4-listing-is-the-tenants-own",
        breaks="everybody's proofs are listed",
        on=("proofs",),
        swap=one_tenant,
    ),
    Mutant(
        rule="authentication-6-other-environments-key-is-403",
        breaks="any key is taken",
        swap=open_door,
    ),
    Mutant(
        rule="resources-keys-record-fields", breaks="a key has no `status`", on=("keys",), edit=retold(_without_status)
    ),
    Mutant(rule="resources-keys-list-no-secret", breaks="secrets are listed", on=("keys",), edit=_with_secret),
    Mutant(
        rule="endpoints-2-full-inventory-without-paging",
        breaks="pages are bounded unasked",
        on=("keys",),
        ask=asking(_one_at_a_time),
    ),
    Mutant(
        rule="endpoints-2-cursor-goes-on",
        breaks="the cursor is passed over",
        on=("keys",),
        ask=asking(lambda query: query.pop("cursor", None)),
    ),
    Mutant(rule="endpoints-2-cursor-goes-on", breaks="the cursor skips a key", on=("keys",), swap=forward_cursors),
    Mutant(
        rule="resources-keys-next-cursor-only-while-more",
        breaks="`nextCursor` is null on the last page",
        on=("keys",),
        edit=retold(lambda members: members.setdefault("nextCursor", None)),
    ),
    Mutant(
        rule="resources-keys-next-cursor-only-while-more",
        breaks="the last `nextCursor` leads to an empty page",
        on=("keys",),
        edit=_with_an_empty_last_page,
    ),
    Mutant(
        rule="endpoints-2-limit-bounds-the-page",
        breaks="a page holds one key more",
        on=("keys",),
        ask=instead("limit", "1", "2"),
    ),
    Mutant(
        rule="limits-page-of-1-and-100-keys",
        breaks="a page of 100 is refused",
        on=("keys",),
        ask=instead("limit", "100", "101"),
    ),
    Mutant(
        rule="limits-page-of-keys-out-of-bounds-is-400",
        breaks="a limit of 0 is taken",
        on=("keys",),
        ask=instead("limit", "0", "1"),
    ),
    Mutant(
        rule="limits-page-of-keys-out-of-bounds-is-400",
        breaks="a limit of 101 is taken for 100",
        on=("keys",),
        ask=instead("limit", "101", "100"),
    ),
    Mutant(
        rule="endpoints-2-made-up-cursor",
        breaks="a made-up cursor is 404",
        on=("keys",),
        edit=restatus(400, 404, where=lambda exchange: "cursor" in exchange.request.query_params),
    ),
    Mutant(
        rule="endpoints-2-keys-tell-the-quota",
        breaks="keys are listed without `X-RateLimit-Reset`",
        on=("keys",),
        edit=with_header("x-ratelimit-reset", None),
    ),
    Mutant(
        rule="rotate-new-key-is-listed",
        breaks="a new key is not listed",
        on=("keys",),
        swap=latest_unlisted,
    ),
)
