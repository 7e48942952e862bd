"""POST /slots/{token}: check the form against the slot's policy, and store its file."""

import base64
import hashlib
import json
import logging
from contextlib import suppress
from datetime import UTC, datetime

from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.registry.slots import Slot
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

# The parser of forms warns of each one that is not correct; the sandbox answers with a refusal, and prints nothing.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)

# As S3: at most this many bytes in a field. Ours have some hundred.
_MAX_FIELD_BYTES = 20_000
_SIGNATURE = "x-amz-signature"


async def fill(service: Service, exchange: Exchange) -> Answer:
    """Store the file of the form; while the policy is valid, a second form replaces the file."""
    slot = service.slots.by_token(exchange.path["token"])
    if slot is None:
        raise Refusal(404, "NoSuchBucket", "there is no such slot")
    form = await _form(exchange)
    try:
        fields, file = _fields_before_the_file(form)
        _check_form(service, slot, fields, file.size or 0)
        audio = await file.read()
    finally:
        await form.close()
    partial = service.folder("uploads") / f".{slot.token}"
    partial.write_bytes(audio)
    partial.replace(service.folder("uploads") / slot.token)
    sha256 = hashlib.sha256(audio).hexdigest()
    service.slots.fill(slot, sha256)
    return Answer(status=204, headers={"etag": f'"{sha256[:32]}"'})


async def _form(exchange: Exchange) -> FormData:
    """Parse the body, and read it to its end also if it is no form: a client that still sends reads no answer."""
    request = exchange.request
    # As object storage: an upload must announce its length.
    if "content-length" not in request.headers:
        raise Refusal(411, "MissingContentLength", "the Content-Length header is required")
    kind = request.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data") or "boundary=" not in kind:
        raise Refusal(412, "PreconditionFailed", "the body is not multipart/form-data")
    try:
        return await request.form(max_files=1, max_part_size=_MAX_FIELD_BYTES)
    except (MultiPartException, FormParserError) as error:
        with suppress(RuntimeError):  # raised if there is no more of it
            async for _ in request.stream():
                pass
        raise Refusal(400, "MalformedPOSTRequest", "the form does not follow multipart/form-data") from error


def _fields_before_the_file(form: FormData) -> tuple[dict[str, str], UploadFile]:
    """Return the file and the fields before it; as in object storage, fields after it do not count."""
    fields: dict[str, str] = {}
    for name, value in form.multi_items():
        if isinstance(value, UploadFile) and name == "file":
            return fields, value
        fields[name] = str(value)
    raise Refusal(400, "InvalidArgument", "the form has no field named file")


def _check_form(service: Service, slot: Slot, fields: dict[str, str], size_bytes: int) -> None:
    """Raise Refusal unless these are the slot's fields, all of them before a file of an allowed size."""
    encoded, signature = fields.get("policy", ""), fields.get(_SIGNATURE, "")
    if not service.signatures.accepts("slot", encoded, signature):
        raise _denied("before the file, there is no policy that the signature matches")
    policy = json.loads(base64.b64decode(encoded))
    if datetime.fromtimestamp(service.clock.now(), UTC) >= datetime.fromisoformat(policy["expiration"]):
        raise _denied("the policy has expired")
    *bound, (_, min_bytes, max_bytes) = policy["conditions"]
    expected = {name: value for pair in bound for name, value in pair.items()}
    if {name: value for name, value in fields.items() if name not in {"policy", _SIGNATURE}} != expected:
        raise _denied("the fields do not follow the policy")
    if fields["key"] != slot.fields["key"]:
        raise _denied("the policy belongs to another slot")
    if size_bytes < min_bytes:
        raise Refusal(400, "EntityTooSmall", "the file is smaller than the policy allows")
    if size_bytes > max_bytes:
        raise Refusal(400, "EntityTooLarge", "the file is larger than the policy allows")


def _denied(error: str) -> Refusal:
    return Refusal(403, "AccessDenied", error)
