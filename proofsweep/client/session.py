"""The one retry layer: repeats a call until it is answered, and does what the retry rule says in between."""

import math
import random
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NoReturn

from pydantic import SecretStr

from proofsweep.client.keys import CurrentKey
from proofsweep.client.reply import Reply, Request
from proofsweep.client.retry import Step, call_error, decide
from proofsweep.client.transport import Transport
from proofsweep.config.sections import RetrySettings, ServiceSettings
from proofsweep.config.threads import Lock, StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, CallNotMade, RunMustStop, SlotRefused, SlotSpent, UsageError
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.text import reset_clause
from proofsweep.pacing.call_queue import Ticket
from proofsweep.pacing.scheduler import Scheduler

_LONG_WAIT_SECONDS = 120.0  # a longer wait asks for a check of the quota
_ANSWER_HOLDS_SECONDS = 10.0  # how long an answer on behalf of all holds
KEY_REFUSED = "The service refused the key (403): is it a key of this very service, and has it not expired?"
BLOCKED = "Something on the way refuses the calls (403, and not by the service): a firewall or a proxy?"


class HeadroomCheck:
    """Lets one thread ask for the calls that are left, on behalf of all that wait for the same answer."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked_at = -math.inf
        self._headroom: int | None = None

    def headroom(self, since: float, clock: Callable[[], float], ask: Callable[[], int | None]) -> int | None:
        """Return the last answer if it was asked for since `since` (monotonic seconds); else ask."""
        with self._lock:
            if self._asked_at < since:
                began_at = clock()
                self._headroom, self._asked_at = ask(), began_at
            return self._headroom


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientContext:
    """What all sessions of a leg share."""

    service: ServiceSettings
    transport: Transport
    scheduler: Scheduler
    key: CurrentKey
    record_unattributed: Callable[[Exchange], None]  # takes the exchanges that belong to no row
    headroom_check: HeadroomCheck = field(default_factory=HeadroomCheck)


@dataclass(slots=True)
class _History:
    attempts: int = 0
    failures: int = 0
    fresh_slots: int = 0


@dataclass(slots=True)
class Session:
    """All exchanges for one item, or for one purpose; used by one thread at a time. A copy begins anew."""

    context: ClientContext
    record: Callable[[Exchange], None]
    retry: RetrySettings
    is_of_many: bool = False  # for one of many items: a refused key opens the circuit, instead of ending everything
    is_probe: bool = False  # its calls go before all others, also while the circuit is open
    claim: Callable[[Call], None] = lambda _call: None  # counts a keyed call that is sent now; RunMustStop: it may not
    _history: defaultdict[Call, _History] = field(init=False, default_factory=lambda: defaultdict(_History))
    _holder: object = field(init=False, default_factory=object)
    _ticket: Ticket | None = field(init=False, default=None)  # of the last attempt
    _key: SecretStr = field(init=False, default=SecretStr(""))  # in use when it was sent

    @property
    def stop(self) -> StopSwitch:
        return self.context.scheduler.stop

    def request(self, call: Call, path: str, method: str = "GET", /, **params: str | int | None) -> Request:
        """Make a request without the parameters that are None."""
        url = self.context.service.base_url + path  # not urljoin: that would drop the path of the base URL
        given = {name: value for name, value in params.items() if value is not None}
        return Request(call=call, method=method, url=url, params=given)

    def ask(self, request: Request) -> Reply:
        """Make a call until it is answered with a 2xx that can be read.

        CallFailed or SlotRefused if it failed for good, SlotSpent if only a fresh slot can help, RunMustStop if no more
        calls can be made in this leg.
        """
        try:
            while True:
                reply = self._attempt(request)
                if reply.exchange.is_success:
                    if request.call.is_keyed and self._key not in self.context.key.bound:
                        self.context.key.accepted(self._key)
                    self._history[request.call].failures = 0
                    return reply
                self._apply_decision(reply.exchange)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Give back the call and the slot that are in hand: they will not be used."""
        self.context.scheduler.drop(self._holder, self._ticket)

    def _attempt(self, request: Request) -> Reply:
        """Send once, when the scheduler lets the call go."""
        scheduler = self.context.scheduler
        is_in_hand = bool(self._history)
        history = self._history[request.call]
        self._ticket = None
        # Keyed calls share a lane; rotation has its own (contract, Endpoints 3).
        if request.call.is_keyed and request.call is not Call.ROTATE:
            self._ticket = scheduler.wait_turn(
                request.call,
                self._holder,
                is_retry=history.attempts > 0,
                is_probe=self.is_probe,
                is_in_hand=is_in_hand,
            )
        if request.call.is_keyed:
            self.claim(request.call)
        history.attempts += 1
        self._key = self.context.key.current
        sent_key = self._key if request.call.is_keyed else None
        reply = self.context.transport.send(request, attempt=history.attempts, key=sent_key)
        self.record(reply.exchange)
        if reply.abandoned_by is not None:  # the source's fault alone: the wire is as it was
            raise reply.abandoned_by
        scheduler.record(reply.exchange, self._ticket, self._holder, is_probe=self.is_probe)
        return reply

    def _apply_decision(self, exchange: Exchange) -> None:
        """Do what the retry rule says: return to repeat the call, or raise."""
        history, stop = self._history[exchange.call], self.stop
        # A call that was aborted because the leg ends says nothing about the item.
        if exchange.failure is not None and stop.is_aborted:
            stop.check()
        if self.context.transport.left_seconds <= 0.0:
            _give_up(exchange)
        if exchange.is_throttled:
            self._stop_if_used_up(exchange)
        else:
            history.failures += 1
        step, wait_seconds = decide(
            exchange,
            self.retry,
            failures=history.failures,
            fresh_slots=history.fresh_slots,
            jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
            is_of_outage=self.is_probe and self.context.scheduler.is_open,
        )
        if step is Step.GIVE_UP:
            _give_up(exchange)
        if step is Step.RENEW_KEY:
            self._renew_key(exchange)
            return
        if step is Step.PAUSE_ALL:
            self.context.scheduler.pause_all(exchange, self._ticket, wait_seconds)
        stop.rest_in_hand(wait_seconds)
        if step is Step.FRESH_SLOT:
            history.fresh_slots += 1
            raise call_error(SlotSpent, exchange)

    def _stop_if_used_up(self, exchange: Exchange) -> None:
        # A busy lane and a used-up quota both answer 429 with the same code (contract, Errors 5). The headroom of
        # GET /partner/usage tells them apart: it is the authoritative one (contract, Limits).
        headers = exchange.headers
        is_long = (headers.retry_after_seconds or 0.0) > _LONG_WAIT_SECONDS
        if exchange.call is Call.ROTATE or not (is_long or headers.rate_remaining == 0):
            return
        headroom = headers.rate_remaining
        if exchange.call is not Call.USAGE:
            headroom = self._checked_headroom(is_long=is_long)
        elif self._is_asked_again(exchange):
            return
        if headroom is not None and headroom <= 0:
            used_up = f"The key's quota is used up; {reset_clause(headers.rate_reset, exchange.ended_at)}."
            self._stop(RunMustStop(used_up, ended_by=EndedBy.QUOTA, quota_reset=headers.rate_reset))

    def _is_asked_again(self, exchange: Exchange) -> bool:
        # A lane that is busy for a moment may say zero too. The answer after the wait that it asks for tells.
        wait_seconds = exchange.headers.retry_after_seconds
        is_short = wait_seconds is not None and wait_seconds <= self.retry.longest_wait_seconds
        return is_short and exchange.attempt == 1 < self.retry.attempts

    def _checked_headroom(self, *, is_long: bool) -> int | None:
        scheduler = self.context.scheduler
        # Other calls may report zero for long, and each check costs a call, so an answer of the last seconds is recent
        # enough. A long wait asks for one of its own.
        since = scheduler.clock()
        if not is_long:
            since -= _ANSWER_HOLDS_SECONDS
        scheduler.drop(None, self._ticket)  # the call is over; in an outage the check could not go before that
        return self.context.headroom_check.headroom(since, scheduler.clock, self._ask_headroom)

    def _ask_headroom(self) -> int | None:
        if self.stop.reason is not None:  # no other file begins: those in hand wait as they were told
            return None
        # Before others, since a probe may wait for it.
        unattributed = replace(self, record=self.context.record_unattributed, is_probe=True)
        request = self.request(Call.USAGE, "/partner/usage", days=1)
        try:
            reply = unattributed.ask(request)
        except CallFailed:
            return None
        return reply.exchange.headers.rate_remaining

    def _renew_key(self, exchange: Exchange) -> None:
        """Go on with another key if its source now holds one (contract, Authentication 3)."""
        # A rotation goes on with no other: an Idempotency-Key belongs to one key.
        with suppress(UsageError):
            if exchange.call is not Call.ROTATE and self.context.key.renew(self._key):
                return
        # A 403 that is no ApiError is by something on the way, and says nothing of the key.
        if exchange.error_code is not None:
            # A probe shows whether it is the key; where nothing is probed, the leg ends.
            if not self.is_of_many:
                self._stop(RunMustStop(KEY_REFUSED, ended_by=EndedBy.KEY_REFUSED))
            if not self.is_probe:
                self.context.scheduler.open_circuit()
        _give_up(exchange)

    def _stop(self, reason: RunMustStop) -> NoReturn:
        self.stop.pull(reason)
        raise reason


def _give_up(exchange: Exchange) -> NoReturn:
    if exchange.is_shortage:
        raise call_error(CallNotMade, exchange)
    if exchange.call is Call.SLOT:
        raise call_error(SlotRefused, exchange)
    raise call_error(CallFailed, exchange)
