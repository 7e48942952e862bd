"""What to do after an exchange that did not bring what was asked: one pure rule (contract, Errors, Retry safety)."""

from dataclasses import dataclass
from http import HTTPStatus

from proofsweep.domain.exchanges import Call, Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How patient a call is. Backoff doubles from `first_wait_seconds` up to `longest_wait_seconds`.

    A throttled call does not count against `attempts`: waiting one's turn is no failure.
    """

    attempts: int = 5
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 30.0

    def backoff(self, attempt: int, jitter: float) -> float:
        """Give the wait after attempt number `attempt`; `jitter` in 0..1 spreads it over its upper half."""
        wait = min(self.longest_wait_seconds, self.first_wait_seconds * 2.0 ** min(attempt - 1, 30))
        return wait * (0.5 + jitter / 2)


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask again after waiting."""

    wait_seconds: float


@dataclass(frozen=True, slots=True)
class PauseAll:
    """The service throttles or is closed: nobody sends for so long, then this call is made again."""

    wait_seconds: float


@dataclass(frozen=True, slots=True)
class RenewKey:
    """The key was refused: go on only with another one."""


@dataclass(frozen=True, slots=True)
class FreshSlot:
    """This slot is of no use any more; begin again with another after waiting."""

    wait_seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Asking again cannot help; `reason` is the slug for the row."""

    reason: str


_SPENT = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})

Decision = Retry | PauseAll | RenewKey | FreshSlot | GiveUp


def decide(exchange: Exchange, policy: RetryPolicy, *, failures: int, fresh_slots: int, jitter: float) -> Decision:
    """Say what follows an exchange that brought no success.

    Args:
        exchange: the one that failed.
        policy: how patient to be.
        failures: of this call since its last success, this one included; being throttled is none.
        fresh_slots: slots that were asked for because this very call had spent the last one.
        jitter: a random number in 0..1.
    """
    if exchange.call is Call.SLOT:
        return _after_slot(exchange, policy, failures, jitter)
    if exchange.is_throttled:
        return _after_throttle(exchange, policy, jitter)
    if exchange.call.is_keyed and exchange.status == HTTPStatus.FORBIDDEN:
        return RenewKey()
    if is_transient(exchange):
        return _after_outage(exchange, policy, failures, jitter)
    if exchange.call is Call.VERIFY and _is_client_error(exchange.status) and fresh_slots == 0:
        return FreshSlot(0.0)
    return GiveUp(reason_of(exchange))


def is_transient(exchange: Exchange) -> bool:
    """Say whether waiting can heal it: a 5xx, no answer, no usable one, no slot, or a busy storage target."""
    if exchange.is_throttled:
        return False
    status = exchange.status or 0
    busy = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
    return busy or exchange.failure is not None or _is_slot_denied(exchange)


def may_be_outage(exchange: Exchange) -> bool:
    """Say whether nobody may be answered now; where others are, it is the item's own failure all the same."""
    return is_transient(exchange) or is_spent_slot(exchange)


def _is_slot_denied(exchange: Exchange) -> bool:
    """Say whether no slot was given though the key was taken: asking says nothing of an item, so none is to blame."""
    return exchange.call is Call.UPLOADS and not exchange.is_success and exchange.status != HTTPStatus.FORBIDDEN


def is_spent_slot(exchange: Exchange) -> bool:
    """Say whether the slot is of no use any more. The contract leaves open how the storage target says so."""
    return exchange.call is Call.SLOT and exchange.status in _SPENT


def reason_of(exchange: Exchange) -> str:
    """Give the slug for the row of an item whose last exchange this was."""
    if exchange.failure is not None:
        return str(exchange.failure)
    return "slot_refused" if exchange.call is Call.SLOT else f"http_{exchange.status}"


def _after_throttle(exchange: Exchange, policy: RetryPolicy, jitter: float) -> Decision:
    """Wait as told. Rotation has a lane of its own (contract, Endpoints 3), so its throttle holds back nobody else."""
    wait = exchange.headers.retry_after_seconds or policy.backoff(exchange.attempt, jitter)
    if exchange.call is not Call.ROTATE:
        return PauseAll(wait)
    return Retry(wait) if exchange.attempt < policy.attempts else GiveUp(reason_of(exchange))


def _after_outage(exchange: Exchange, policy: RetryPolicy, failures: int, jitter: float) -> Decision:
    """Back off; a service that asks for a longer wait than ours is closed to everybody for so long."""
    if failures >= policy.attempts:
        return GiveUp(reason_of(exchange))
    told = exchange.headers.retry_after_seconds or 0.0
    if told > policy.longest_wait_seconds and exchange.call.is_keyed:
        return PauseAll(told)
    return Retry(_wait(exchange, policy, failures, jitter))


def _after_slot(exchange: Exchange, policy: RetryPolicy, failures: int, jitter: float) -> Decision:
    """Read the storage target's answer: a slot that has expired says nothing of the audio, or of the key."""
    expired = is_spent_slot(exchange)
    if not (expired or is_transient(exchange)) or failures >= policy.attempts:
        return GiveUp(reason_of(exchange))
    return FreshSlot(0.0 if expired and failures == 1 else _wait(exchange, policy, failures, jitter))


def _wait(exchange: Exchange, policy: RetryPolicy, failures: int, jitter: float) -> float:
    """Wait as told if that is longer than our own wait, but never longer than the policy's longest."""
    told = exchange.headers.retry_after_seconds or 0.0
    return max(policy.backoff(failures, jitter), min(told, policy.longest_wait_seconds))


def _is_client_error(status: int | None) -> bool:
    return status is not None and HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
