"""One HTTP exchange as the audit trail keeps it: the call, its status and headers, never a body.

The contract's version and limits stand here too, each with the section that states it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus
from typing import Self, TypeVar

from proofsweep.domain.models import instant_of

_Value = TypeVar("_Value")

CONTRACT_VERSION = "2.4.2"
SLOT_BYTES = 65 * 1024 * 1024  # contract, Limits: 65 MiB per verification slot
USAGE_DAYS = range(1, 91)  # contract, Limits: the days that GET /partner/usage may be asked for
IDEMPOTENCY_KEY_LENGTH = range(16, 129)  # contract, Limits: in characters
DATE_AGE = timedelta(seconds=5)  # a `Date` says whole seconds, and a busy server may read its clock late
CALLS_PER_ITEM = 2  # contract, Core flow: POST /uploads and POST /verify; the slot's form POST has no key

_MAX_WAIT_SECONDS = 10 * 365 * 86_400  # longest Retry-After that is believed
_MAX_TEXT_CHARS = 200  # kept of one header, so that none floods a table
_MAX_COUNT_DIGITS = 18  # any 18 digits fit 64 bits, and 19 may not
_RATE_HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHeaders:
    """What the headers of one answer say. A header that is absent or malformed is None.

    Of a header that a gateway repeats, which makes it a list, the safest value counts: the longest wait, the least
    headroom.

    `retry_after_seconds` is a duration and `rate_reset` an instant. `rate_limit` is the monthly quota, not a rate.
    `is_replay` says that a rotation was answered before, and that this is the same answer again.
    """

    request_id: str | None = None
    retry_after_seconds: float | None = None
    rate_limit: int | None = None
    rate_remaining: int | None = None
    rate_reset: datetime | None = None
    partner_date: datetime | None = None
    sunset: str | None = None
    is_replay: bool = False

    @classmethod
    def read(cls, headers: Mapping[str, str], *, now: datetime) -> "AnswerHeaders":
        """Read the headers of one answer; `now` turns a `Retry-After` date, which HTTP allows, into a duration."""
        request_id = _text(headers.get("x-request-id")) or _text(headers.get("x-amzn-requestid"))
        partner_date = _date(headers.get("date"))
        wait_seconds = _wait_seconds(headers.get("retry-after"), partner_date or now)
        limit, remaining, reset = [headers.get(name) for name in _RATE_HEADERS]
        replayed = _each(str.lower, headers.get("idempotency-replayed"))
        return cls(
            request_id=request_id,
            retry_after_seconds=wait_seconds,
            rate_limit=min(_each(_count, limit), default=None),
            rate_remaining=min(_each(_headroom, remaining), default=None),
            rate_reset=instant_of(max(_each(_count, reset), default=None)),
            partner_date=partner_date,
            sunset=_text(headers.get("sunset")),
            is_replay="true" in replayed,
        )


def _each(read: Callable[[str], _Value | None], value: str | None) -> list[_Value]:
    """Read a header that may be a list; what is malformed in it is left out."""
    texts = (value or "").split(",")
    values = [read(text.strip()) for text in texts]
    return [value for value in values if value is not None]


def _text(value: str | None) -> str | None:
    text = (value or "").strip()
    return text[:_MAX_TEXT_CHARS] or None


def _count(digits: str) -> int | None:
    # `isdecimal` alone takes the digits of other scripts, which no header has.
    if digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_COUNT_DIGITS:
        return int(digits)
    return None


def _headroom(text: str) -> int | None:
    # Less than none is left where more calls were let through than the quota has.
    if text.startswith("-") and _count(text[1:]) is not None:
        return 0
    return _count(text)


def _wait_seconds(value: str | None, now: datetime) -> float | None:
    waits = _each(_seconds, value)
    date = _date(value)
    if date is not None:
        wait = date - now
        waits.append(max(0.0, wait.total_seconds()))
    # NaN, too, is not within the bounds.
    return max((wait for wait in waits if 0 <= wait <= _MAX_WAIT_SECONDS), default=None)


def _seconds(text: str) -> float | None:
    try:
        return float(text) if text.isascii() else None
    except ValueError:
        return None


@lru_cache(maxsize=64)  # all answers of one second carry the same date
def _date(value: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(value or "")
        if date.tzinfo is None:
            return date.replace(tzinfo=UTC)
        return date.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


# Statuses of the storage target that say nothing about the audio: the upload came too slowly, or too early.
_UNTIMELY_STATUSES = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
_SPENT_STATUSES = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


class Call(StrEnum):
    """What an exchange was for. Its word is never a path, because paths hold proof IDs."""

    endpoint: str  # the contract's name (Endpoints)

    def __new__(cls, word: str, endpoint: str = "") -> Self:
        call = str.__new__(cls, word)
        call._value_ = word
        call.endpoint = endpoint
        return call

    HEALTH = "health", "GET /health"
    KEYS = "keys", "GET /partner/keys"
    ROTATE = "rotate", "POST /partner/keys/rotate"
    USAGE = "usage", "GET /partner/usage"
    PROOFS = "proofs", "GET /proofs"
    PROOF = "proof", "GET /proofs/{proofId}"
    ERASE = "erase", "DELETE /proofs/{proofId}"
    ASSET = "asset", "GET /proofs/{proofId}/asset"
    INTERPRETATION = "interpretation", "GET /proofs/{proofId}/interpretation"
    UPLOADS = "uploads", "POST /uploads"
    VERIFY = "verify", "POST /verify"
    SLOT = "slot", "form POST to the upload slot"
    DOWNLOAD = "download", "GET of an asset's URL"

    @property
    def is_keyed(self) -> bool:
        return self not in {Call.HEALTH, Call.SLOT, Call.DOWNLOAD}


class Failure(StrEnum):
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BAD_ANSWER = "bad_answer"
    SOURCE = "source"  # the file that was being sent changed, or could not be read to its end: no answer was awaited


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    call: Call
    attempt: int  # from 1, of this call in one try of its row
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
    is_shortage: bool = False  # there was no connection, because of this machine alone; in no table
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
