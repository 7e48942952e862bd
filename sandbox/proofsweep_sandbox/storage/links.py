"""Signed links to stored artifacts, and GET /assets/{asset}, which follows one."""

from urllib.parse import urlencode

from starlette.requests import Request

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

# Contract, Resources: the link is short-lived, without a number.
_LINK_SECONDS = 5 * 60


def storage_url(service: Service, request: Request) -> str:
    """Return the storage's address, with the host name by which this client reached the API."""
    return f"http://{request.url.hostname or service.options.host}:{service.ports[1]}"


def link_to(service: Service, request: Request, asset: str) -> tuple[str, int]:
    """Return a link to a stored artifact, and its expiry in unix seconds."""
    expires_at = service.clock.second() + _LINK_SECONDS
    signature = service.signatures.sign("asset", f"{asset} {expires_at}")
    query = urlencode({"expires": expires_at, "signature": signature})
    url = f"{storage_url(service, request)}/assets/{asset}?{query}"
    service.secrets.add(url)
    return url, expires_at


async def download(service: Service, exchange: Exchange) -> Answer:
    """Send the artifact; the signed link is enough, no key is needed."""
    asset, query = exchange.path["asset"], exchange.request.query_params
    expires, signature = query.get("expires", ""), query.get("signature", "")
    is_ours = service.signatures.accepts("asset", f"{asset} {expires}", signature)
    if not is_ours or service.clock.now() >= int(expires):
        raise Refusal(403, "AccessDenied", "the link is not valid, or has expired")
    file = service.folder("assets") / asset
    if not file.is_file():
        raise Refusal(404, "NoSuchKey", "the artifact is gone")
    return Answer(body=file.read_bytes(), headers={"content-type": "audio/wav"})
