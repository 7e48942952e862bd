"""The contract's response headers as values (contract, Errors 5-7, Limits, Versioning 3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from proofsweep.contract.lenient import instant_of

_MOST_SECONDS = 10 * 365 * 86_400
_MOST_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHeaders:
    """What the headers of one answer say; a header that is absent or junk is None.

    `retry_after_seconds` is a duration, `rate_reset` an instant; `rate_limit` is the monthly quota and
    never a rate.
    """

    request_id: str | None = None
    retry_after_seconds: float | None = None
    rate_limit: int | None = None
    rate_remaining: int | None = None
    rate_reset: datetime | None = None
    partner_date: datetime | None = None
    sunset: str | None = None

    @classmethod
    def read(cls, headers: Mapping[str, str], *, now: datetime) -> "AnswerHeaders":
        """Take the headers of one answer apart; `headers` is looked up without regard to case.

        Args:
            headers: as received.
            now: for a `Retry-After` that is a date, which HTTP allows though the contract says seconds.
        """
        partner_date = _date(headers.get("date"))
        return cls(
            request_id=_text(headers.get("x-request-id")) or _text(headers.get("x-amzn-requestid")),
            retry_after_seconds=_wait_seconds(headers.get("retry-after"), partner_date or now),
            rate_limit=_count(headers.get("x-ratelimit-limit")),
            rate_remaining=_count(headers.get("x-ratelimit-remaining")),
            rate_reset=instant_of(_count(headers.get("x-ratelimit-reset"))),
            partner_date=partner_date,
            sunset=_text(headers.get("sunset")),
        )


def _text(value: str | None) -> str | None:
    return (value or "").strip()[:_MOST_TEXT] or None


def _count(value: str | None) -> int | None:
    digits = (value or "").strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= len(str(2**62)) - 1 else None


def _wait_seconds(value: str | None, now: datetime) -> float | None:
    """Read a duration in seconds; a fraction and an HTTP date are understood as well."""
    text = (value or "").strip()
    try:
        seconds = float(text) if text.isascii() else -1.0
    except ValueError:
        date = _date(text)
        seconds = -1.0 if date is None else max(0.0, (date - now).total_seconds())
    return seconds if 0 <= seconds <= _MOST_SECONDS else None


@lru_cache(maxsize=64)  # all answers of a second bear the same
def _date(value: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(value or "")
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
