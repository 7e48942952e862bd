"""GET /health: the only public operation."""

from conformance.assertions import flag_of, seconds_of, success_members, text_of
from conformance.definition import check
from conformance.subject import Subject


@check(calls=0)
def endpoints_1_health_needs_no_key(service: Subject) -> None:
    """Health needs no key."""
    success_members(service.health)


@check(calls=0)
def resources_health_fields(service: Subject) -> None:
    """Health has `ok` (a boolean), `version` and `commit` (strings)."""
    members = success_members(service.health)
    flag_of(members, "ok", service.health)
    text_of(members, "version", service.health)
    text_of(members, "commit", service.health)


@check(calls=0)
def resources_health_deployed_at_in_seconds(service: Subject) -> None:
    """`deployedAt` is unix time in whole seconds, not an ISO string."""
    seconds_of(success_members(service.health), "deployedAt", service.health)
