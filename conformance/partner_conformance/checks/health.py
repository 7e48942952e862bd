"""GET /health: the only public operation."""

import time

from partner_conformance.assertions import expect, seconds_of, success_members
from partner_conformance.definition import check
from partner_conformance.operations import HEALTH
from partner_conformance.replies import NotTried
from partner_conformance.subject import MOMENT_SECONDS, Subject

# Chosen: how far the service's clock may differ from ours.
_TOLERANCE_SECONDS = 600


@check(calls=0)
def endpoints_1_health_needs_no_key(service: Subject) -> None:
    """Health needs no key."""
    success_members(service.health)


@check(calls=2)
def resources_health_deployed_at_is_past(service: Subject) -> None:
    """`deployedAt` is the time of the deployment: it is past, and does not move with the time."""
    first, second = service.moments[0][HEALTH], service.moments[1][HEALTH]
    if not isinstance(success_members(first).get("deployedAt"), int):
        raise NotTried("it is no number; see resources-health-fields")
    times = [seconds_of(success_members(each), "deployedAt", each) for each in (first, second)]
    expect(times[1] < time.time() + _TOLERANCE_SECONDS, "deployedAt is in the future", second)
    is_now = abs(times[1] - time.time()) < _TOLERANCE_SECONDS and times[1] - times[0] >= MOMENT_SECONDS - 1
    expect(not is_now, "deployedAt is the time of the call", first, second)
