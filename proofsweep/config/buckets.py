"""Open a bucket of any kind, S3, Google or Azure, as its cloud's usual configuration says; and name its failures."""

import os
import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING

from obstore import exceptions
from obstore.store import AzureStore, GCSStore, S3Store

from proofsweep.config.locations import root_and_key
from proofsweep.domain.errors import missing_extra

if TYPE_CHECKING:
    from collections.abc import Callable

    from obstore.store import ObjectStore, RetryConfig, S3Credential


FAILURES = (exceptions.BaseError, OSError, ValueError)
"""All that a call of obstore raises for a failing store or an impossible key."""

_STATUS = re.compile(r"status code: (\d{3})|status: (\d{3})")
_CODE = re.compile(r"<Code>\s*([\w.]+)\s*</Code>")
# botocore renews credentials ten minutes before they expire.
_KEPT = timedelta(minutes=5)
# An endpoint that is down is reported after about 30 s. A whole stream may last as long as a slow upload.
_RETRY: "RetryConfig" = {"max_retries": 6, "retry_timeout": timedelta(seconds=15)}
_CLIENT: dict[str, object] = {"connect_timeout": "5s", "read_timeout": "10s", "timeout": "1h"}
# Nothing is read while an object is sent, so that a client that waits for ten seconds could send no large one.
_CREATE_SECONDS = 900  # for a whole one


class FailureKind(StrEnum):
    MISSING = "there is no such object"
    NO_BUCKET = "there is no such bucket"
    FORBIDDEN = "the credentials in use give no access"
    ARCHIVED = "the object is archived, and must be restored before it can be read"
    CHANGED = "the object was replaced"
    TAKEN = "there is an object of that name"
    REFUSED = "the credentials were refused: they are wrong, expired, or of another account"
    SKEWED = "the clock of this machine is wrong: the store refuses requests whose time is so far from its own"
    NO_CREDENTIALS = "no credentials were found; docs/buckets.md says where to put them"
    NO_ACCOUNT = (
        "the storage account is not named; set AZURE_STORAGE_ACCOUNT_NAME or write "
        "abfss://container@account.dfs.core.windows.net/"
    )
    OTHER_REGION = "the bucket lies in another region; set AWS_REGION"
    PLAIN_HTTP = "the endpoint is plain http; set AWS_ALLOW_HTTP=true if that is intended"
    UNCONDITIONAL = "the store cannot refuse to overwrite an object, as a results store must"
    BAD_KEY = "a key with an empty part, a dot part or a control character cannot be requested"
    EMPTY_RANGE = "the object holds no bytes there"
    NOT_GIVEN = "the store does not give this object"
    AWAY = "the store does not answer as it should"


# The codes of S3 and Google, and of Azure.
_REFUSAL_CODES = (
    *("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired"),
    *("AuthenticationFailed", "InvalidAuthenticationInfo"),
)
_REGION_CODES = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException")
# The object's own fault: it is encrypted with a key that is its owner's, or is gone.
_NOT_GIVEN_CODES = (
    *("KMS.DisabledException", "KMS.NotFoundException", "KMS.KMSInvalidStateException"),
    *("BlobUsesCustomerSpecifiedEncryption", "ResourceIsEncryptedWithCustomerEncryptionKey"),
)
_CODES = {
    FailureKind.NO_BUCKET: ("NoSuchBucket", "ContainerNotFound"),
    FailureKind.ARCHIVED: ("InvalidObjectState", "BlobArchived", "BlobBeingRehydrated"),
    FailureKind.REFUSED: _REFUSAL_CODES,
    FailureKind.SKEWED: ("RequestTimeTooSkewed",),
    FailureKind.OTHER_REGION: _REGION_CODES,
    FailureKind.UNCONDITIONAL: ("NotImplemented",),
    FailureKind.NOT_GIVEN: _NOT_GIVEN_CODES,
}
_BY_CODE = {code: kind for kind, codes in _CODES.items() for code in codes}
_BY_STATUS = {
    401: FailureKind.REFUSED,
    403: FailureKind.FORBIDDEN,
    404: FailureKind.MISSING,
    409: FailureKind.TAKEN,
    412: FailureKind.CHANGED,
    416: FailureKind.EMPTY_RANGE,
    501: FailureKind.UNCONDITIONAL,
}
# Without credentials, each cloud's library asks a server of its own machines, which is nowhere else.
_CREDENTIAL_SERVERS = (
    *("/latest/api/token", "/latest/meta-data", "/metadata/identity/", "/computeMetadata/"),
    "metadata.google.internal",
)
_WORDS = {
    FailureKind.OTHER_REGION: ("incorrectly configured region",),
    FailureKind.PLAIN_HTTP: ("BadScheme",),
    FailureKind.NO_ACCOUNT: ("Account must be specified", "MissingAccount"),
    FailureKind.NO_CREDENTIALS: _CREDENTIAL_SERVERS,
    FailureKind.EMPTY_RANGE: ("StartTooLarge",),
}
_BY_EXCEPTION: dict[type[Exception], FailureKind] = {
    FileNotFoundError: FailureKind.MISSING,
    exceptions.AlreadyExistsError: FailureKind.TAKEN,
    exceptions.PreconditionError: FailureKind.CHANGED,
    exceptions.PermissionDeniedError: FailureKind.FORBIDDEN,
    exceptions.UnauthenticatedError: FailureKind.REFUSED,
    exceptions.InvalidPathError: FailureKind.BAD_KEY,
    ValueError: FailureKind.BAD_KEY,
}


@dataclass(frozen=True, slots=True)
class StoreFailure:
    kind: FailureKind
    status: int | None = None
    word: str = ""  # the store's code for an object that it does not give

    @property
    def sentence(self) -> str:
        if self.word:
            return f"{self.kind} ({self.word})"
        if self.kind is not FailureKind.AWAY:
            return str(self.kind)
        what = "check its endpoint and the network"
        if self.status:
            what = f"status {self.status}"
        return f"{self.kind} ({what})"


def failure_of(error: Exception) -> StoreFailure:
    """Classify a failure by code, known words, exception or status; its text may hold URLs and bodies."""
    text = str(error)
    status = _status_in(text)
    code = _code_in(text)
    if code in _BY_CODE:
        kind = _BY_CODE[code]
        word = code if kind is FailureKind.NOT_GIVEN else ""
        return StoreFailure(kind, status, word)
    for kind, words in _WORDS.items():
        if any(word in text for word in words):
            return StoreFailure(kind, status)
    for exception, kind in _BY_EXCEPTION.items():
        if isinstance(error, exception):
            return StoreFailure(kind, status)
    if status == HTTPStatus.BAD_REQUEST and code:
        # Such as an object that is encrypted with a key of its owner: the request is refused, and the store is well.
        return StoreFailure(FailureKind.NOT_GIVEN, status, code)
    kind = _BY_STATUS.get(status or 0, FailureKind.AWAY)
    return StoreFailure(kind, status)


def _status_in(text: str) -> int | None:
    match = _STATUS.search(text)
    if match is None:
        return None
    return int(match[1] or match[2])


def _code_in(text: str) -> str:
    match = _CODE.search(text)
    return match[1] if match else ""


def aws_credentials() -> "tuple[Callable[[], S3Credential], str | None] | None":
    """Find AWS credentials as its tools do, renewed by botocore, and their profile's region; None without boto3 or any.

    Raises:
        ConfigError: `AWS_PROFILE` names a profile, and boto3 is not installed.
        ValueError: the profile does not exist.
    """
    try:
        from botocore.exceptions import (  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, slow to import
            BotoCoreError,
        )
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415
    except ImportError as error:
        if "AWS_PROFILE" in os.environ:
            raise missing_extra("AWS_PROFILE", "aws") from error
        return None
    try:
        provider = Boto3CredentialProvider(ttl=_KEPT)
    except BotoCoreError as error:
        raise ValueError("The AWS profile cannot be used.") from error
    except ValueError:
        return None
    return provider.__call__, provider.config.get("region")


def open_bucket(url: str, *, creates_large: bool = False) -> "ObjectStore":
    """Open the bucket of a URL, with credentials but no request yet; raises one of `FAILURES` if that cannot be.

    One that `creates_large` objects waits for an answer as long as they may take to be sent.
    """
    root, _ = root_and_key(url)
    client = _CLIENT
    if creates_large:
        client = client | {"read_timeout": f"{_CREATE_SECONDS}s"}
    scheme, _, name = root.partition("://")
    # The ignores: obstore takes client options with the configuration too, and then keeps those of the environment.
    if scheme == "s3":
        own, region = aws_credentials() or (None, None)
        # Not every store can delete several objects at once.
        config = client | {"disable_bulk_delete": True}
        if region:
            config["default_region"] = region
        return S3Store(name, config=config, retry_config=_RETRY, credential_provider=own)  # type: ignore[arg-type]
    if scheme == "gs":
        return GCSStore(name, config=client, retry_config=_RETRY)  # type: ignore[arg-type]
    container, _, host = name.partition("@")
    config = {**client}
    if host:
        config["account_name"] = host.partition(".")[0]
    return AzureStore(container, config=config, retry_config=_RETRY)  # type: ignore[arg-type]
