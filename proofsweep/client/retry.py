"""What follows an exchange without success: one pure rule (contract, Errors, Retry safety)."""

from enum import Enum, auto
from http import HTTPStatus

from proofsweep.config.sections import RetrySettings
from proofsweep.domain.errors import ServiceError
from proofsweep.domain.exchanges import Call, Exchange, is_spent_slot, is_transient

_FIRST_WAIT_SECONDS = 0.5  # before the second attempt
_MOST_DOUBLINGS = 30  # of a wait: more would overflow
_ROTATION_WAIT_SECONDS = 300.0  # the longest wait for the lane of rotations
# Calls that may have a lane of their own: what they are told holds no other call back (contract, Endpoints 3).
_OWN_LANES = frozenset({Call.ROTATE, Call.USAGE})
# Statuses of verify that an upload explains which is gone, or was not stored. The contract shows only 400 for that
# (Endpoints 11) and leaves other codes open; 404, 409 and 410 mean it by their names. 413 and 422 refuse the content:
# the same bytes would be refused again.
_UPLOAD_GONE_STATUSES = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.GONE})


class Step(Enum):
    RETRY = auto()
    PAUSE_ALL = auto()  # the service throttles or is down: no call goes for so long, then this one is repeated
    RENEW_KEY = auto()  # the key was refused: only another key can go on
    FRESH_SLOT = auto()  # this slot is spent: begin again with another one
    GIVE_UP = auto()  # a repeat cannot help


Decision = tuple[Step, float]
"""What follows, after a wait of so many seconds."""
GIVE_UP: Decision = Step.GIVE_UP, 0.0


def decide(
    exchange: Exchange,
    retry: RetrySettings,
    *,
    failures: int,
    fresh_slots: int,
    jitter: float,
    is_of_outage: bool = False,
) -> Decision:
    """Return what follows an exchange without success.

    `failures` of this call are counted since its last success, this one included; a 429 is a wait and no failure.
    `fresh_slots` were requested because this call had spent the one before. `jitter` is a random number in 0..1.
    `is_of_outage` says that the circuit is open, and that this call was a probe.
    """
    if exchange.call is Call.SLOT:
        return _after_slot(exchange, retry, failures, jitter)
    if exchange.is_throttled:
        return _after_throttle(exchange, retry, jitter)
    if exchange.call.is_keyed and exchange.status == HTTPStatus.FORBIDDEN:
        return Step.RENEW_KEY, 0.0
    if is_transient(exchange):
        return _after_outage(exchange, retry, failures, jitter, is_of_outage=is_of_outage)
    if exchange.call is Call.VERIFY and exchange.status in _UPLOAD_GONE_STATUSES and fresh_slots == 0:
        return Step.FRESH_SLOT, 0.0
    return GIVE_UP


def backoff(retry: RetrySettings, attempt: int, jitter: float) -> float:
    """Return the wait after this attempt, from 1: it doubles up to the longest; `jitter` spreads its upper half."""
    doublings = min(attempt - 1, _MOST_DOUBLINGS)
    wait = min(retry.longest_wait_seconds, _FIRST_WAIT_SECONDS * 2.0**doublings)
    return wait * (0.5 + jitter / 2)


def reason_of(exchange: Exchange) -> str:
    if exchange.failure is not None:
        return str(exchange.failure)
    if exchange.call is Call.SLOT:
        return "slot_refused"
    return f"http_{exchange.status}"


def _after_throttle(exchange: Exchange, retry: RetrySettings, jitter: float) -> Decision:
    """Wait as told; only a 429 of the shared lane holds all calls back."""
    wait = exchange.headers.retry_after_seconds or backoff(retry, exchange.attempt, jitter)
    if exchange.call not in _OWN_LANES:
        return Step.PAUSE_ALL, wait
    # Nothing waits long for usage: a leg can go on without an answer. A rotation that must wait long is given up: the
    # person repeats it later, with the same Idempotency-Key.
    longest_seconds = retry.longest_wait_seconds
    if exchange.call is Call.ROTATE:
        longest_seconds = _ROTATION_WAIT_SECONDS
    if exchange.attempt >= retry.attempts or wait > longest_seconds:
        return GIVE_UP
    return Step.RETRY, wait


def _after_outage(
    exchange: Exchange, retry: RetrySettings, failures: int, jitter: float, *, is_of_outage: bool
) -> Decision:
    """Wait as told, up to the longest wait; what fails so often is tried once more at the end of the leg."""
    if failures >= retry.attempts:
        return GIVE_UP
    # One long wait among successes is that of its own call. Only what a probe of an outage is told holds for all calls.
    retry_after_seconds = exchange.headers.retry_after_seconds or 0.0
    is_of_lane = exchange.call.is_keyed and exchange.call not in _OWN_LANES
    if is_of_outage and is_of_lane and retry_after_seconds > retry.longest_wait_seconds:
        return Step.PAUSE_ALL, retry_after_seconds
    return Step.RETRY, _wait(exchange, retry, failures, jitter)


def _after_slot(exchange: Exchange, retry: RetrySettings, failures: int, jitter: float) -> Decision:
    """Read the storage target's answer: an expired slot says nothing about the audio or the key."""
    is_expired = is_spent_slot(exchange)
    if not (is_expired or is_transient(exchange)) or failures >= retry.attempts:
        return GIVE_UP
    if is_expired and failures == 1:
        return Step.FRESH_SLOT, 0.0
    return Step.FRESH_SLOT, _wait(exchange, retry, failures, jitter)


def _wait(exchange: Exchange, retry: RetrySettings, failures: int, jitter: float) -> float:
    retry_after_seconds = exchange.headers.retry_after_seconds or 0.0
    asked_seconds = min(retry_after_seconds, retry.longest_wait_seconds)
    return max(backoff(retry, failures, jitter), asked_seconds)


def call_error(kind: type[ServiceError], exchange: Exchange) -> ServiceError:
    return kind(
        _sentence(exchange),
        stage=str(exchange.call),
        reason=reason_of(exchange),
        status=exchange.status,
        code=exchange.error_code,
        request_id=exchange.request_id,
    )


def _sentence(exchange: Exchange) -> str:
    what = "the storage target" if exchange.call is Call.SLOT else f"the call {exchange.call}"
    if exchange.failure is not None:
        because = str(exchange.failure)
        if exchange.because is not None:
            because = f"{because}: {exchange.because}"
        return f"No usable answer ({because}) from {what}, after {exchange.attempt} attempt(s)."
    status = exchange.status or 0
    phrase = ""
    if status in {*HTTPStatus}:
        phrase = f" ({HTTPStatus(status).phrase})"
    return f"Status {status}{phrase} from {what}."
