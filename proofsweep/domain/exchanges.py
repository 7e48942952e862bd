"""One HTTP exchange as the audit trail keeps it: the call, its status and headers, never a body."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus

from proofsweep.domain.headers import AnswerHeaders

# Statuses of the storage target that say nothing about the audio: the upload came too slowly, or too early.
_UNTIMELY_STATUSES = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
_SPENT_STATUSES = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


class Call(StrEnum):
    """What an exchange was for. It is never a path, because paths hold proof IDs."""

    HEALTH = "health"
    KEYS = "keys"
    ROTATE = "rotate"
    USAGE = "usage"
    PROOFS = "proofs"
    PROOF = "proof"
    ERASE = "erase"
    ASSET = "asset"
    INTERPRETATION = "interpretation"
    UPLOADS = "uploads"
    VERIFY = "verify"
    SLOT = "slot"
    DOWNLOAD = "download"

    @property
    def is_keyed(self) -> bool:
        return self not in {Call.HEALTH, Call.SLOT, Call.DOWNLOAD}


class Failure(StrEnum):
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BAD_ANSWER = "bad_answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    call: Call
    attempt: int  # from 1, of this call for this row
    started_at: datetime
    elapsed_ms: float
    headers: AnswerHeaders
    status: int | None = None
    error_code: str | None = None
    failure: Failure | None = None
    request_id: str | None = None  # the partner's X-Request-Id
    storage_id: str | None = None  # the storage target's own id, for the slot's form POST
    # of the request's body, when the answer came; None without a connection: nothing can be charged.
    bytes_sent: int | None = 0
    because: str | None = None  # why there was no connection, or no usable answer, in a clause; in no table
    unnamed: tuple[str, ...] = ()  # names of members of the answer that the contract does not name

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(milliseconds=self.elapsed_ms)

    @property
    def is_success(self) -> bool:
        return self.failure is None and 200 <= (self.status or 0) < 300  # noqa: PLR2004 - the class of statuses

    @property
    def is_throttled(self) -> bool:
        """Return whether the service asks us to wait, which is neither an answer nor a failure (contract, Errors 5)."""
        return self.call.is_keyed and self.status == HTTPStatus.TOO_MANY_REQUESTS

    @property
    def is_charged(self) -> bool:
        return self.call.is_keyed and self.bytes_sent is not None


def is_transient(exchange: Exchange) -> bool:
    """Whether a wait can help: after a 5xx, no usable answer, no slot, or a storage target that is not ready."""
    if exchange.is_throttled:
        return False
    status = exchange.status or 0
    is_busy = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
    is_untimely = exchange.call is Call.SLOT and status in _UNTIMELY_STATUSES
    # A request for a slot names no item, so no item is to blame for its refusal; a 403 means the key.
    is_denied = exchange.call is Call.UPLOADS and not exchange.is_success and status != HTTPStatus.FORBIDDEN
    return is_busy or is_untimely or is_denied or exchange.failure is not None


def may_be_outage(exchange: Exchange) -> bool:
    """Whether an outage may be the cause. If other items are answered, it is not."""
    return is_transient(exchange) or is_spent_slot(exchange)


def is_spent_slot(exchange: Exchange) -> bool:
    """Whether the slot cannot be used any more. The contract does not say how the storage target reports that."""
    return exchange.call is Call.SLOT and exchange.status in _SPENT_STATUSES
