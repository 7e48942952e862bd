"""Mutants of a single proof: its record, asset, interpretation and erasure."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

from .broken_parts import accept_any_key, ignore_tenants, keep_erased_proofs
from .broken_registry import erase_newest_too
from .changes import (
    Members,
    answer_error,
    change_request_header,
    change_status,
    change_success,
    set_members,
    with_verdict,
    without_members,
)
from .definition import AnswerChange, Mutant

_RETAINED = base64.b64encode(b"RIFF" + bytes(2_000)).decode()


def _with_sidecar(change: Callable[[str], str]) -> AnswerChange:
    def change_answer(service: Service, exchange: Exchange, answer: Answer) -> Answer:
        field = service.options.sidecar_field
        return change_success(lambda members: members.update({field: change(members[field])}))(
            service, exchange, answer
        )

    return change_answer


def _in_lines(sidecar: str) -> str:
    return base64.encodebytes(base64.b64decode(sidecar)).decode()


def _rewritten(sidecar: str) -> str:
    return base64.b64encode(json.dumps(json.loads(base64.b64decode(sidecar))).encode()).decode()


def _pending_not_found(_service: Service, _exchange: Exchange, answer: Answer) -> Answer:
    return replace(answer, status=404) if b'"pending"' in answer.body else answer


def _without_time_of_repeats(members: Members) -> None:
    if members["outcome"] == "already_erased":
        members["erasedAt"] = None


def _in_milliseconds(members: Members) -> None:
    members["erasedAt"] *= 1000


MUTANTS = (
    Mutant(
        rule="resources-proof-display-fields",
        breaks="the record has no `song`",
        on=("proof",),
        change_answer=without_members("song"),
    ),
    Mutant(
        rule="resources-proof-agrees-with-the-list",
        breaks="the record has another `song` than the list",
        on=("proof",),
        change_answer=set_members(song="Untitled track"),
    ),
    Mutant(
        rule="resources-proof-sidecar-is-base64",
        breaks="the base64 of a sidecar has line breaks",
        on=("proof",),
        change_answer=_with_sidecar(_in_lines),
    ),
    Mutant(
        rule="resources-proof-sidecar-is-as-issued",
        breaks="the JSON of the sidecar is reformatted",
        on=("proof",),
        change_answer=_with_sidecar(_rewritten),
    ),
    Mutant(
        rule="resources-proof-holds-no-audio",
        breaks="the record contains the audio",
        on=("proof",),
        change_answer=set_members(retained={"audio": _RETAINED}),
    ),
    Mutant(
        rule="endpoints-6-unknown-proof-is-404",
        breaks="an unknown proof is answered with 403",
        on=("proof",),
        change_answer=change_status(404, 403),
    ),
    Mutant(
        rule="endpoints-6-other-tenants-proof-is-404",
        breaks="every tenant can read every proof",
        on=("proof",),
        replace_part=ignore_tenants,
    ),
    Mutant(
        rule="endpoints-6-unknown-proof-is-404",
        breaks="the asset of an unknown proof is answered with 400",
        on=("asset",),
        change_answer=change_status(404, 400),
    ),
    Mutant(
        rule="endpoints-6-other-tenants-proof-is-404",
        breaks="every tenant can download every asset",
        on=("asset",),
        replace_part=ignore_tenants,
    ),
    Mutant(
        rule="resources-asset-verifies",
        breaks="the asset's answer has no URL",
        on=("asset",),
        change_answer=without_members("url"),
    ),
    Mutant(
        rule="resources-asset-verifies",
        breaks="the link is refused",
        on=("asset_download",),
        change_answer=answer_error(403),
    ),
    Mutant(
        rule="endpoints-6-unknown-proof-is-404",
        breaks="the interpretation of an unknown proof is answered with 200",
        on=("interpretation",),
        change_answer=change_status(404, 200),
    ),
    Mutant(
        rule="endpoints-9-a-pending-proof-has-an-interpretation",
        breaks="a pending interpretation is answered with 404",
        on=("interpretation",),
        change_answer=_pending_not_found,
    ),
    Mutant(
        rule="endpoints-9-a-pending-proof-has-an-interpretation",
        breaks="`retryAfterSeconds` is in milliseconds",
        on=("interpretation",),
        change_answer=set_members(retryAfterSeconds=2000),
    ),
    Mutant(
        rule="resources-interpretation-fields",
        breaks="every interpretation is answered with 404",
        on=("interpretation",),
        change_answer=answer_error(404),
    ),
    Mutant(
        rule="resources-interpretation-fields",
        breaks="a ready interpretation has no `text`",
        on=("interpretation",),
        change_answer=without_members("text"),
    ),
    Mutant(
        rule="resources-interpretation-fields",
        breaks="the status of an interpretation is `done`",
        on=("interpretation",),
        change_answer=set_members(status="done"),
    ),
    Mutant(
        rule="authentication-2-every-operation-needs-a-key",
        breaks="an interpretation needs no key",
        on=("interpretation",),
        change_request=change_request_header("x-api-key", lambda key: key or "nobody"),
        replace_part=accept_any_key,
    ),
    Mutant(
        rule="endpoints-6-other-tenants-proof-is-404",
        breaks="every tenant can read every interpretation",
        on=("interpretation",),
        replace_part=ignore_tenants,
    ),
    Mutant(
        rule="erase-unknown-proof-is-already-erased",
        breaks="the erasure of an unknown proof is answered with 404",
        on=("erase",),
        change_answer=change_status(200, 404),
    ),
    Mutant(
        rule="erase-erases-once",
        breaks="`erasedAt` is in milliseconds",
        on=("erase",),
        change_answer=change_success(_in_milliseconds),
    ),
    Mutant(
        rule="erase-of-nothing-changes-nothing",
        breaks="every tenant can erase every proof",
        on=("erase",),
        replace_part=ignore_tenants,
    ),
    Mutant(
        rule="erase-erases-once",
        breaks="the outcome is `deleted`",
        on=("erase",),
        change_answer=set_members(outcome="deleted"),
    ),
    Mutant(
        rule="erase-erases-once",
        breaks="`erasedAt` of a repeat is null",
        on=("erase",),
        change_answer=change_success(_without_time_of_repeats),
    ),
    Mutant(
        rule="erase-changes-that-proof-alone",
        breaks="the newest proof is erased too",
        on=("erase",),
        replace_part=erase_newest_too,
    ),
    Mutant(
        rule="erase-removes-the-proof",
        breaks="an erased proof has an interpretation",
        on=("interpretation",),
        change_answer=change_status(404, 200),
    ),
    Mutant(
        rule="erase-makes-the-file-unregistered",
        breaks="the file of an erased proof is `valid`",
        on=("verify",),
        change_answer=with_verdict("unregistered", "valid"),
    ),
    Mutant(
        rule="erase-removes-the-proof",
        breaks="the record of an erased proof remains",
        on=("erase",),
        replace_part=keep_erased_proofs,
    ),
    Mutant(
        rule="erase-erases-once",
        breaks="the outcome of a repeat is `erased`",
        on=("erase",),
        change_answer=set_members(outcome="erased"),
    ),
)
