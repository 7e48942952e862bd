"""POST /verify: examine a one-file credential or a legacy pair, then look it up in the registry."""

import asyncio
import base64
import binascii

from proofsweep_sandbox.answers import Answer, Refusal, json_answer, malformed
from proofsweep_sandbox.api.reports import report_of
from proofsweep_sandbox.decoding import decoded
from proofsweep_sandbox.later_release import newer_verdict
from proofsweep_sandbox.registry.slots import Slot
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.seals.identity import Condition, Finding
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.verdicts import verdict_of

# Chosen: the largest JSON body. It is held in memory. A sidecar has some hundred bytes.
_MAX_BODY_BYTES = 10 * 1024 * 1024


async def verify(service: Service, exchange: Exchange) -> Answer:
    """Return the verdict on the uploaded audio; this changes nothing and can be repeated."""
    body = await _json_body(exchange)
    upload_id, sidecar = _upload_id(body), _sidecar(service, body)
    slot = _filled_slot(service, exchange, upload_id)
    if sidecar is None:
        audio = service.folder("uploads") / slot.token
        finding = await asyncio.to_thread(service.one_file.examine, audio)
    else:
        finding = service.sidecars.examine(sidecar, slot.sha256 or "")
    return json_answer(_members(service, finding, is_one_file=sidecar is None))


async def _json_body(exchange: Exchange) -> dict[str, object]:
    chunks, size_bytes = [], 0
    async for chunk in exchange.request.stream():
        size_bytes += len(chunk)
        if size_bytes > _MAX_BODY_BYTES:
            raise Refusal(413, "invalid_request", f"a body has at most {_MAX_BODY_BYTES} bytes")
        chunks.append(chunk)
    try:
        body = decoded(b"".join(chunks))
    except ValueError as error:
        raise malformed("the body is not JSON") from error
    if not isinstance(body, dict):
        raise malformed("the body is not a JSON object")
    return body


def _upload_id(body: dict[str, object]) -> str:
    match body.get("uploadId"):
        case str(upload_id) if upload_id:
            return upload_id
        case _:
            raise malformed("uploadId is a string and required")


def _sidecar(service: Service, body: dict[str, object]) -> bytes | None:
    """Return the decoded sidecar; a member with any other name is ignored."""
    field = service.options.sidecar_field
    if field not in body:
        return None
    match body[field]:
        case str(encoded):
            try:
                return base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError) as error:
                raise Refusal(*service.unspecified.bad_sidecar, f"{field} is not standard base64") from error
        case _:
            raise Refusal(*service.unspecified.bad_sidecar, f"{field} is a base64 string")


def _filled_slot(service: Service, exchange: Exchange, upload_id: str) -> Slot:
    slot = service.slots.by_upload(exchange.caller.tenant, upload_id)
    if slot is None:
        raise Refusal(*service.unspecified.unknown_upload, "there is no such upload")
    if slot.sha256 is not None:
        return slot
    if service.clock.now() >= slot.expires_at:
        raise Refusal(*service.unspecified.unknown_upload, "this upload has expired")
    raise Refusal(*service.unspecified.unfilled_upload, "no audio has been uploaded to this slot")


def _members(service: Service, finding: Finding, *, is_one_file: bool) -> dict[str, object]:
    registered, was_erased = None, False
    if finding.identity is not None:
        proof_id = finding.identity.proof_id
        registered = service.proofs.find(proof_id)
        was_erased = service.proofs.erased_at(proof_id) is not None
    verdict = verdict_of(finding, registered, was_erased=was_erased)
    good = verdict == "valid"
    if service.is_later_release:
        good, verdict = newer_verdict(verdict, registered, was_erased=was_erased)
    members: dict[str, object] = {"good": good, "verdict": verdict}
    if good and registered is not None:
        record = {"proofId": registered.proof_id, "song": registered.song, "issuedAt": registered.issued_at}
        members |= record | report_of(service, registered)
    else:
        members |= _quoted(service, finding if verdict != "tampered" else None)
    if is_one_file and finding.condition is not Condition.UNREADABLE:
        members |= _embedded(service)
    return members


def _quoted(service: Service, finding: Finding | None) -> dict[str, object]:
    """Quote an intact seal, which helps to find the matching pair; an altered seal is not quoted."""
    match service.unspecified.rejected_quotes:
        case "seal" if finding is not None and finding.identity is not None:
            return {"proofId": finding.identity.proof_id, "song": finding.identity.song}
        case "empty":
            return {"proofId": "", "song": "", "issuedAt": 0}
        case _:
            return {}


def _embedded(service: Service) -> dict[str, object]:
    """Return `embeddedCredential`; `publiclyTrusted` stays false (contract, What the service does)."""
    shapes: dict[str, dict[str, object]] = {
        "format": {"format": "c2pa", "publiclyTrusted": False},
        "bare": {"publiclyTrusted": False},
        "nested": {"publiclyTrusted": False, "chain": [{"subject": None}], "validation": {"codes": []}},
    }
    shape = shapes.get(service.unspecified.embedded_credential)
    return {} if shape is None else {"embeddedCredential": shape}
