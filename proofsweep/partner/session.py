"""The one retry layer: repeats a call until it is answered, and does what the retry rule says in between."""

import random
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, NoReturn, TypeVar, assert_never

from pydantic import SecretStr

from proofsweep.endings import EndedBy
from proofsweep.errors import CallFailed, RunMustStop, SlotRefused, SlotSpent, UsageError
from proofsweep.model.exchanges import Call, Exchange
from proofsweep.partner.keys import CurrentKey
from proofsweep.partner.messages import Reply, Request
from proofsweep.partner.pacing.call_queue import Ticket
from proofsweep.partner.pacing.dispatcher import Dispatcher
from proofsweep.partner.retry import (
    FreshSlot,
    GiveUp,
    PauseAll,
    RenewKey,
    Retry,
    RetryPolicy,
    call_error,
    decide,
    reason_of,
)
from proofsweep.partner.stop import StopSwitch
from proofsweep.partner.transport import Transport
from proofsweep.text import reset_clause

_Result = TypeVar("_Result")


class SingleFlight(Generic[_Result]):
    """Lets one thread make a call on behalf of all that wait for the same answer; times are monotonic seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: list[tuple[float, _Result]] = []

    def result(self, since: float, clock: Callable[[], float], call: Callable[[], _Result]) -> _Result:
        """Return the result of a call that began at or after `since`: an earlier thread's, or one that is made now."""
        with self._lock:
            if not self._results or self._results[0][0] < since:
                began_at = clock()
                self._results = [(began_at, call())]
            return self._results[0][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientContext:
    """What all sessions of a leg share.

    Attributes:
        base_url: ends in `/v1`, without a slash after it.
        record_unattributed: takes the exchanges that belong to no row.
        watch: is told of every exchange.
        control: asked when calls fail for many items. It returns when the service works, and says whether the item may
            go on with its tries. None where there is only one purpose, so that a refused key ends everything.
        headroom_check: asks for the calls that are left, on behalf of all sessions.
    """

    base_url: str
    transport: Transport
    dispatcher: Dispatcher
    key: CurrentKey
    policy: RetryPolicy
    record_unattributed: Callable[[Exchange], None]
    watch: Callable[[Exchange], None] = lambda _exchange: None
    control: Callable[[], bool] | None = None
    headroom_check: SingleFlight[int | None] = field(default_factory=SingleFlight)


# A longer wait asks for a check of the quota. Chosen: half would spend calls on ordinary waits; twice would check late.
_LONG_WAIT_SECONDS = 120.0
# How long an answer on behalf of all holds. Chosen: half would double such calls; twice would notice a change later.
_ANSWER_HOLDS_SECONDS = 10.0
# Attempts of a control's calls. Chosen: half takes one lost connection for an outage; twice delays all that wait.
_CONTROL_ATTEMPTS = 2
KEY_REFUSED = "The service refused the key (403): is it a key of this very service, and has it not expired?"


@dataclass(slots=True)
class _History:
    """What became of one call in this session."""

    attempts: int = 0
    failures: int = 0
    fresh_slots: int = 0


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One exchange, the key in use when it was sent, and when it ended in monotonic seconds."""

    reply: Reply
    key: SecretStr
    ended_at: float

    @property
    def exchange(self) -> Exchange:
        return self.reply.exchange


@dataclass(slots=True)
class Session:
    """All exchanges for one item, or for one purpose; used by one thread at a time.

    Attributes:
        is_control: its calls go before all others, and also while those are held.
    """

    context: ClientContext
    record: Callable[[Exchange], None]
    is_control: bool = False
    _history: defaultdict[Call, _History] = field(default_factory=lambda: defaultdict(_History))
    _holder: object = field(default_factory=object)
    _ticket: Ticket | None = None

    @property
    def base_url(self) -> str:
        """The service's base URL."""
        return self.context.base_url

    @property
    def stop(self) -> StopSwitch:
        """The switch that ends the leg."""
        return self.context.dispatcher.stop

    def with_attempts(self, attempts: int) -> "Session":
        """Return a new session whose calls are given up after so many attempts; its exchanges go to the same record."""
        policy = replace(self.context.policy, attempts=attempts)
        return Session(replace(self.context, policy=policy), self.record, self.is_control)

    def asking_once(self) -> "Session":
        """Give a new session that repeats nothing, not even a throttled call for the usage; for a monitor's probes."""
        policy = replace(self.context.policy, attempts=1, repeats_usage=False)
        return Session(replace(self.context, policy=policy), self.record)

    def with_control(self, control: Callable[[], bool]) -> "Session":
        """Return a new session for a leg's items; `control` is asked when calls fail for many of them."""
        return Session(replace(self.context, control=control), self.record)

    def for_control(self) -> "Session":
        """Return a new session for a control of the leg, which spends few tries."""
        policy = replace(self.context.policy, attempts=_CONTROL_ATTEMPTS)
        return Session(replace(self.context, policy=policy, control=lambda: True), self.record, is_control=True)

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
            is_retry = history.attempts > 0
            self._ticket = dispatcher.wait_turn(
                request.call, self._holder, is_retry=is_retry, is_control=self.is_control
            )
        history.attempts += 1
        key = self.context.key.get()
        sent_key = key if request.call.is_keyed else None
        reply = self.context.transport.send(request, attempt=history.attempts, key=sent_key)
        ended_at = dispatcher.clock()
        self.record(reply.exchange)
        self.context.watch(reply.exchange)
        dispatcher.note(reply.exchange, self._ticket, self._holder)
        return _Attempt(reply, key, ended_at)

    def _obey(self, attempt: _Attempt) -> None:
        """Do what the retry rule says: return to repeat the call, or raise.

        A call that was aborted because the leg ends says nothing about the item.
        """
        exchange, history, stop = attempt.exchange, self._history[attempt.exchange.call], self.stop
        if exchange.failure is not None and stop.is_aborted:
            stop.check()
        if exchange.is_throttled:
            self._stop_if_used_up(attempt)
        else:
            history.failures += 1
            self._ask_control(exchange)
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
                self._renew_key(attempt)
            case FreshSlot(wait_seconds):
                self._release_slot(exchange, wait_seconds)
            case GiveUp():
                _give_up(exchange)
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
            self._stop(RunMustStop(used_up, ended_by=EndedBy.QUOTA, quota_reset=headers.rate_reset))

    def _ask_headroom(self) -> int | None:
        """Ask for the calls that are left in this quota period; None when there is no answer."""
        self.stop.check()
        unattributed = Session(self.context, self.context.record_unattributed, is_control=True)  # a control may wait
        try:
            return unattributed.ask_usage(days=1).exchange.headers.rate_remaining
        except CallFailed:
            return None

    def _ask_control(self, exchange: Exchange) -> None:
        """Ask whose fault it is when this call fails for many items; give up where a control cannot be made yet."""
        context = self.context
        if context.control is not None and context.dispatcher.is_doubtful(exchange.call) and not context.control():
            _give_up(exchange)

    def _renew_key(self, attempt: _Attempt) -> None:
        """Go on with another key if its source now holds one; else a control decides (contract, Authentication 3).

        Where there is no control, the leg ends.
        """
        try:
            is_renewed = self.context.key.renew(attempt.key)
        except UsageError:
            is_renewed = False
        if not is_renewed and self.context.control is not None:
            _give_up(attempt.exchange)
        if not is_renewed:
            self._stop(RunMustStop(KEY_REFUSED, ended_by=EndedBy.KEY_REFUSED))

    def _stop(self, reason: RunMustStop) -> NoReturn:
        self.stop.pull(reason)
        raise reason

    def _release_slot(self, exchange: Exchange, wait_seconds: float) -> None:
        self._history[exchange.call].fresh_slots += 1
        self.stop.rest(wait_seconds)
        raise call_error(SlotSpent, exchange, "slot_refused")


def _give_up(exchange: Exchange) -> NoReturn:
    """End this call; what it says of the item is for others to judge."""
    raise call_error(SlotRefused if exchange.call is Call.SLOT else CallFailed, exchange, reason_of(exchange))
