"""The storage target: another origin than the API, with slots, links, its own request IDs, and errors in XML."""

import base64
import hashlib
import json
import logging
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import urlencode
from xml.sax.saxutils import escape

from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.options import SLOT_BYTES
from proofsweep_sandbox.registry.slots import Slot
from proofsweep_sandbox.routing import Endpoint, Exchange
from proofsweep_sandbox.service import Service

# The parser of forms warns of each one that is not correct; the sandbox answers with a refusal, and prints nothing.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)

# As S3: at most this many bytes in a field. Ours have some hundred.
_MAX_FIELD_BYTES = 20_000
_SIGNATURE = "x-amz-signature"
# Contract, Resources: slots and links are short-lived, without a number.
_SLOT_SECONDS = 15 * 60
_LINK_SECONDS = 5 * 60


def _storage_url(service: Service, request: Request) -> str:
    # The host name is the one by which this client reached the API.
    host = request.url.hostname or service.options.host
    _, port, _ = service.ports
    return f"http://{host}:{port}"


def link_to(service: Service, request: Request, asset: str) -> tuple[str, int]:
    """Return a link to a stored artifact, and its expiry in unix seconds."""
    expires_at = service.clock.second() + _LINK_SECONDS
    signature = service.signatures.sign("asset", f"{asset} {expires_at}")
    query = urlencode({"expires": expires_at, "signature": signature})
    storage = _storage_url(service, request)
    url = f"{storage}/assets/{asset}?{query}"
    service.secrets.add(url)
    return url, expires_at


async def download(service: Service, exchange: Exchange) -> Answer:
    """Send the artifact; the signed link is enough, no key is needed."""
    asset = exchange.path["asset"]
    query = exchange.request.query_params
    expires = query.get("expires", "")
    signature = query.get("signature", "")
    is_ours = service.signatures.accepts("asset", f"{asset} {expires}", signature)
    if not is_ours or service.clock.now() >= int(expires):
        raise Refusal(403, "AccessDenied", "the link is not valid, or has expired")
    file = service.folder("assets") / asset
    if not file.is_file():
        raise Refusal(404, "NoSuchKey", "the artifact is gone")
    return Answer(body=file.read_bytes(), headers={"content-type": "audio/wav"})


def new_slot(service: Service, request: Request, tenant: str) -> Slot:
    """Store a new slot: its fields are those that the policy binds, the policy, and its signature."""
    token = secrets.token_urlsafe(18)
    now = service.clock.second()
    date = datetime.fromtimestamp(now, UTC)
    expires_at = now + _SLOT_SECONDS
    # Named and spelled as S3 does it, so that a client meets here what it will meet at the partner's storage.
    fields = {"key": f"verify/{token}", "x-amz-algorithm": "AWS4-HMAC-SHA256"}
    fields["x-amz-credential"] = f"SANDBOX/{date:%Y%m%d}/local/s3/aws4_request"
    fields["x-amz-date"] = f"{date:%Y%m%dT%H%M%SZ}"
    policy = _encoded_policy(fields, expires_at)
    fields["policy"] = policy
    fields[_SIGNATURE] = service.signatures.sign("slot", policy)
    upload_id = f"upl_{secrets.token_hex(12)}"
    url = f"{_storage_url(service, request)}/slots/{token}"
    slot = Slot(upload_id=upload_id, token=token, tenant=tenant, url=url, fields=fields, expires_at=expires_at)
    service.slots.add(slot)
    return slot


def _encoded_policy(bound: dict[str, str], expires_at: int) -> str:
    conditions: list[object] = []
    for name, value in bound.items():
        conditions.append({name: value})
    conditions.append(["content-length-range", 1, SLOT_BYTES])
    expiration = f"{datetime.fromtimestamp(expires_at, UTC):%Y-%m-%dT%H:%M:%SZ}"
    policy = json.dumps({"expiration": expiration, "conditions": conditions})
    return base64.b64encode(policy.encode()).decode()


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
    uploads = service.folder("uploads")
    # Written beside its name first: the endpoint that examines it may read at any time.
    partial = uploads / f".{slot.token}"
    partial.write_bytes(audio)
    partial.replace(uploads / slot.token)
    sha256 = hashlib.sha256(audio).hexdigest()
    service.slots.fill(slot, sha256)
    etag = f'"{sha256[:32]}"'
    return Answer(status=204, headers={"etag": etag})


async def _form(exchange: Exchange) -> FormData:
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
        # The body is read to its end also if it is no form: a client that still sends reads no answer.
        with suppress(RuntimeError):  # raised if there is no more of it
            async for _ in request.stream():
                pass
        raise Refusal(400, "MalformedPOSTRequest", "the form does not follow multipart/form-data") from error


def _fields_before_the_file(form: FormData) -> tuple[dict[str, str], UploadFile]:
    fields: dict[str, str] = {}
    for name, value in form.multi_items():
        # As in object storage, fields after the file do not count.
        if isinstance(value, UploadFile) and name == "file":
            return fields, value
        fields[name] = str(value)
    raise Refusal(400, "InvalidArgument", "the form has no field named file")


def _check_form(service: Service, slot: Slot, fields: dict[str, str], size_bytes: int) -> None:
    """Raise Refusal unless these are the slot's fields, all of them before a file of an allowed size."""
    rest = dict(fields)
    encoded = rest.pop("policy", "")
    signature = rest.pop(_SIGNATURE, "")
    if not service.signatures.accepts("slot", encoded, signature):
        raise _denied("before the file, there is no policy that the signature matches")
    policy = json.loads(base64.b64decode(encoded))
    now = datetime.fromtimestamp(service.clock.now(), UTC)
    if now >= datetime.fromisoformat(policy["expiration"]):
        raise _denied("the policy has expired")
    *bound, (_, min_bytes, max_bytes) = policy["conditions"]
    expected: dict[str, str] = {}
    for condition in bound:
        expected |= condition
    if rest != expected:
        raise _denied("the fields do not follow the policy")
    # The policy of another slot is signed too: the key says whose it is.
    if fields["key"] != slot.fields["key"]:
        raise _denied("the policy belongs to another slot")
    if size_bytes < min_bytes:
        raise Refusal(400, "EntityTooSmall", "the file is smaller than the policy allows")
    if size_bytes > max_bytes:
        raise Refusal(400, "EntityTooLarge", "the file is larger than the policy allows")


def _denied(error: str) -> Refusal:
    return Refusal(403, "AccessDenied", error)


ENDPOINTS = (
    Endpoint("slot", "POST", "/slots/{token}", fill, is_public=True),
    Endpoint("asset_download", "GET", "/assets/{asset}", download, is_public=True),
)


class StorageTarget:
    """The origin of the storage; signed forms and links take the place of keys."""

    name = "storage"
    endpoints = ENDPOINTS

    def new_request_id(self) -> str:
        return secrets.token_hex(8).upper()

    def admit(self, exchange: Exchange) -> None:
        """Refuse an API key, which must never come here; the endpoints check what was signed."""
        if "x-api-key" in exchange.request.headers:
            raise Refusal(400, "InvalidArgument", "the storage takes no x-api-key")

    def error_answer(self, refusal: Refusal, exchange: Exchange) -> Answer:
        code = escape(refusal.code)
        message = escape(refusal.error)
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{code}</Code><Message>{message}</Message>"
            f"<RequestId>{exchange.request_id}</RequestId></Error>"
        )
        headers = {"content-type": "application/xml", **refusal.headers}
        return Answer(status=refusal.status, body=body.encode(), headers=headers)

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:  # noqa: ARG002 - the API gateway needs it
        return {"x-amz-request-id": exchange.request_id}
