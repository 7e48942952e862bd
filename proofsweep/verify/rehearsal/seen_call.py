"""One exchange of an earlier leg, as far as a rehearsal needs it."""

from dataclasses import dataclass
from http import HTTPStatus

from proofsweep.model.exchanges import Call, Exchange

# A longer wait is not of the lane, as in `partner.session`.
_LONG_WAIT_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenCall:
    """One exchange for an item, equal to no other.

    `began` is in seconds since 1970; `status` is None if there was no usable answer.
    """

    call: Call
    began: float
    seconds: float
    status: int | None
    sent_bytes: int = 0
    retry_after_seconds: float | None = None

    @property
    def ended(self) -> float:
        """When the answer was read."""
        return self.began + self.seconds

    @property
    def is_success(self) -> bool:
        """Whether it was answered with a 2xx."""
        return self.status is not None and self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def is_refused(self) -> bool:
        """Whether the lane refused it; a used-up quota asks for a longer wait, and says nothing of the lane."""
        is_long = (self.retry_after_seconds or 0.0) > _LONG_WAIT_SECONDS
        return self.status == HTTPStatus.TOO_MANY_REQUESTS and not is_long


def seen_call(exchange: Exchange) -> SeenCall:
    """Return what counts of an exchange."""
    return SeenCall(
        call=exchange.call,
        began=exchange.started_at.timestamp(),
        seconds=exchange.elapsed_ms / 1000,
        status=exchange.status if exchange.failure is None else None,
        sent_bytes=exchange.bytes_sent or 0,
        retry_after_seconds=exchange.headers.retry_after_seconds,
    )
