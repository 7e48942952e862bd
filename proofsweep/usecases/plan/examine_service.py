"""Look at the service before anything is spent: is it there, does it take the key, how much quota is left."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from proofsweep.client.partner import Partner
from proofsweep.contract.headers import AnswerHeaders
from proofsweep.contract.limits import CALLS_PER_ITEM, USAGE_DAYS
from proofsweep.contract.models import PartnerUsageResponse
from proofsweep.domain.budget.budget import reset_clause
from proofsweep.errors import CallFailed, ConfigError, RunMustStop

_ATTEMPTS = 2
"""Somebody waits for this; a run that has begun is more patient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """What health and usage said. `headroom` is the number of keyed calls left until `quota_reset`."""

    version: str | None = None
    commit: str | None = None
    deployed_at: datetime | None = None
    quota_limit: float | None = None
    headroom: int | None = None
    quota_reset: datetime | None = None


def examine_service(partner: Partner) -> ServiceStatus:
    """Ask GET /health and GET /partner/usage; one keyed call. Without an answer about the quota one can still work.

    Raises:
        ConfigError: what answers there is not this service.
        RunMustStop: the service does not answer, or refuses the key.
    """
    brief = partner.with_attempts(_ATTEMPTS)
    try:
        health = brief.health()
    except CallFailed as failed:
        raise _explained(failed, partner) from failed
    try:
        usage, headers = brief.usage(days=USAGE_DAYS.start)
    except CallFailed as failed:
        trouble = _explained(failed, partner)
        if isinstance(trouble, ConfigError):
            raise trouble from failed
        usage, headers = PartnerUsageResponse(), AnswerHeaders()
    except RunMustStop as stopped:  # usage is a keyed call, and may be refused for the very quota it tells of
        if stopped.ended_by != "quota":
            raise
        usage, headers = PartnerUsageResponse(), AnswerHeaders(rate_remaining=0, rate_reset=stopped.quota_reset)
    return ServiceStatus(
        version=health.version,
        commit=health.commit,
        deployed_at=health.deployed_at,
        quota_limit=usage.plan.quota_limit,
        headroom=headers.rate_remaining,
        quota_reset=headers.rate_reset,
    )


def refuse_without_quota(seen: ServiceStatus, reserve: int, now: datetime) -> None:
    """Raise RunMustStop if the quota, less a reserve, is known to leave no calls for a single item."""
    if seen.headroom is None or seen.headroom - reserve >= CALLS_PER_ITEM:
        return
    left = (
        "is used up"
        if not seen.headroom
        else f"has {seen.headroom:,} calls left, and {reserve:,} of them are spoken for"
    )
    when = reset_clause(seen.quota_reset, now)
    raise RunMustStop(f"The key's quota {left}; {when}.", ended_by="quota", quota_reset=seen.quota_reset)


def _explained(failed: CallFailed, partner: Partner) -> ConfigError | RunMustStop:
    """Tell a wrong address from a service that is down: one is the person's to mend, the other is not."""
    where = partner.base_url
    is_busy = failed.reason.startswith("http_5") or failed.status == HTTPStatus.TOO_MANY_REQUESTS
    if failed.status is not None and not is_busy:
        return ConfigError(
            f"What answers at {where} is not the partner's API ({failed.message} Status {failed.status}); "
            "check service.base_url."
        )
    return RunMustStop(f"The service at {where} does not answer: {failed.message}", ended_by="breaker")
