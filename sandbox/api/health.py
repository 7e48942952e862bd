"""GET /health: the only endpoint without a key."""

from sandbox.answers import Answer, json_answer
from sandbox.later_release import iso_of
from sandbox.routing import Exchange
from sandbox.service import Service


async def show(service: Service, _exchange: Exchange) -> Answer:
    """Say that the service is up, with its version."""
    version, commit = service.unspecified.stamps
    deployed_at = iso_of(service.started_at) if service.is_later_release else service.started_at
    return json_answer({"ok": True, "version": version, "commit": commit, "deployedAt": deployed_at})
