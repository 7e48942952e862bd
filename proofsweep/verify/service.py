"""Examine the service before anything is spent: does it answer, does it take the key, how much quota is left."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import TypeVar

from proofsweep.client.client import Partner
from proofsweep.client.retry import backoff
from proofsweep.config.logs import Event, log
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ConfigError, RunMustStop
from proofsweep.domain.headers import USAGE_DAYS, AnswerHeaders
from proofsweep.domain.text import reset_clause
from proofsweep.verify.budget import CALLS_TO_BEGIN

_ATTEMPTS = 2  # attempts of each call; one lost connection is no answer, and a person waits for the result

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """What health and usage say. `headroom` is the number of keyed calls left until `quota_reset`."""

    version: str | None = None
    commit: str | None = None
    deployed_at: datetime | None = None
    headroom: int | None = None
    quota_reset: datetime | None = None


def examine_service(partner: Partner) -> ServiceStatus:
    """Ask GET /health and GET /partner/usage; one keyed call. A leg can work without an answer about the quota.

    Raises:
        ConfigError: another service answers.
        RunMustStop: the service does not answer, says that it is not well, or refuses the key.
    """
    brief = partner.with_attempts(_ATTEMPTS)
    health = asked_or_explained(brief, Partner.health)
    if health.ok is False:
        not_well = f"The service at {partner.base_url} says that it is not well (GET /health: ok is false)."
        raise RunMustStop(not_well, ended_by=EndedBy.BREAKER)
    headers = _quota_headers(brief)
    return ServiceStatus(
        version=health.version,
        commit=health.commit,
        deployed_at=health.deployed_at,
        headroom=headers.rate_remaining,
        quota_reset=headers.rate_reset,
    )


def await_service(
    partner: Partner, outage_seconds: float, clock: Callable[[], float] = time.monotonic
) -> ServiceStatus:
    """Examine the service before a run; wait for one that is down, as long as an outage in the run may last.

    Raises:
        ConfigError: another service answers.
        RunMustStop: the service is still down, refuses the key, or the run was asked to stop.
    """
    stop, retry = partner.session.stop, partner.session.retry
    due_at, examinations = clock() + outage_seconds, 0
    while True:
        try:
            return examine_service(partner)
        except RunMustStop as down:
            left_seconds = due_at - clock()
            if down.ended_by != "breaker" or left_seconds <= 0.0:
                raise
        if examinations == 0:
            log(Event.SERVICE_AWAITED, most_seconds=outage_seconds)
        examinations += 1
        stop.rest(min(left_seconds, backoff(retry, examinations, 1.0)))


def _quota_headers(partner: Partner) -> AnswerHeaders:
    """Ask for the quota. Usage is a keyed call: a used-up quota may refuse the very call that asks for it."""
    try:
        return partner.usage(days=USAGE_DAYS.start)[1]
    except CallFailed as failed:
        error = explained(failed, partner)
        if isinstance(error, ConfigError):
            raise error from failed
        return AnswerHeaders()
    except RunMustStop as stopped:
        if stopped.ended_by != "quota":
            raise
        return AnswerHeaders(rate_remaining=0, rate_reset=stopped.quota_reset)


def refuse_without_quota(service: ServiceStatus, reserve: int, now: datetime) -> None:
    """Raise RunMustStop if the quota, less a reserve, is known to leave too few calls for a single item."""
    headroom = service.headroom
    if headroom is None or headroom - reserve >= CALLS_TO_BEGIN:
        return
    left = f"has too few calls left ({headroom:,}, reserved: {reserve:,})" if headroom else "is used up"
    when = reset_clause(service.quota_reset, now)
    raise RunMustStop(f"The key's quota {left}; {when}.", ended_by=EndedBy.QUOTA, quota_reset=service.quota_reset)


def explained(failed: CallFailed, partner: Partner) -> ConfigError | RunMustStop:
    """Tell a wrong address, which a person corrects, from a service that is down."""
    where = partner.base_url
    is_busy = failed.reason.startswith("http_5") or failed.status == HTTPStatus.TOO_MANY_REQUESTS
    if failed.status is not None and not is_busy:
        return ConfigError(
            f"What answers at {where} is not the partner's API ({failed.message} Status {failed.status}); "
            "check service.base_url."
        )
    return RunMustStop(f"The service at {where} does not answer: {failed.message}", ended_by=EndedBy.BREAKER)


def asked_or_explained(partner: Partner, ask: Callable[[Partner], _Answer]) -> _Answer:
    try:
        return ask(partner)
    except CallFailed as failed:
        raise explained(failed, partner) from failed
