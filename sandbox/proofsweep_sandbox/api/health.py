"""GET /health: the only endpoint without a key."""

from proofsweep_sandbox.answers import Answer, json_answer
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service


async def show(service: Service, _exchange: Exchange) -> Answer:
    """Return a sentence that the service is up, with its version."""
    version, commit = service.unspecified.stamps
    return json_answer({"ok": True, "version": version, "commit": commit, "deployedAt": service.started_at})
