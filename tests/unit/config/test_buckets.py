"""A bucket of each kind is opened by its URL, and nothing is sent yet."""

from pathlib import Path

import pytest
from obstore import exceptions

from proofsweep.config.buckets import FAILURES, FailureKind, aws_credentials, failure_of, open_bucket


def test_an_azure_url_may_name_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the environment must."""
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)

    with pytest.raises(FAILURES) as refused:
        open_bucket("az://container/drop")

    assert failure_of(refused.value).kind is FailureKind.NO_ACCOUNT
    assert open_bucket("abfss://container@account.dfs.core.windows.net/drop") is not None


def test_a_profile_is_used_with_its_region(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As the AWS tools do."""
    config = tmp_path / "config"
    config.write_text("[profile label]\nregion = eu-central-1\naws_access_key_id = a\naws_secret_access_key = s\n")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "label")

    found = aws_credentials()

    assert found is not None
    credentials, region = found
    assert (region, credentials()["access_key_id"]) == ("eu-central-1", "a")


def test_a_profile_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other credentials are used instead."""
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    with pytest.raises(ValueError, match="profile"):
        aws_credentials()


def answer(status: int, code: str) -> str:
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
        (exceptions.GenericError(answer(400, "InvalidRequest")), FailureKind.NOT_GIVEN),
        (exceptions.GenericError(answer(400, "KMS.DisabledException")), FailureKind.NOT_GIVEN),
        (exceptions.GenericError("Server returned non-2xx status code: 400 Bad Request: "), FailureKind.AWAY),
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


def test_a_store_that_does_not_give_an_object_is_quoted() -> None:
    """Its code is what a person looks for in its manual."""
    failure = failure_of(exceptions.GenericError(answer(400, "InvalidRequest")))

    assert failure.sentence == "the store does not give this object (InvalidRequest)"
