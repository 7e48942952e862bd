"""ApiError codes and HTTP statuses (contract, Errors)."""

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType


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
