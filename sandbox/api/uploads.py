"""POST /uploads: a presigned form, fresh on every call."""

import base64
import json
import secrets
from datetime import UTC, datetime

from sandbox.answers import Answer, json_answer, malformed
from sandbox.calls import Exchange
from sandbox.options import SLOT_BYTES
from sandbox.registry.slots import Slot
from sandbox.service import Service
from sandbox.storage.links import storage_url

# An upload stays for this long after its slot has expired, so that it can be verified again.
_KEPT_SECONDS = 3600


async def mint(service: Service, exchange: Exchange) -> Answer:
    """Hand out a slot; without a purpose it is the one for verification, the only one there is here."""
    purpose = exchange.request.query_params.get("purpose", "verify")
    if purpose != "verify":
        raise malformed("the only purpose here is verify")
    _sweep(service)
    slot = _slot(service, exchange)
    service.slots.add(slot)
    return json_answer({"uploadId": slot.upload_id, "url": slot.url, "fields": slot.fields})


def _slot(service: Service, exchange: Exchange) -> Slot:
    now = service.clock.second()
    token = secrets.token_urlsafe(18)
    expires_at = now + service.options.slot_seconds
    return Slot(
        upload_id=f"upl_{secrets.token_hex(12)}",
        token=token,
        tenant=exchange.caller.tenant,
        url=f"{storage_url(service, exchange.request)}/slots/{token}",
        fields=_fields(service, token, now, expires_at),
        expires_at=expires_at,
    )


def _fields(service: Service, token: str, now: int, expires_at: int) -> dict[str, str]:
    """Return the form's fields: what the policy binds, the policy, and its signature."""
    date = datetime.fromtimestamp(now, UTC)
    bound = {
        "key": f"verify/{token}",
        "x-amz-algorithm": "AWS4-HMAC-SHA256",
        "x-amz-credential": f"SANDBOX/{date:%Y%m%d}/local/s3/aws4_request",
        "x-amz-date": f"{date:%Y%m%dT%H%M%SZ}",
    }
    conditions = [{name: value} for name, value in bound.items()]
    policy = {
        "expiration": datetime.fromtimestamp(expires_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "conditions": [*conditions, ["content-length-range", 1, SLOT_BYTES]],
    }
    encoded = base64.b64encode(json.dumps(policy).encode()).decode()
    return {**bound, "policy": encoded, "x-amz-signature": service.signatures.sign("slot", encoded)}


def _sweep(service: Service) -> None:
    """Delete the audio of slots that expired long ago: unused slots and old uploads go away on their own."""
    for token in service.slots.forget_older(service.clock.now() - _KEPT_SECONDS):
        (service.folder("uploads") / token).unlink(missing_ok=True)
