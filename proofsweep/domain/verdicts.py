"""What the service says about one credential, what the caller does next, and its error codes (contract, Verdicts)."""

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType


class Verdict(StrEnum):
    """The verdicts of contract 2.4.2, spelled as on the wire."""

    VALID = "valid"
    AUDIO_CHANGED = "audioChanged"
    TAMPERED = "tampered"
    UNREGISTERED = "unregistered"
    UNREADABLE = "unreadable"
    LOCAL_SEAL = "local_seal"


class Action(StrEnum):
    ACCEPT = "accept"
    REJECT = "reject"
    REQUEST_MATCHING_PAIR = "request_matching_pair"
    DO_NOT_ACCEPT_AS_ISSUED = "do_not_accept_as_issued"
    FIX_CATALOG = "fix_catalog"
    TRY_AGAIN = "try_again"


VERDICT_ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        Verdict.VALID: Action.ACCEPT,
        Verdict.AUDIO_CHANGED: Action.REQUEST_MATCHING_PAIR,
        Verdict.TAMPERED: Action.REJECT,
        Verdict.UNREGISTERED: Action.REJECT,
        Verdict.UNREADABLE: Action.REJECT,
        Verdict.LOCAL_SEAL: Action.DO_NOT_ACCEPT_AS_ISSUED,
    }
)
"""The contract's table of caller actions. FIX_CATALOG and TRY_AGAIN are ours; no verdict leads to them."""

MEANING_OF_VALID = (
    "valid: the service confirmed its own signature, its registry record and the exact audio bytes. "
    "It is a recorded account of the process, not a statement about how the music was made."
)


def is_accepted(good: object, verdict: object) -> bool:
    return good is True and verdict == Verdict.VALID


class ErrorCode(StrEnum):
    """The documented codes. Endpoints may send others; the contract does not show their names."""

    INVALID_REQUEST = "invalid_request"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    UNPROCESSABLE = "unprocessable"
    RATE_LIMITED = "rate_limited"
    INTERNAL = "internal"


_BY_STATUS: Mapping[int, ErrorCode] = MappingProxyType(
    {
        HTTPStatus.BAD_REQUEST: ErrorCode.INVALID_REQUEST,
        HTTPStatus.FORBIDDEN: ErrorCode.FORBIDDEN,
        HTTPStatus.NOT_FOUND: ErrorCode.NOT_FOUND,
        HTTPStatus.CONFLICT: ErrorCode.CONFLICT,
        HTTPStatus.UNPROCESSABLE_ENTITY: ErrorCode.UNPROCESSABLE,
        HTTPStatus.TOO_MANY_REQUESTS: ErrorCode.RATE_LIMITED,
    }
)


def meaning_of(status: int, code: str | None) -> ErrorCode:
    """Read an error by its code if it is known, else by its status class; for 429 the status decides."""
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ErrorCode.RATE_LIMITED
    if code in set(ErrorCode):
        return ErrorCode(code)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ErrorCode.INTERNAL
    return _BY_STATUS.get(status, ErrorCode.INVALID_REQUEST)
