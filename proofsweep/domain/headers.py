"""The contract's version, limits and response headers, each with the section that states it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from proofsweep.domain.models import instant_of

CONTRACT_VERSION = "2.4.2"
SLOT_BYTES = 65 * 1024 * 1024  # contract, Limits: 65 MiB per verification slot
USAGE_DAYS = range(1, 91)  # contract, Limits: the days that GET /partner/usage may be asked for
IDEMPOTENCY_KEY_LENGTH = range(16, 129)  # contract, Limits: in characters
CALLS_PER_ITEM = 2  # contract, Core flow: POST /uploads and POST /verify; the slot's form POST has no key

_MAX_WAIT_SECONDS = 10 * 365 * 86_400  # longest Retry-After that is believed
_MAX_TEXT_CHARS = 200  # kept of one header, so that none floods a table
_MAX_COUNT_DIGITS = 18  # any 18 digits fit 64 bits, and 19 may not
_RATE_HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHeaders:
    """What the headers of one answer say. A header that is absent or malformed is None.

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
        partner_date = _date(headers.get("date"))
        limit, remaining, reset = [_count(headers.get(name)) for name in _RATE_HEADERS]
        return cls(
            request_id=_text(headers.get("x-request-id")) or _text(headers.get("x-amzn-requestid")),
            retry_after_seconds=_wait_seconds(headers.get("retry-after"), partner_date or now),
            rate_limit=limit,
            rate_remaining=remaining,
            rate_reset=instant_of(reset),
            partner_date=partner_date,
            sunset=_text(headers.get("sunset")),
            is_replay=(headers.get("idempotency-replayed") or "").strip().lower() == "true",
        )


def _text(value: str | None) -> str | None:
    return (value or "").strip()[:_MAX_TEXT_CHARS] or None


def _count(value: str | None) -> int | None:
    digits = (value or "").strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_COUNT_DIGITS else None


def _wait_seconds(value: str | None, now: datetime) -> float | None:
    text = (value or "").strip()
    try:
        seconds = float(text) if text.isascii() else -1.0
    except ValueError:
        date = _date(text)
        seconds = -1.0 if date is None else max(0.0, (date - now).total_seconds())
    return seconds if 0 <= seconds <= _MAX_WAIT_SECONDS else None


@lru_cache(maxsize=64)  # all answers of one second carry the same date
def _date(value: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(value or "")
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
