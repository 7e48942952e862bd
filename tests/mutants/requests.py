"""Mutants that fail for a wrong request."""

from proofsweep_sandbox.answers import Answer, Refusal, json_answer
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

from .changes import change_status
from .definition import Mutant

_VERIFY = ("verify",)


def _has_odd_id(exchange: Exchange) -> bool:
    return "'" in exchange.path.get("proof_id", "")


def _has_odd_cursor(exchange: Exchange) -> bool:
    return "'" in exchange.request.query_params.get("cursor", "")


def _failing_for_a_list(serve: Serve) -> Serve:
    async def verify(service: Service, exchange: Exchange) -> Answer:
        if (await exchange.request.body()).startswith(b"["):
            return json_answer({"error": "a list has no members", "code": "internal"}, 500)
        return await serve(service, exchange)

    return verify


def _valid_without_audio(serve: Serve) -> Serve:
    async def verify(service: Service, exchange: Exchange) -> Answer:
        has_sidecar = service.options.sidecar_field.encode() in await exchange.request.body()
        try:
            return await serve(service, exchange)
        except Refusal as refusal:
            if has_sidecar and refusal.status == 422:
                return json_answer({"good": True, "verdict": "valid", "proofId": "prf_1", "song": "", "issuedAt": 1})
            raise

    return verify


MUTANTS = (
    Mutant(
        rule="endpoints-6-odd-ids-are-unknown",
        breaks="a quote in an id is a failure",
        on=("proof",),
        change_answer=change_status(404, 500, where=_has_odd_id),
    ),
    Mutant(
        rule="endpoints-5-odd-cursor-is-no-failure",
        breaks="a quote in a cursor is a failure",
        on=("proofs",),
        change_answer=change_status(400, 500, where=_has_odd_cursor),
    ),
    Mutant(
        rule="endpoints-11-malformed-body-is-refused",
        breaks="a list as the body is a failure",
        on=_VERIFY,
        wrap_serve=_failing_for_a_list,
    ),
    Mutant(
        rule="endpoints-11-unknown-upload-is-not-good",
        breaks="an empty slot with a sidecar is `valid`",
        on=_VERIFY,
        wrap_serve=_valid_without_audio,
    ),
    Mutant(
        rule="endpoints-11-unknown-upload-is-not-good",
        breaks="an unknown upload is answered with 200 and an error",
        on=_VERIFY,
        change_answer=change_status(404, 200),
    ),
    Mutant(
        rule="endpoints-11-unknown-upload-is-not-good",
        breaks="an unknown upload is a failure",
        on=_VERIFY,
        change_answer=change_status(404, 500),
    ),
    Mutant(
        rule="endpoints-11-unknown-upload-is-not-good",
        breaks="an empty slot is a failure",
        on=_VERIFY,
        change_answer=change_status(422, 500),
    ),
    Mutant(
        rule="endpoints-11-sidecar-is-base64",
        breaks="a sidecar that is no base64 is a failure",
        on=_VERIFY,
        change_answer=change_status(400, 500),
    ),
)
