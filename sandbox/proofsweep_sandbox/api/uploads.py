"""POST /uploads: a new presigned form on every call."""

import base64
import json
import secrets
from datetime import UTC, datetime
from uuid import uuid4

from proofsweep_sandbox.answers import Answer, json_answer, malformed
from proofsweep_sandbox.options import SLOT_BYTES
from proofsweep_sandbox.registry.slots import Slot
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage.links import storage_url

# Chosen: how long an upload can be verified after its slot has expired. So long its audio stays on disk.
_KEPT_SECONDS = 3600
# Chosen: a slot without a purpose may be this small; below the size of a song, so that a client notices.
_SMALL_SLOT_BYTES = 1024 * 1024
_ODD_FIELDS = {"none": {}, "empty": {"x-amz-meta-note": ""}, "unicode": {"x-amz-meta-näme": "ä=1&2 %2B ${filename}"}}


async def mint(service: Service, exchange: Exchange) -> Answer:
    """Return a slot for verification; a slot without a purpose is unspecified."""
    purpose, omitted = exchange.request.query_params.get("purpose"), service.unspecified.purpose_omitted
    if purpose not in {None, "verify"} or (purpose is None and omitted == "refused"):
        raise malformed("verify is the only known purpose")
    _sweep(service)
    slot = _slot(service, exchange, SLOT_BYTES if purpose or omitted == "verify" else _SMALL_SLOT_BYTES)
    service.slots.add(slot)
    return json_answer({"uploadId": slot.upload_id, "url": slot.url, "fields": slot.fields})


def _slot(service: Service, exchange: Exchange, most_bytes: int) -> Slot:
    unspecified, now = service.unspecified, service.clock.second()
    token = secrets.token_urlsafe(18)
    expires_at = now + round(service.options.slot_seconds * unspecified.slot_lifetime)
    query = f"?{unspecified.slot_query}" if unspecified.slot_query else ""
    return Slot(
        upload_id=_upload_id(unspecified.upload_id),
        token=token,
        tenant=exchange.caller.tenant,
        url=f"{storage_url(service, exchange.request)}/slots/{token}{query}",
        fields=_fields(service, token, expires_at, most_bytes),
        expires_at=expires_at,
    )


def _upload_id(form: str) -> str:
    forms = {
        "prefixed": f"upl_{secrets.token_hex(12)}",
        "uuid": str(uuid4()),
        "path": f"verify/{secrets.token_hex(8)}+{secrets.token_urlsafe(8)}==",
        "digits": str(secrets.randbelow(10**18)),
    }
    return forms[form]


def _fields(service: Service, token: str, expires_at: int, most_bytes: int) -> dict[str, str]:
    """Return the form's fields: the fields that the policy binds, the policy, and its signature."""
    date = datetime.fromtimestamp(service.clock.second(), UTC)
    bound = {
        "key": f"verify/{token}",
        "x-amz-algorithm": "AWS4-HMAC-SHA256",
        "x-amz-credential": f"SANDBOX/{date:%Y%m%d}/local/s3/aws4_request",
        "x-amz-date": f"{date:%Y%m%dT%H%M%SZ}",
        **_ODD_FIELDS[service.unspecified.odd_field],
    }
    conditions = [{name: value} for name, value in bound.items()]
    policy = {
        "expiration": datetime.fromtimestamp(expires_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "conditions": [*conditions, ["content-length-range", 1, most_bytes]],
    }
    encoded = base64.b64encode(json.dumps(policy).encode()).decode()
    signed = {"policy": encoded, "x-amz-signature": service.signatures.sign("slot", encoded)}
    return {**bound, **signed} if service.unspecified.policy_place == "last" else {**signed, **bound}


def _sweep(service: Service) -> None:
    """Delete the audio of slots that expired long ago."""
    for token in service.slots.forget_older(service.clock.now() - _KEPT_SECONDS):
        (service.folder("uploads") / token).unlink(missing_ok=True)
