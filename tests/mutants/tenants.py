"""Mutants of tenants, and of what invalid, rotated and expired keys may do."""

from starlette.requests import Request

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

from .broken_keys import (
    accept_a_beginning,
    end_grace_early,
    ignore_capitals,
    list_keys_of_all,
    never_end_grace,
)
from .broken_parts import accept_any_key, both, ignore_tenants, refuse_old_key
from .broken_registry import share_cursors, share_uploads
from .changes import change_error, change_request_header
from .definition import Mutant

_USAGE = ("usage",)


def _key_from_query(request: Request) -> Request:
    given = [value for name, value in request.query_params.items() if "key" in name.lower()]
    return change_request_header("x-api-key", lambda key: key or (given[0] if given else None))(request)


def _quoting_the_key(service: Service, exchange: Exchange, answer: Answer) -> Answer:
    key = exchange.request.headers.get("x-api-key")
    quote = change_error(lambda members: members.update(error=f"{members['error']} (key {key})"))
    return quote(service, exchange, answer)


MUTANTS = (
    Mutant(
        rule="authentication-1-key-in-the-url-is-refused",
        breaks="the key may be in the query",
        on=_USAGE,
        change_request=_key_from_query,
    ),
    Mutant(
        rule="authentication-1-no-answer-holds-a-key",
        breaks="an error repeats the key",
        on=("keys",),
        change_answer=_quoting_the_key,
    ),
    Mutant(
        rule="authentication-3-almost-the-key-is-403",
        breaks="an empty key is the first tenant's",
        on=_USAGE,
        change_request=change_request_header("x-api-key", lambda key: "nobody" if key == "" else key),
        replace_part=accept_any_key,
    ),
    Mutant(
        rule="authentication-2-every-operation-needs-a-key",
        breaks="a proof is read without a key",
        on=("proof",),
        change_request=change_request_header("x-api-key", lambda key: key or "nobody"),
        replace_part=accept_any_key,
    ),
    Mutant(
        rule="authentication-3-almost-the-key-is-403",
        breaks="capitals of a key do not matter",
        on=_USAGE,
        replace_part=ignore_capitals,
    ),
    Mutant(
        rule="authentication-3-almost-the-key-is-403",
        breaks="the first 20 characters of a key are enough",
        on=_USAGE,
        replace_part=accept_a_beginning,
    ),
    Mutant(
        rule="authentication-3-invalid-key-is-refused-everywhere",
        breaks="slots are given to every key",
        on=("uploads",),
        replace_part=accept_any_key,
    ),
    Mutant(
        rule="authentication-5-rotated-key-keeps-working",
        breaks="a rotated key may list no proofs",
        on=("proofs",),
        replace_part=refuse_old_key,
    ),
    Mutant(
        rule="authentication-5-rotated-key-keeps-working",
        breaks="the grace window ends after 24 hours",
        replace_part=end_grace_early,
    ),
    Mutant(
        rule="authentication-5-expired-key-is-403",
        breaks="the grace window never ends",
        replace_part=never_end_grace,
    ),
    Mutant(
        rule="authentication-4-lists-are-the-tenants-own",
        breaks="the keys of all tenants are listed",
        on=("keys",),
        replace_part=list_keys_of_all,
    ),
    Mutant(
        rule="authentication-4-lists-are-the-tenants-own",
        breaks="a cursor opens its list to every tenant",
        on=("proofs",),
        replace_part=both(share_cursors, ignore_tenants),
    ),
    Mutant(
        rule="authentication-4-upload-is-the-tenants-own",
        breaks="every tenant can verify every upload",
        on=("verify",),
        replace_part=share_uploads,
    ),
)
