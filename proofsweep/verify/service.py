"""The service of one process: its calls, their pace, and the threads that make them.

It is examined before anything is spent: does it answer, does it take the key, how much quota is left.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from secrets import token_hex
from typing import TypeVar
from urllib.parse import urlsplit

from proofsweep import __version__
from proofsweep.client import transport
from proofsweep.client.client import Partner
from proofsweep.client.keys import CurrentKey, KeySource, fingerprint
from proofsweep.client.retry import backoff
from proofsweep.client.service_clock import ServiceClock
from proofsweep.client.session import BLOCKED, ClientContext, Session
from proofsweep.config.logs import LogEvent, log
from proofsweep.config.notices import say
from proofsweep.config.proxies import OTHERWISE, Proxies
from proofsweep.config.sections import PaceSettings, RetrySettings, ServiceSettings, TimeoutSettings
from proofsweep.config.threads import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ConfigError, NameTaken, ProofsweepError, ResultsError, RunMustStop
from proofsweep.domain.exchanges import USAGE_DAYS, AnswerHeaders, Exchange
from proofsweep.domain.runs import new_run_id
from proofsweep.domain.text import reset_clause
from proofsweep.files.files import Files
from proofsweep.pacing.call_queue import CallQueue
from proofsweep.pacing.pacer import Pacer
from proofsweep.pacing.scheduler import Scheduler
from proofsweep.store import layout
from proofsweep.store.objects import JSON_OBJECT, Store, json_bytes, read_document
from proofsweep.verify.budget import CALLS_TO_BEGIN
from proofsweep.verify.workers import Workers, workers_that_fit

_CLOCKS_DIFFER_SECONDS = 60.0  # from which on a person is told
_ATTEMPTS = 2  # of a call that examines; one lost connection is no answer, and a person waits for the result
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """What health and usage say. `headroom` is the number of keyed calls left until `quota_reset`."""

    version: str | None = None
    commit: str | None = None
    deployed_at: datetime | None = None
    headroom: int | None = None
    quota_reset: datetime | None = None


class Service:
    """One service, which one process calls with one key; after a request to stop, a new one is needed."""

    def __init__(
        self,
        settings: ServiceSettings,
        pace: PaceSettings,
        retry: RetrySettings,
        timeouts: TimeoutSettings,
        key: KeySource,
        *,
        proxies: Proxies,
        clock: ServiceClock,
    ) -> None:
        self.settings = settings
        self.pace = pace
        self.retry = retry
        self.clock = clock
        self.key = CurrentKey(key)
        self.stop = StopSwitch()
        self.unattributed: list[Exchange] = []  # belong to no row, and are not written down yet
        self.files = Files()
        self.transport = transport.Transport(
            timeouts,
            user_agent=f"proofsweep/{__version__}",
            proxies=proxies,
            clock=clock,
            on_silence=self._log_silence,
        )
        self.workers = Workers(workers_that_fit(pace.workers))
        self.scheduler = Scheduler(
            CallQueue(Pacer(first_rate=pace.first_rate)),
            self.stop,
            longest_pause_seconds=pace.longest_pause_seconds,
            make_room=self.workers.make_room,
        )
        context = ClientContext(
            service=settings,
            transport=self.transport,
            scheduler=self.scheduler,
            key=self.key,
            record_unattributed=self.unattributed.append,
        )
        self.partner = Partner(Session(context, self.unattributed.append, retry))
        self._has_asked_time = False
        self._status: ServiceStatus | None = None

    @property
    def key_fingerprint(self) -> str:
        return fingerprint(self.key.current)

    def asked_clock(self) -> datetime:
        """Return the service's time, and ask for it if nothing is known; this machine's without an answer."""
        if not self.clock.is_known and not self._has_asked_time:
            # Who works with the service asks how it is: what was wrong now may be over then.
            with suppress(ProofsweepError):
                self.partner.with_attempts(1).health()
                self._has_asked_time = True  # even of a service that sends no `Date`
        return self.clock()

    def new_run_id(self) -> str:
        return new_run_id(self.asked_clock(), token_hex(3))

    def status(self) -> ServiceStatus:
        """Ask GET /health and GET /partner/usage, once; one keyed call. A leg can work without knowing the quota.

        ConfigError if another service answers; RunMustStop if none does, it is not well, or it refuses the key.
        """
        if self._status is None:
            brief = self.partner.with_attempts(_ATTEMPTS)
            health = _asked(brief, Partner.health)
            _say_if_clock_differs(self.clock.behind_seconds)
            if health.ok is False:
                not_well = f"The service at {brief.base_url} says that it is not well (GET /health: ok is false)."
                raise RunMustStop(not_well, ended_by=EndedBy.BREAKER)
            headers = _quota_of(brief)
            self._status = ServiceStatus(
                version=health.version,
                commit=health.commit,
                deployed_at=health.deployed_at,
                headroom=headers.rate_remaining,
                quota_reset=headers.rate_reset,
            )
        return self._status

    def usable(self, reserve: int = 0) -> ServiceStatus:
        """Return its status; ConfigError or RunMustStop if it cannot be worked with."""
        status = self.status()
        # The quota, less the reserve, may be known to leave too few calls for a single item.
        if status.headroom is None or status.headroom - reserve >= CALLS_TO_BEGIN:
            return status
        short = "is used up"
        if status.headroom:
            short = f"has too few calls left ({status.headroom:,}, reserved: {reserve:,})"
        when = reset_clause(status.quota_reset, self.clock())
        why = f"The key's quota {short}; {when}."
        raise RunMustStop(why, ended_by=EndedBy.QUOTA, quota_reset=status.quota_reset)

    def awaited(self, reserve: int = 0) -> ServiceStatus:
        """Do the same for a run, which waits while the service is down for at most `breaker_seconds`."""
        clock, outage_seconds = self.scheduler.clock, self.retry.breaker_seconds
        due_at = clock() + outage_seconds
        examinations = 0
        while self._status is None:
            try:
                self.status()
            except RunMustStop as down:
                # A service that was never reached is waited for a short time only: its address may be wrong.
                left_seconds = min(due_at - clock(), self.transport.left_seconds)
                if down.ended_by != EndedBy.BREAKER or left_seconds <= 0.0:
                    raise
                if examinations == 0 and self.transport.reached.is_set():  # else the silence is told
                    log(LogEvent.SERVICE_AWAITED, most_seconds=outage_seconds, is_reached=True)
                examinations += 1
                pause_seconds = backoff(self.retry, examinations, 1.0)
                self.stop.rest(min(left_seconds, pause_seconds))
        return self.usable(reserve)

    def ask(self, question: Callable[[Partner], _Answer]) -> tuple[_Answer, Exchange]:
        """Make a call in a session of its own; return its answer and the last exchange."""
        exchanges: list[Exchange] = []
        partner = self.partner.in_new_session(exchanges.append)
        answer = _asked(partner, question)
        return answer, exchanges[-1]

    def answer(self, question: Callable[[Partner], _Answer]) -> _Answer:
        """Make the calls of a command that a person waits for; CallFailed only if they fail for what was asked."""
        partner = self.partner.in_new_session(lambda _: None)
        try:
            return question(partner)
        except CallFailed as failed:
            raise (_not_reached(partner, failed) or failed) from failed.__cause__

    def abort(self) -> None:
        """End what is in flight, once the leg was asked to stop; unfinished rows remain."""
        self.stop.abort()
        self.transport.abort()

    def close(self) -> None:
        self.workers.shutdown()
        self.transport.close()

    def _log_silence(self) -> None:
        most_seconds = min(transport.FIRST_CONTACT_SECONDS, self.retry.breaker_seconds)
        log(LogEvent.SERVICE_AWAITED, most_seconds=most_seconds, is_reached=False)


def _say_if_clock_differs(behind_seconds: float) -> None:
    if abs(behind_seconds) > _CLOCKS_DIFFER_SECONDS:
        log(LogEvent.CLOCK_DIFFERS, behind_seconds=round(behind_seconds))
        how = "behind" if behind_seconds > 0 else "ahead of"
        differs = f"this machine's clock is {abs(behind_seconds):,.0f} s {how} the service's"
        say(f"{differs}, which counts for answers and runs")


def _asked(partner: Partner, ask: Callable[[Partner], _Answer]) -> _Answer:
    """Return an answer; tell a wrong address, which a person corrects, from a service that is down."""
    try:
        return ask(partner)
    except CallFailed as failed:
        outage = _not_reached(partner, failed)
        if outage is not None:
            raise outage from failed
        raise ConfigError(
            f"What answers at {partner.base_url} is not the partner's API ({failed.message} Status {failed.status}); "
            "check service.base_url."
        ) from failed


def _quota_of(partner: Partner) -> AnswerHeaders:
    """Ask for the quota; RunMustStop if the service refuses the key."""

    def usage(partner: Partner) -> AnswerHeaders:
        _, headers = partner.usage(days=USAGE_DAYS.start)
        return headers

    try:
        return _asked(partner, usage)
    except RunMustStop as stopped:
        # A used-up quota may refuse the very call that asks for it; without an answer it is not known.
        if stopped.ended_by is EndedBy.QUOTA:
            return AnswerHeaders(rate_remaining=0, rate_reset=stopped.quota_reset)
        if stopped.ended_by is EndedBy.BREAKER:
            return AnswerHeaders(rate_remaining=None, rate_reset=stopped.quota_reset)
        raise


def _not_reached(partner: Partner, failed: CallFailed) -> ProofsweepError | None:
    """Return the error of a service that is down, or behind a proxy that refuses; None if it answered."""
    where, connections = partner.base_url, partner.session.context.transport
    url = urlsplit(where)
    proxy = connections.proxies.to(url.scheme, url.hostname or "")
    is_refused = failed.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED
    is_silent = failed.status is None and not connections.reached.is_set()
    # A proxy that was set by mistake does not heal by waiting, so it is no outage.
    if proxy is not None and (is_refused or is_silent):
        through = f"The service at {where} is not reached through the proxy in {proxy.variable}"
        return ConfigError(f"{through}: {failed.message} {OTHERWISE}")
    if failed.is_blocked:
        return RunMustStop(BLOCKED, ended_by=EndedBy.BREAKER)
    if failed.is_outage:
        why = f"The service at {where} does not answer: {failed.message}"
        return RunMustStop(why, ended_by=EndedBy.BREAKER)
    return None


def bind_key(store: Store, fingerprint: str, base_url: str) -> None:
    """Record a key's service; ResultsError if it had another (contract, Authentication 6)."""
    content = json_bytes({"base_url": base_url})
    try:
        store.create(layout.key_name(fingerprint), content)
    except NameTaken:
        check_key(store, fingerprint, base_url)


def check_key(store: Store, fingerprint: str, base_url: str) -> None:
    """Raise ResultsError if this key was used with another service."""
    name = layout.key_name(fingerprint)
    record = read_document(store, name, JSON_OBJECT) or {}
    bound = record.get("base_url", base_url)
    if bound != base_url:
        raise ResultsError(
            f"This key was used with {bound} before; it is not sent to {base_url}. Keys belong to one environment: "
            "check the base URL and the key's source. If the partner has moved, delete what says so: "
            f"{store.url}/{name}."
        )
