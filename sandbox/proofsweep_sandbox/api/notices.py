"""GET /partner/notices: an invented endpoint, which only the later release has."""

from proofsweep_sandbox.answers import Answer, json_answer
from proofsweep_sandbox.later_release import sunset_of
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service


async def show(service: Service, _exchange: Exchange) -> Answer:
    """Announce the end of the old behaviour, at the time in the `Sunset` headers."""
    return json_answer({"notices": [{"about": "contract 2", "sunset": sunset_of(service.started_at)}]})
