"""What failed exchanges mean, as errors: a sentence for a person, and the facts that support asks for."""

from typing import TypeVar

from proofsweep.contract.error_codes import meaning_of
from proofsweep.errors import ServiceError
from proofsweep.model.exchanges import Call, Exchange

_Error = TypeVar("_Error", bound=ServiceError)


def call_error(kind: type[_Error], exchange: Exchange, reason: str) -> _Error:
    """Make the error of a call that failed for good; `reason` is the slug for the row."""
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
        because = exchange.failure if exchange.because is None else f"{exchange.failure}: {exchange.because}"
        return f"No usable answer ({because}) from {what}, after {exchange.attempt} attempt(s)."
    status = exchange.status or 0
    meaning = "" if exchange.call is Call.SLOT else f" ({meaning_of(status, exchange.error_code)})"
    return f"Status {status}{meaning} from {what}."
