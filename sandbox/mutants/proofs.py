"""Mutants of a single proof: its record, asset, interpretation and erasure."""

import base64
import json
from collections.abc import Callable

from sandbox.answers import Answer
from sandbox.calls import Exchange
from sandbox.mutants.edits import Members, refused, restatus, retold, told, untold, with_request_header
from sandbox.mutants.mutant import Edit, Mutant
from sandbox.mutants.parts import nothing_forgotten, one_tenant, open_door
from sandbox.service import Service

_RETAINED = base64.b64encode(b"RIFF" + bytes(2_000)).decode()


def _with_sidecar(change: Callable[[str], str]) -> Edit:
    def edit(service: Service, exchange: Exchange, answer: Answer) -> Answer:
        field = service.options.sidecar_field
        return retold(lambda members: members.update({field: change(members[field])}))(service, exchange, answer)

    return edit


def _in_lines(sidecar: str) -> str:
    return base64.encodebytes(base64.b64decode(sidecar)).decode()


def _rewritten(sidecar: str) -> str:
    return base64.b64encode(json.dumps(json.loads(base64.b64decode(sidecar))).encode()).decode()


def _in_milliseconds(members: Members) -> None:
    members["erasedAt"] *= 1000


MUTANTS = (
    Mutant(
        rule="resources-proof-display-fields", breaks="the record has no `song`", on=("proof",), edit=untold("song")
    ),
    Mutant(
        rule="resources-proof-sidecar-is-base64",
        breaks="the base64 of a sidecar has line breaks",
        on=("proof",),
        edit=_with_sidecar(_in_lines),
    ),
    Mutant(
        rule="resources-proof-sidecar-is-as-issued",
        breaks="a sidecar is written anew",
        on=("proof",),
        edit=_with_sidecar(_rewritten),
    ),
    Mutant(
        rule="resources-proof-holds-no-audio",
        breaks="the retained audio is given away",
        on=("proof",),
        edit=told(retained={"audio": _RETAINED}),
    ),
    Mutant(
        rule="endpoints-6-unknown-proof-is-404",
        breaks="an unknown proof is 403",
        on=("proof",),
        edit=restatus(404, 403),
    ),
    Mutant(
        rule="endpoints-6-other-tenants-proof-is-404",
        breaks="anybody reads anybody's proof",
        on=("proof",),
        swap=one_tenant,
    ),
    Mutant(
        rule="endpoints-8-unknown-asset-is-404",
        breaks="the asset of an unknown proof is 400",
        on=("asset",),
        edit=restatus(404, 400),
    ),
    Mutant(
        rule="endpoints-8-other-tenants-asset-is-not-given",
        breaks="anybody gets anybody's audio",
        on=("asset",),
        swap=one_tenant,
    ),
    Mutant(
        rule="resources-asset-downloads-without-a-key",
        breaks="the asset's answer has no URL",
        on=("asset",),
        edit=untold("url"),
    ),
    Mutant(
        rule="resources-asset-downloads-without-a-key",
        breaks="the link is refused",
        on=("asset_download",),
        edit=refused(403),
    ),
    Mutant(
        rule="endpoints-9-unknown-interpretation-is-404",
        breaks="an unknown proof's note is `unavailable`",
        on=("interpretation",),
        edit=restatus(404, 200),
    ),
    Mutant(
        rule="endpoints-9-a-known-proof-has-an-interpretation",
        breaks="a note is 404",
        on=("interpretation",),
        edit=refused(404),
    ),
    Mutant(
        rule="resources-interpretation-fields",
        breaks="a note is `done`",
        on=("interpretation",),
        edit=told(status="done"),
    ),
    Mutant(
        rule="endpoints-9-the-id-alone-is-not-enough",
        breaks="a note needs no key",
        on=("interpretation",),
        ask=with_request_header("x-api-key", lambda key: key or "nobody"),
        swap=open_door,
    ),
    Mutant(
        rule="authentication-4-other-tenants-interpretation-is-not-given",
        breaks="anybody reads anybody's note",
        on=("interpretation",),
        swap=one_tenant,
    ),
    Mutant(
        rule="erase-unknown-proof-is-already-erased",
        breaks="erasing an unknown proof is 404",
        on=("erase",),
        edit=restatus(200, 404),
    ),
    Mutant(
        rule="erase-answer-fields",
        breaks="`erasedAt` is in milliseconds",
        on=("erase",),
        edit=retold(_in_milliseconds),
    ),
    Mutant(
        rule="erase-spares-other-tenants-proof",
        breaks="anybody erases anybody's proof",
        on=("erase",),
        swap=one_tenant,
    ),
    Mutant(rule="erase-erases", breaks="the outcome is `deleted`", on=("erase",), edit=told(outcome="deleted")),
    Mutant(
        rule="erase-removes-the-record",
        breaks="the record of an erased proof stays",
        on=("erase",),
        swap=nothing_forgotten,
    ),
    Mutant(
        rule="erase-again-is-already-erased",
        breaks="a repeat is told as the first erasure",
        on=("erase",),
        edit=told(outcome="erased"),
    ),
)
