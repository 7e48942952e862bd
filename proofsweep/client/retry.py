"""What to do after an exchange that did not bring what was asked: one pure rule (contract, Errors, Retry safety)."""

from dataclasses import dataclass
from http import HTTPStatus

from proofsweep.batch.exchanges import Call, Exchange, Failure


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
    """The service throttles: nobody sends for so long, then this call is made again."""

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


Decision = Retry | PauseAll | RenewKey | FreshSlot | GiveUp


def decide(exchange: Exchange, policy: RetryPolicy, *, failures: int, fresh_slots: int, jitter: float) -> Decision:
    """Say what follows an exchange that brought no success.

    Args:
        exchange: the one that failed.
        policy: how patient to be.
        failures: transient failures of this call so far, this one included.
        fresh_slots: slots beyond the first that this item has had already.
        jitter: a random number in 0..1.
    """
    wait = max(policy.backoff(failures, jitter), exchange.headers.retry_after_seconds or 0.0)
    if exchange.call in {Call.SLOT, Call.DOWNLOAD}:
        return _after_storage(exchange, policy, wait, failures)
    if exchange.status == HTTPStatus.TOO_MANY_REQUESTS:
        return _after_throttle(exchange, wait)
    if exchange.status == HTTPStatus.FORBIDDEN:
        return RenewKey()
    if is_transient(exchange):
        return Retry(wait) if failures < policy.attempts else GiveUp(reason_of(exchange))
    if exchange.call is Call.VERIFY and _is_client_error(exchange.status) and fresh_slots == 0:
        return FreshSlot(0.0)
    return GiveUp(reason_of(exchange))


def is_transient(exchange: Exchange) -> bool:
    """Say whether waiting can heal it: a 5xx, no answer, or an answer that broke off."""
    server_failed = (exchange.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR
    return server_failed or exchange.failure in {Failure.TIMEOUT, Failure.CONNECTION, Failure.BAD_ANSWER}


def reason_of(exchange: Exchange) -> str:
    """Give the slug for the row of an item whose last exchange this was."""
    if exchange.failure is not None:
        return str(exchange.failure)
    return "slot_refused" if exchange.call is Call.SLOT else f"http_{exchange.status}"


def _after_throttle(exchange: Exchange, wait: float) -> Decision:
    """Wait as told. Rotation has a lane of its own, so its throttle holds back nobody else."""
    told = exchange.headers.retry_after_seconds
    seconds = wait if told is None else told
    return Retry(seconds) if exchange.call is Call.ROTATE else PauseAll(seconds)


def _after_storage(exchange: Exchange, policy: RetryPolicy, wait: float, failures: int) -> Decision:
    """Read the storage target's answer: its 403 is an expired slot and says nothing of the key."""
    expired = exchange.status == HTTPStatus.FORBIDDEN
    busy = exchange.status == HTTPStatus.TOO_MANY_REQUESTS
    if (expired or busy or is_transient(exchange)) and failures < policy.attempts:
        return FreshSlot(0.0 if expired and failures == 1 else wait)
    return GiveUp(reason_of(exchange))


def _is_client_error(status: int | None) -> bool:
    return status is not None and HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
