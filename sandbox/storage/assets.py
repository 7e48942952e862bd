"""GET /assets/{asset}: download an artifact by its signed link."""

from sandbox.answers import Answer, Refusal
from sandbox.routing import Exchange
from sandbox.service import Service
from sandbox.storage.links import is_valid
from sandbox.storage.policy import denied


async def download(service: Service, exchange: Exchange) -> Answer:
    """Send the artifact; the signed link is enough, no key is needed."""
    asset, query = exchange.path["asset"], exchange.request.query_params
    if not is_valid(service, asset, query.get("expires", ""), query.get("signature", "")):
        raise denied("the link is not valid, or has expired")
    file = service.folder("assets") / asset
    if not file.is_file():
        raise Refusal(404, "NoSuchKey", "the artifact is gone")
    return Answer(file=file, headers={"content-type": "audio/wav"})
