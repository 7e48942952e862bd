"""Signed links to stored artifacts."""

from urllib.parse import urlencode

from starlette.requests import Request

from proofsweep_sandbox.service import Service

# Contract, Resources: the link is short-lived, without a number. Chosen: time enough to download an artifact.
LINK_SECONDS = 5 * 60


def storage_url(service: Service, request: Request) -> str:
    """Return the storage's address, with the host name by which this client reached the API."""
    host = request.url.hostname or service.options.host
    return f"http://{f'[{host}]' if ':' in host else host}:{service.ports[1]}"


def link_to(service: Service, request: Request, asset: str) -> tuple[str, int]:
    """Return a link to a stored artifact, and its expiry in unix seconds."""
    expires_at = service.clock.second() + LINK_SECONDS
    signature = service.signatures.sign("asset", f"{asset} {expires_at}")
    query = urlencode({"expires": expires_at, "signature": signature})
    url = f"{storage_url(service, request)}/assets/{asset}?{query}"
    service.secrets.add("asset_url", url)
    return url, expires_at


def is_valid(service: Service, asset: str, expires: str, signature: str) -> bool:
    """Return whether a link is ours and has not expired."""
    is_ours = service.signatures.accepts("asset", f"{asset} {expires}", signature)
    return is_ours and service.clock.now() < int(expires)
