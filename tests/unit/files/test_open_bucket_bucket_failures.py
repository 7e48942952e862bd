"""What a store says is put into our words, and nothing of it is repeated."""

import pytest
from obstore import exceptions

from proofsweep.files.open_bucket import FailureKind, failure_of


def answer(status: int, code: str) -> str:
    """Make the text of an error as obstore writes it."""
    return (
        "Generic S3 error: Error performing GET https://secret.example/k - Server returned non-2xx status code: "
        f"{status} Whatever: <Error><Code>{code}</Code><Message>secret</Message></Error>"
    )


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FileNotFoundError(answer(404, "NoSuchKey")), FailureKind.MISSING),
        (FileNotFoundError(answer(404, "NoSuchBucket")), FailureKind.NO_BUCKET),
        (FileNotFoundError(answer(404, "ContainerNotFound")), FailureKind.NO_BUCKET),
        (exceptions.PermissionDeniedError(answer(403, "InvalidObjectState")), FailureKind.ARCHIVED),
        (exceptions.AlreadyExistsError(answer(409, "BlobArchived")), FailureKind.ARCHIVED),
        (exceptions.PermissionDeniedError(answer(403, "AccessDenied")), FailureKind.FORBIDDEN),
        (exceptions.GenericError(answer(403, "AccessDenied")), FailureKind.FORBIDDEN),
        (exceptions.PermissionDeniedError(answer(403, "InvalidAccessKeyId")), FailureKind.REFUSED),
        (exceptions.GenericError(answer(400, "ExpiredToken")), FailureKind.REFUSED),
        (exceptions.PermissionDeniedError(answer(403, "RequestTimeTooSkewed")), FailureKind.SKEWED),
        (exceptions.UnauthenticatedError("External AWS credential provider: secret"), FailureKind.REFUSED),
        (exceptions.GenericError(answer(301, "PermanentRedirect")), FailureKind.OTHER_REGION),
        (exceptions.GenericError(answer(501, "NotImplemented")), FailureKind.UNCONDITIONAL),
        (exceptions.GenericError(answer(503, "SlowDown")), FailureKind.AWAY),
        (exceptions.GenericError("HTTP error: error sending request"), FailureKind.AWAY),
        (exceptions.GenericError("PUT http://169.254.169.254/latest/api/token"), FailureKind.NO_CREDENTIALS),
        (exceptions.GenericError("reqwest::Error { kind: Builder, source: BadScheme }"), FailureKind.PLAIN_HTTP),
        (exceptions.PreconditionError(answer(412, "PreconditionFailed")), FailureKind.CHANGED),
        (exceptions.AlreadyExistsError(answer(409, "ConditionalRequestConflict")), FailureKind.TAKEN),
        (ValueError("Could not parse path"), FailureKind.BAD_KEY),
    ],
)
def test_a_failure_has_one_meaning(error: Exception, kind: FailureKind) -> None:
    """Its code says most, where there is one; the sentence holds neither URL nor body."""
    failure = failure_of(error)

    assert failure.kind is kind
    assert "secret" not in failure.sentence


def test_an_unknown_status_is_told() -> None:
    """It helps the people who run the store."""
    assert failure_of(exceptions.GenericError(answer(503, "SlowDown"))).sentence.endswith("(status 503)")
