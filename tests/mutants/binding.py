"""Mutants of the binding to the exact audio bytes."""

import json

from starlette.requests import Request
from starlette.types import Message

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.decoding import decoded
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

from .broken_seals import accept_any_audio, ignore_both_ends, ignore_the_format, ignore_the_tail
from .changes import with_verdict
from .definition import Mutant

_VERIFY = ("verify",)
_bodies: dict[str, bytes] = {}


def _one_file_first(serve: Serve) -> Serve:
    """Verify the audio alone if it has a credential of its own."""

    async def verify(service: Service, exchange: Exchange) -> Answer:
        match decoded(await exchange.request.body()):
            case {"uploadId": str(upload_id)}:
                slot = service.slots.by_upload(exchange.caller.tenant, upload_id)
                if slot is not None and b"c2pa" in (service.folder("uploads") / slot.token).read_bytes():
                    alone = json.dumps({"uploadId": upload_id}).encode()
                    exchange.request = _with_body(exchange.request, alone)
        return await serve(service, exchange)

    return verify


def _remembering(serve: Serve) -> Serve:
    """Verify with the last sidecar that was sent for an upload."""

    async def verify(service: Service, exchange: Exchange) -> Answer:
        body = await exchange.request.body()
        match decoded(body):
            case {"uploadId": str(upload_id), **others}:
                _bodies.update({upload_id: body} if others else {})
                exchange.request = _with_body(exchange.request, _bodies.get(upload_id, body))
        return await serve(service, exchange)

    return verify


def _with_body(request: Request, body: bytes) -> Request:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)


def _altered(_service: Service, _exchange: Exchange, answer: Answer) -> Answer:
    """Send the artifact with another last byte."""
    if answer.file is None:
        return answer
    audio = answer.file.read_bytes()
    return Answer(status=answer.status, body=audio[:-1] + bytes([audio[-1] ^ 1]), headers=answer.headers)


MUTANTS = (
    Mutant(
        rule="verdicts-first-and-last-sample-of-a-one-file",
        breaks="the first and the last sample are not bound",
        on=_VERIFY,
        replace_part=ignore_both_ends,
    ),
    Mutant(
        rule="verdicts-bytes-around-the-samples-of-a-one-file",
        breaks="the WAV's format is not bound",
        on=_VERIFY,
        replace_part=ignore_the_format,
    ),
    Mutant(
        rule="verdicts-bytes-around-the-samples-of-a-one-file",
        breaks="bytes after the end of the RIFF are ignored",
        on=_VERIFY,
        replace_part=ignore_the_tail,
    ),
    *(
        Mutant(rule=rule, breaks="the audio of a pair is not compared", on=_VERIFY, replace_part=accept_any_audio)
        for rule in (
            "verdicts-first-and-last-sample-of-a-pair",
            "verdicts-bytes-around-the-samples-of-a-pair",
            "verdicts-first-and-last-sample-of-a-pair",
        )
    ),
    Mutant(
        rule="endpoints-11-sidecar-chooses-the-pair",
        breaks="a sidecar is ignored if the audio has a credential",
        on=_VERIFY,
        wrap_serve=_one_file_first,
    ),
    Mutant(
        rule="endpoints-11-sidecar-is-not-remembered",
        breaks="a sidecar is remembered for its upload",
        on=_VERIFY,
        wrap_serve=_remembering,
    ),
    Mutant(
        rule="verdicts-unregistered-pair",
        breaks="a pair of an unknown signer is `valid`",
        on=_VERIFY,
        change_answer=with_verdict("unregistered", "valid"),
    ),
    Mutant(
        rule="endpoints-11-sidecar-is-not-remembered",
        breaks="the audio of a pair is `valid` without its sidecar",
        on=_VERIFY,
        change_answer=with_verdict("unreadable", "valid"),
    ),
    Mutant(
        rule="verdicts-sidecar-without-a-proof",
        breaks="a sidecar that cannot be read is `valid`",
        on=_VERIFY,
        change_answer=with_verdict("unreadable", "valid"),
    ),
    Mutant(
        rule="resources-asset-verifies",
        breaks="the link returns other audio than was issued",
        on=("asset_download",),
        change_answer=_altered,
    ),
)
