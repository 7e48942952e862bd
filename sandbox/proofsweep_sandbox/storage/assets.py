"""GET /assets/{asset}: download an artifact by its signed link."""

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage.links import is_valid
from proofsweep_sandbox.storage.policy import denied


async def download(service: Service, exchange: Exchange) -> Answer:
    """Send the artifact; the signed link is enough, no key is needed."""
    asset, query = exchange.path["asset"], exchange.request.query_params
    if not is_valid(service, asset, query.get("expires", ""), query.get("signature", "")):
        raise denied("the link is not valid, or has expired")
    file = service.folder("assets") / asset
    if not file.is_file():
        raise Refusal(404, "NoSuchKey", "the artifact is gone")
    return Answer(file=file, headers={"content-type": "audio/wav"})
