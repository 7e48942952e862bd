"""GET /partner/notices: an endpoint of a later release, which says what changes when."""

from sandbox.answers import Answer, json_answer
from sandbox.later_release import sunset_of
from sandbox.routing import Exchange
from sandbox.service import Service


async def show(service: Service, _exchange: Exchange) -> Answer:
    """Announce the end of the old behaviour, with the same date as the `Sunset` headers."""
    return json_answer({"notices": [{"about": "contract 2", "sunset": sunset_of(service.started_at)}]})
