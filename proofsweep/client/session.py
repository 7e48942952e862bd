"""The one retry layer: asks until there is an answer, and obeys the retry rule in between."""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NoReturn, TypeVar, assert_never

from pydantic import SecretStr

from proofsweep.client.keys import CurrentKey
from proofsweep.client.messages import Reply, Request
from proofsweep.client.pacing.breaker import CALLS_FOR_ITEMS
from proofsweep.client.pacing.call_queue import Ticket
from proofsweep.client.pacing.dispatcher import Dispatcher
from proofsweep.client.retry import (
    FreshSlot,
    GiveUp,
    PauseAll,
    RenewKey,
    Retry,
    RetryPolicy,
    decide,
    is_everybodys,
)
from proofsweep.client.transport import Transport
from proofsweep.contract.codes import meaning_of
from proofsweep.domain.budget.budget import reset_clause
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.errors import CallFailed, RunMustStop, ServiceError, SlotRefused, SlotSpent, UsageError

_LONG_PAUSE_SECONDS = 120.0
_ANSWER_HOLDS = timedelta(seconds=10)
_WITNESS_ATTEMPTS = 2
_KEY_REFUSED = "The service refused the key (403): is it a key of this very service, and has it not expired?"
_Error = TypeVar("_Error", bound=ServiceError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientContext:
    """What all conversations of a leg share.

    Attributes:
        base_url: ends in `/v1`, without a slash behind it.
        record_aside: takes the exchanges that belong to no row.
        witness: asks about something else, in a conversation that it is given; raises when it is not answered. None
            where a call that fails for good need not be told from a service that fails for everyone.
    """

    base_url: str
    transport: Transport
    gate: Dispatcher
    key: CurrentKey
    policy: RetryPolicy
    record_aside: Callable[[Exchange], None]
    witness: "Callable[[Session], object] | None" = None


@dataclass(slots=True)
class Session:
    """All exchanges for one item, or for one purpose; used by one thread at a time."""

    line: ClientContext
    record: Callable[[Exchange], None]
    _attempts: Counter[Call] = field(default_factory=Counter)
    _failures: Counter[Call] = field(default_factory=Counter)
    _failing_since: dict[Call, datetime] = field(default_factory=dict)
    _fresh_slots: Counter[Call] = field(default_factory=Counter)
    _holder: object = field(default_factory=object)
    _ticket: Ticket | None = None

    def ask(self, request: Request) -> Reply:
        """Make a call until it is answered with a 2xx that can be read.

        Raises:
            CallFailed, SlotRefused: it failed for good.
            SlotSpent: only a fresh slot can help.
            RunMustStop: nothing more can be asked in this leg.
        """
        try:
            while True:
                self._ticket = self._take_turn(request.call)
                key = self.line.key.get()
                reply = self._exchange(request, key)
                if reply.exchange.is_success:
                    self._failures[request.call] = 0
                    self._failing_since.pop(request.call, None)
                    return reply
                self._obey(reply.exchange, key)
        except BaseException:
            self.line.gate.drop(self._holder, self._ticket)
            raise

    def _take_turn(self, call: Call) -> Ticket | None:
        """Wait for a turn in the lane that keyed calls share; rotation has one of its own (contract, Endpoints 3)."""
        if not call.is_keyed or call is Call.ROTATE:
            return None
        return self.line.gate.wait_turn(call, self._holder, is_retry=self._attempts[call] > 0)

    def _exchange(self, request: Request, key: SecretStr) -> Reply:
        self._attempts[request.call] += 1
        sent_key = key if request.call.is_keyed else None
        reply = self.line.transport.send(request, attempt=self._attempts[request.call], key=sent_key)
        self.record(reply.exchange)
        self.line.gate.learn(reply.exchange, self._ticket, self._holder)
        return reply

    def _obey(self, exchange: Exchange, key: SecretStr) -> None:
        """Do what the retry rule says: come back to ask again, or raise. `key` is the one that was sent.

        A call that was broken off for the leg's end says nothing of the item.
        """
        if exchange.failure is not None and self.line.gate.stop.is_overdue:
            self.line.gate.stop.check()
        if not exchange.is_throttled:
            self._failures[exchange.call] += 1
            self._failing_since.setdefault(exchange.call, exchange.started_at)
        decision = decide(
            exchange,
            self.line.policy,
            failures=self._failures[exchange.call],
            fresh_slots=self._fresh_slots[exchange.call],
            jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
        )
        match decision:
            case Retry(wait_seconds):
                self.line.gate.stop.rest(wait_seconds)
            case PauseAll(wait_seconds):
                self._wait_with_all(exchange, wait_seconds)
            case RenewKey():
                self._renew_key(key)
            case FreshSlot(wait_seconds):
                self._leave_slot(exchange, wait_seconds)
            case GiveUp(reason):
                self._give_up(exchange, reason)
            case _:
                assert_never(decision)

    def _wait_with_all(self, exchange: Exchange, wait_seconds: float) -> None:
        """Tell a busy lane from an exhausted quota; both answer 429 with the same code (contract, Errors 5)."""
        is_long = wait_seconds > _LONG_PAUSE_SECONDS
        if exchange.is_throttled and (is_long or exchange.headers.rate_remaining == 0):
            self._stop_if_exhausted(exchange, exchange.ended_at - (timedelta() if is_long else _ANSWER_HOLDS))
        self.line.gate.pause_all(exchange, self._ticket, wait_seconds)
        self.line.gate.stop.rest(wait_seconds)

    def _stop_if_exhausted(self, exchange: Exchange, since: datetime) -> None:
        """Let one thread ask GET /partner/usage, whose headroom is the authoritative one (contract, Limits).

        An answer from `since` or later will do: other calls may say for long that nothing is left, and each question
        costs a call too.
        """
        headroom = exchange.headers.rate_remaining
        if exchange.call is not Call.USAGE:
            headroom = self.line.gate.question.answer(since, self._ask_aside)
        if headroom is not None and headroom <= 0:
            reset = exchange.headers.rate_reset
            spent = f"The key's quota is used up; {reset_clause(reset, exchange.ended_at)}."
            self._stop(RunMustStop(spent, ended_by="quota", quota_reset=reset))

    def _ask_aside(self) -> int | None:
        self.line.gate.stop.check()
        return Session(self.line, self.line.record_aside).ask_headroom()

    def ask_headroom(self) -> int | None:
        """Ask for the calls that are left in this quota window; None when that cannot be had."""
        try:
            return self.ask(usage_request(self.line.base_url, days=1)).exchange.headers.rate_remaining
        except CallFailed:
            return None

    def _renew_key(self, refused: SecretStr) -> None:
        """Go on with another key if its source now holds one; else nobody can go on (contract, Authentication 3)."""
        try:
            renewed = self.line.key.renew(refused)
        except UsageError:
            renewed = False
        if not renewed:
            self._stop(RunMustStop(_KEY_REFUSED, ended_by="key_refused"))

    def _stop(self, reason: RunMustStop) -> NoReturn:
        self.line.gate.stop.pull(reason)
        raise reason

    def _leave_slot(self, exchange: Exchange, wait_seconds: float) -> None:
        self._fresh_slots[exchange.call] += 1
        self.line.gate.stop.rest(wait_seconds)
        raise _error(SlotSpent, exchange, "slot_refused")

    def _give_up(self, exchange: Exchange, reason: str) -> None:
        """End this call, unless it fails for everybody: then wait with the others for an answer or the leg's end."""
        if self._is_everybodys(exchange):
            self.line.gate.end_if_lasting(exchange, self._failing_since[exchange.call])
            self.line.gate.stop.rest(self.line.policy.backoff(self._failures[exchange.call], 1.0))
            if exchange.call is Call.SLOT:
                self._leave_slot(exchange, 0.0)
            return
        kind: type[ServiceError] = SlotRefused if exchange.call is Call.SLOT else CallFailed
        raise _error(kind, exchange, reason)

    def _is_everybodys(self, exchange: Exchange) -> bool:
        """Say whether nobody at all is answered while this call fails, so that its item is not to blame.

        Where hardly anybody else asks, as at the end of a run, the witness does, once in a while for all.
        """
        gate, since = self.line.gate, self._failing_since[exchange.call]
        if self.line.witness is None or exchange.call not in CALLS_FOR_ITEMS or not is_everybodys(exchange):
            return False
        if not gate.was_answered(exchange.call, since) and not gate.many_fail:
            gate.testimony.answer(exchange.ended_at - _ANSWER_HOLDS, self._call_witness)
        return not gate.was_answered(exchange.call, since)

    def _call_witness(self) -> None:
        self.line.gate.stop.check()
        policy = replace(self.line.policy, attempts=_WITNESS_ATTEMPTS)
        alone = Session(replace(self.line, policy=policy, witness=None), self.line.record_aside)
        if self.line.witness is not None:
            with suppress(ServiceError):
                self.line.witness(alone)


def usage_request(base_url: str, *, days: int | None) -> Request:
    """GET /partner/usage for so many days; the contract's default when None."""
    params = {} if days is None else {"days": days}
    return Request(call=Call.USAGE, method="GET", url=f"{base_url}/partner/usage", params=params)


def _error(kind: type[_Error], exchange: Exchange, reason: str) -> _Error:
    return kind(
        _sentence(exchange),
        stage=str(exchange.call),
        reason=reason,
        status=exchange.status,
        code=exchange.error_code,
        request_id=exchange.request_id,
    )


def _sentence(exchange: Exchange) -> str:
    what = "the storage target" if exchange.call is Call.SLOT else f"the call {exchange.call}"
    if exchange.failure is not None:
        return f"No usable answer ({exchange.failure}) from {what}, after {exchange.attempt} attempt(s)."
    status = exchange.status or 0
    meaning = "" if exchange.call is Call.SLOT else f" ({meaning_of(status, exchange.error_code)})"
    return f"Status {status}{meaning} from {what}."
