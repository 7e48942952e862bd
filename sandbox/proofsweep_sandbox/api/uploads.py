"""POST /uploads: a new presigned form on every call."""

import base64
import json
import secrets
from datetime import UTC, datetime

from proofsweep_sandbox.answers import Answer, json_answer, malformed
from proofsweep_sandbox.options import SLOT_BYTES
from proofsweep_sandbox.registry.slots import Slot
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage.links import storage_url

_KEPT_SECONDS = 3600


async def mint(service: Service, exchange: Exchange) -> Answer:
    """Return a slot for verification, also if no purpose is given."""
    if exchange.request.query_params.get("purpose", "verify") != "verify":
        raise malformed("verify is the only known purpose")
    for token in service.slots.forget_older(service.clock.now() - _KEPT_SECONDS):
        (service.folder("uploads") / token).unlink(missing_ok=True)
    token, expires_at = secrets.token_urlsafe(18), service.clock.second() + service.options.slot_seconds
    slot = Slot(
        upload_id=f"upl_{secrets.token_hex(12)}",
        token=token,
        tenant=exchange.caller.tenant,
        url=f"{storage_url(service, exchange.request)}/slots/{token}",
        fields=_fields(service, token, expires_at),
        expires_at=expires_at,
    )
    service.slots.add(slot)
    return json_answer({"uploadId": slot.upload_id, "url": slot.url, "fields": slot.fields})


def _fields(service: Service, token: str, expires_at: int) -> dict[str, str]:
    """Return the form's fields: the fields that the policy binds, the policy, and its signature."""
    date = datetime.fromtimestamp(service.clock.second(), UTC)
    bound = {
        "key": f"verify/{token}",
        "x-amz-algorithm": "AWS4-HMAC-SHA256",
        "x-amz-credential": f"SANDBOX/{date:%Y%m%d}/local/s3/aws4_request",
        "x-amz-date": f"{date:%Y%m%dT%H%M%SZ}",
    }
    policy = {
        "expiration": datetime.fromtimestamp(expires_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "conditions": [*({name: value} for name, value in bound.items()), ["content-length-range", 1, SLOT_BYTES]],
    }
    encoded = base64.b64encode(json.dumps(policy).encode()).decode()
    return {**bound, "policy": encoded, "x-amz-signature": service.signatures.sign("slot", encoded)}
