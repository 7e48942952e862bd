"""The one retry layer: repeats a call until it is answered, and does what the retry rule says in between."""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NoReturn, assert_never

from pydantic import SecretStr

from proofsweep.client.call_errors import call_error
from proofsweep.client.context import ClientContext
from proofsweep.client.messages import Reply, Request
from proofsweep.client.pacing.call_queue import Ticket
from proofsweep.client.pacing.service_health import Culprit
from proofsweep.client.retry import FreshSlot, GiveUp, PauseAll, RenewKey, Retry, decide
from proofsweep.domain.budget.budget import reset_clause
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.errors import CallFailed, RunMustStop, ServiceError, SlotRefused, SlotSpent, UsageError

# A longer wait asks for a check of the quota. Chosen: half would spend calls on ordinary waits; twice would check late.
_LONG_WAIT_SECONDS = 120.0
# How long an answer on behalf of all holds. Chosen: half would double such calls; twice would notice a change later.
_ANSWER_HOLDS_SECONDS = 10.0
# Attempts of a probe's calls. Chosen: half takes one lost connection for an outage; twice delays all that wait for it.
_PROBE_ATTEMPTS = 2
_KEY_REFUSED = "The service refused the key (403): is it a key of this very service, and has it not expired?"


@dataclass(slots=True)
class _History:
    """What became of one call in this session; `failing_since` is the first of its `failures`, in monotonic seconds."""

    attempts: int = 0
    failures: int = 0
    failing_since: float = 0.0
    fresh_slots: int = 0


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One exchange, the key in use when it was sent, and when it began and ended in monotonic seconds."""

    reply: Reply
    key: SecretStr
    began_at: float
    ended_at: float

    @property
    def exchange(self) -> Exchange:
        return self.reply.exchange


@dataclass(slots=True)
class Session:
    """All exchanges for one item, or for one purpose; used by one thread at a time."""

    context: ClientContext
    record: Callable[[Exchange], None]
    _history: defaultdict[Call, _History] = field(default_factory=lambda: defaultdict(_History))
    _holder: object = field(default_factory=object)
    _ticket: Ticket | None = None

    @property
    def base_url(self) -> str:
        """The service's base URL."""
        return self.context.base_url

    def with_attempts(self, attempts: int) -> "Session":
        """Give a new session whose calls are given up after so many attempts; its exchanges go to the same record."""
        policy = replace(self.context.policy, attempts=attempts)
        return Session(replace(self.context, policy=policy), self.record)

    def asking_once(self) -> "Session":
        """Give a new session that repeats nothing, not even a throttled call for the usage; for a monitor's probes."""
        policy = replace(self.context.policy, attempts=1, repeats_usage=False)
        return Session(replace(self.context, policy=policy), self.record)

    def with_probe(self, probe: "Callable[[Session], object] | None") -> "Session":
        """Give a new session with another health probe; its exchanges go to the same record."""
        return Session(replace(self.context, probe=probe), self.record)

    def ask(self, request: Request) -> Reply:
        """Make a call until it is answered with a 2xx that can be read.

        Raises:
            CallFailed, SlotRefused: it failed for good.
            SlotSpent: only a fresh slot can help.
            RunMustStop: no more calls can be made in this leg.
        """
        try:
            while True:
                attempt = self._attempt(request)
                if attempt.exchange.is_success:
                    self._history[request.call].failures = 0
                    return attempt.reply
                self._obey(attempt)
        except BaseException:
            self.context.dispatcher.drop(self._holder, self._ticket)
            raise

    def ask_usage(self, days: int | None) -> Reply:
        """GET /partner/usage for so many days; the contract's default when None."""
        params: Mapping[str, int] = {} if days is None else {"days": days}
        return self.ask(Request(call=Call.USAGE, method="GET", url=f"{self.base_url}/partner/usage", params=params))

    def _attempt(self, request: Request) -> _Attempt:
        """Send once, when the dispatcher lets the call go.

        Keyed calls share a lane; rotation has its own (contract, Endpoints 3).
        """
        history, dispatcher, self._ticket = self._history[request.call], self.context.dispatcher, None
        if request.call.is_keyed and request.call is not Call.ROTATE:
            self._ticket = dispatcher.wait_turn(request.call, self._holder, is_retry=history.attempts > 0)
        history.attempts += 1
        key, began_at = self.context.key.get(), dispatcher.clock()
        sent_key = key if request.call.is_keyed else None
        reply = self.context.transport.send(request, attempt=history.attempts, key=sent_key)
        ended_at = dispatcher.clock()
        self.record(reply.exchange)
        self.context.watch(reply.exchange)
        dispatcher.note(reply.exchange, self._ticket, self._holder)
        return _Attempt(reply, key, began_at, ended_at)

    def _obey(self, attempt: _Attempt) -> None:
        """Do what the retry rule says: return to repeat the call, or raise.

        A call that was aborted because the leg ends says nothing about the item.
        """
        exchange, history, stop = attempt.exchange, self._history[attempt.exchange.call], self.context.dispatcher.stop
        if exchange.failure is not None and stop.is_aborted:
            stop.check()
        if exchange.is_throttled:
            self._stop_if_used_up(attempt)
        else:
            if history.failures == 0:
                history.failing_since = attempt.began_at
            history.failures += 1
        decision = decide(
            exchange,
            self.context.policy,
            failures=history.failures,
            fresh_slots=history.fresh_slots,
            jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
        )
        match decision:
            case Retry(wait_seconds):
                stop.rest(wait_seconds)
            case PauseAll(wait_seconds):
                self.context.dispatcher.pause_all(exchange, self._ticket, wait_seconds)
                stop.rest(wait_seconds)
            case RenewKey():
                self._renew_key(attempt.key)
            case FreshSlot(wait_seconds):
                self._release_slot(exchange, wait_seconds)
            case GiveUp(reason):
                self._give_up(attempt, reason)
            case _:
                assert_never(decision)

    def _stop_if_used_up(self, attempt: _Attempt) -> None:
        """Tell a busy lane from a used-up quota; both answer 429 with the same code (contract, Errors 5).

        The headroom of GET /partner/usage is the authoritative one (contract, Limits). Other calls may report zero for
        long, and each check costs a call, so an answer of the last seconds is recent enough.
        """
        exchange, headers = attempt.exchange, attempt.exchange.headers
        is_long = (headers.retry_after_seconds or 0.0) > _LONG_WAIT_SECONDS
        if exchange.call is Call.ROTATE or not (is_long or headers.rate_remaining == 0):
            return
        headroom = headers.rate_remaining
        if exchange.call is not Call.USAGE:
            dispatcher, since = self.context.dispatcher, attempt.ended_at - (0.0 if is_long else _ANSWER_HOLDS_SECONDS)
            dispatcher.drop(None, self._ticket)  # the call is over; in an outage the check could not go before that
            headroom = self.context.headroom_check.result(since, dispatcher.clock, self._ask_headroom)
        if headroom is not None and headroom <= 0:
            used_up = f"The key's quota is used up; {reset_clause(headers.rate_reset, exchange.ended_at)}."
            self._stop(RunMustStop(used_up, ended_by="quota", quota_reset=headers.rate_reset))

    def _ask_headroom(self) -> int | None:
        """Ask for the calls that are left in this quota period; None when there is no answer."""
        self.context.dispatcher.stop.check()
        unattributed = Session(self.context, self.context.record_unattributed)
        try:
            return unattributed.ask_usage(days=1).exchange.headers.rate_remaining
        except CallFailed:
            return None

    def _renew_key(self, refused: SecretStr) -> None:
        """Go on with another key if its source now holds one; else the leg ends (contract, Authentication 3)."""
        try:
            is_renewed = self.context.key.renew(refused)
        except UsageError:
            is_renewed = False
        if not is_renewed:
            self._stop(RunMustStop(_KEY_REFUSED, ended_by="key_refused"))

    def _stop(self, reason: RunMustStop) -> NoReturn:
        self.context.dispatcher.stop.pull(reason)
        raise reason

    def _release_slot(self, exchange: Exchange, wait_seconds: float) -> None:
        self._history[exchange.call].fresh_slots += 1
        self.context.dispatcher.stop.rest(wait_seconds)
        raise call_error(SlotSpent, exchange, "slot_refused")

    def _give_up(self, attempt: _Attempt, reason: str) -> None:
        """End this call if the item is to blame; else wait, to repeat it until the service answers or the leg ends."""
        exchange, history, dispatcher = attempt.exchange, self._history[attempt.exchange.call], self.context.dispatcher
        if self._blame(attempt, history.failing_since) is Culprit.ITEM:
            raise call_error(SlotRefused if exchange.call is Call.SLOT else CallFailed, exchange, reason)
        dispatcher.stop_if_lost(exchange, history.failing_since)
        dispatcher.stop.rest(self.context.policy.backoff(history.failures, 1.0))
        if exchange.call is Call.SLOT:
            self._release_slot(exchange, 0.0)

    def _blame(self, attempt: _Attempt, since: float) -> Culprit:
        """Say who is to blame for a call that has failed since then; where nobody else asks, the health probe does."""
        dispatcher = self.context.dispatcher
        if self.context.probe is None:
            return Culprit.ITEM
        blame = dispatcher.blame(attempt.exchange, since)
        if blame is Culprit.UNKNOWN:
            recent = attempt.ended_at - _ANSWER_HOLDS_SECONDS
            self.context.health_check.result(recent, dispatcher.clock, self._probe)
            blame = dispatcher.blame(attempt.exchange, since)
        return blame

    def _probe(self) -> None:
        """Make the health probe in a session of its own; `dispatcher.blame` then knows whether it was answered."""
        self.context.dispatcher.stop.check()
        policy = replace(self.context.policy, attempts=_PROBE_ATTEMPTS)
        alone = Session(replace(self.context, policy=policy, probe=None), self.context.record_unattributed)
        if self.context.probe is not None:
            with suppress(ServiceError):
                self.context.probe(alone)
