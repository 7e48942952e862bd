"""An error is read by its code if the code is known, otherwise by its status class."""

import pytest

from proofsweep.domain.verdicts import ErrorCode, meaning_of


@pytest.mark.parametrize(
    ("status", "code", "meaning"),
    [
        (400, "invalid_request", ErrorCode.INVALID_REQUEST),
        (400, "not_found", ErrorCode.NOT_FOUND),
        (400, "upload_expired", ErrorCode.INVALID_REQUEST),
        (403, None, ErrorCode.FORBIDDEN),
        (404, "no_such_upload", ErrorCode.NOT_FOUND),
        (409, "", ErrorCode.CONFLICT),
        (413, "too_big", ErrorCode.INVALID_REQUEST),
        (422, "sidecar_malformed", ErrorCode.UNPROCESSABLE),
        (429, "invalid_request", ErrorCode.RATE_LIMITED),
        (429, None, ErrorCode.RATE_LIMITED),
        (500, "internal", ErrorCode.INTERNAL),
        (503, "under_repair", ErrorCode.INTERNAL),
        (599, None, ErrorCode.INTERNAL),
    ],
)
def test_an_unrecognised_code_means_its_status_class(status: int, code: str | None, meaning: ErrorCode) -> None:
    """Endpoints have codes that the contract does not show. 429 is the only status paired with a code."""
    assert meaning_of(status, code) is meaning
