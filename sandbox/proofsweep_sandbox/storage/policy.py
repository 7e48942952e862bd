"""The slot's policy: its signature and expiry, and the form that must match it."""

import base64
import json
from datetime import UTC, datetime

from proofsweep_sandbox.answers import Refusal
from proofsweep_sandbox.registry.slots import Slot
from proofsweep_sandbox.service import Service

_SIGNATURE = "x-amz-signature"


def denied(error: str) -> Refusal:
    """Return the refusal of an invalid form or link."""
    return Refusal(403, "AccessDenied", error)


def length_range(service: Service, slot: Slot, fields: dict[str, str]) -> tuple[int, int]:
    """Return the minimum and maximum size of the file in bytes; raise a 403 for an invalid form."""
    encoded, signature = fields.get("policy"), fields.get(_SIGNATURE)
    if encoded is None or signature is None:
        raise denied("policy or signature is missing before the file")
    if not service.signatures.accepts("slot", encoded, signature):
        raise denied("the signature does not match the policy")
    policy = json.loads(base64.b64decode(encoded))
    if datetime.fromtimestamp(service.clock.now(), UTC) >= datetime.fromisoformat(policy["expiration"]):
        raise Refusal(service.unspecified.spent_slot, "AccessDenied", "the policy has expired")
    *bound, (_, min_bytes, max_bytes) = policy["conditions"]
    _check_fields({name: value for pair in bound for name, value in pair.items()}, fields)
    if fields["key"] != slot.fields["key"]:
        raise denied("the policy belongs to another slot")
    return min_bytes, max_bytes


def _check_fields(bound: dict[str, str], fields: dict[str, str]) -> None:
    """Raise a 403 unless the form has every bound field with its value, and no other field."""
    for name, value in bound.items():
        if fields.get(name) != value:
            raise denied(f"the field {name} does not follow the policy")
    extra = fields.keys() - bound.keys() - {"policy", _SIGNATURE}
    if extra:
        raise denied("the form has fields that the policy does not name")
