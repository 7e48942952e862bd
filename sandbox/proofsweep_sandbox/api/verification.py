"""The two calls of the core flow: POST /uploads mints a presigned form, POST /verify examines what it stored."""

import asyncio
import base64
import binascii

from proofsweep_sandbox.answers import Answer, Refusal, decoded, json_answer, malformed, not_found
from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.registry.slots import Slot
from proofsweep_sandbox.routing import Endpoint, Exchange
from proofsweep_sandbox.seals.identity import Condition, Finding
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage import new_slot
from proofsweep_sandbox.verdicts import classification_of, grade_of, interpretation_of, verdict_of

_KEPT_SECONDS = 3600


async def mint(service: Service, exchange: Exchange) -> Answer:
    """Return a slot for verification, also if no purpose is given."""
    if exchange.request.query_params.get("purpose", "verify") != "verify":
        raise malformed("verify is the only known purpose")
    # Old uploads go, or they would fill the disk.
    oldest_kept = service.clock.now() - _KEPT_SECONDS
    for token in service.slots.forget_older(oldest_kept):
        audio = service.folder("uploads") / token
        audio.unlink(missing_ok=True)
    slot = new_slot(service, exchange.request, exchange.caller.tenant)
    return json_answer({"uploadId": slot.upload_id, "url": slot.url, "fields": slot.fields})


async def verify(service: Service, exchange: Exchange) -> Answer:
    """Return the verdict on the uploaded audio; this changes nothing and can be repeated."""
    try:
        body = decoded(await exchange.request.body())
    except ValueError as error:
        raise malformed("the body is not JSON") from error
    if not isinstance(body, dict):
        raise malformed("the body is not a JSON object")
    sidecar = _sidecar(service, body)
    upload_id = body.get("uploadId")
    if not isinstance(upload_id, str) or not upload_id:
        raise malformed("uploadId is a string and required")
    slot = _filled_slot(service, exchange, upload_id)
    if sidecar is None:
        audio = service.folder("uploads") / slot.token
        finding = await asyncio.to_thread(service.one_file.examine, audio)
    else:
        finding = service.sidecars.examine(sidecar, slot.sha256 or "")
    members = _members(service, finding)
    if sidecar is None and finding.condition is not Condition.UNREADABLE:
        # Contract, What the service does: `publiclyTrusted` stays false.
        members["embeddedCredential"] = {"format": "c2pa", "publiclyTrusted": False}
    return json_answer(members)


def _sidecar(service: Service, body: dict[str, object]) -> bytes | None:
    field = service.options.sidecar_field
    if field not in body:  # a member with any other name is ignored
        return None
    encoded = body[field]
    if not isinstance(encoded, str):
        encoded = "no base64"
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise malformed(f"{field} is not standard base64") from error


def _filled_slot(service: Service, exchange: Exchange, upload_id: str) -> Slot:
    slot = service.slots.by_upload(exchange.caller.tenant, upload_id)
    if slot is None:
        raise not_found("there is no such upload")
    # The time of a slot is one for the upload: what is stored can be verified after it too.
    if slot.sha256 is not None:
        return slot
    if service.clock.now() >= slot.expires_at:
        raise not_found("this upload has expired")
    raise Refusal(422, "unprocessable", "no audio has been uploaded to this slot")


def _members(service: Service, finding: Finding) -> dict[str, object]:
    registered, was_erased = None, False
    identity = finding.identity
    if identity is not None:
        registered = service.proofs.find(identity.proof_id)
        was_erased = service.proofs.erased_at(identity.proof_id) is not None
    verdict = verdict_of(finding, registered, was_erased=was_erased)
    is_good = verdict == "valid"
    members: dict[str, object] = {"good": is_good, "verdict": verdict}
    if is_good and registered is not None:
        members |= _record(service, registered)
    elif identity is not None and verdict != "tampered":
        # An intact seal helps to find the matching pair.
        members["proofId"] = identity.proof_id
        members["song"] = identity.song
    return members


def _record(service: Service, proof: Proof) -> dict[str, object]:
    """Return what a valid answer quotes from the registry, with the report-only members."""
    note = interpretation_of(proof, service.clock.now())
    return {
        "proofId": proof.proof_id,
        "song": proof.song,
        "issuedAt": proof.issued_at,
        "classification": classification_of(proof),
        "grade": grade_of(proof),
        "interpretation": note,
    }


ENDPOINTS = (
    Endpoint("uploads", "POST", "/v1/uploads", mint),
    Endpoint("verify", "POST", "/v1/verify", verify),
)
