"""Buckets, opened by the usual means of each cloud, and what their troubles mean in our words.

The text of obstore's errors holds URLs and bodies: only a status and a known code are taken from it.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from obstore import exceptions
from obstore.store import AzureStore, GCSStore, S3Store

from proofsweep.storage.buckets.aws_credentials import AwsCredentials, aws_credentials
from proofsweep.storage.locations import root_and_key

if TYPE_CHECKING:
    from obstore.store import ObjectStore, RetryConfig

FAILURES = (exceptions.BaseError, OSError, ValueError)
"""What a call of obstore raises for whatever the store or the key's name may bring."""

# A dead endpoint must be told within half a minute; a stream may last as long as a slow upload does.
_RETRY: "RetryConfig" = {"max_retries": 6, "retry_timeout": timedelta(seconds=15)}
_CLIENT: dict[str, object] = {"connect_timeout": "5s", "read_timeout": "10s", "timeout": "1h"}

_STATUS = re.compile(r"status code: (\d{3})|status: (\d{3})")
_CODE = re.compile(r"<Code>\s*(\w+)\s*</Code>")


class Trouble(StrEnum):
    """What keeps a bucket or an object from us."""

    MISSING = "there is no such object"
    NO_BUCKET = "there is no such bucket"
    FORBIDDEN = "the credentials in use give no access"
    ARCHIVED = "the object is archived, and must be restored before it can be read"
    CHANGED = "the object was replaced"
    TAKEN = "there is an object of that name"
    REFUSED = "the credentials were refused: they are wrong, expired, or of another account"
    SKEWED = "the clock of this machine is wrong: requests that are so far from the store's own time are refused"
    NO_CREDENTIALS = "no credentials were found; docs/buckets.md says where they are looked for"
    NO_ACCOUNT = (
        "the storage account is not named; set AZURE_STORAGE_ACCOUNT_NAME or write "
        "abfss://container@account.dfs.core.windows.net/"
    )
    OTHER_REGION = "the bucket lies in another region; set AWS_REGION"
    PLAIN_HTTP = "the endpoint is plain http; set AWS_ALLOW_HTTP=true if that is meant"
    UNCONDITIONAL = "the store cannot create an object only if there is none, as a results store must"
    BAD_KEY = "a key with an empty part, a dot part or a control character cannot be asked for"
    EMPTY_RANGE = "the object holds no bytes there"
    AWAY = "the store does not answer as it should"


_BY_CODE = {
    "NoSuchBucket": Trouble.NO_BUCKET,
    "ContainerNotFound": Trouble.NO_BUCKET,
    "InvalidObjectState": Trouble.ARCHIVED,
    "BlobArchived": Trouble.ARCHIVED,
    "BlobBeingRehydrated": Trouble.ARCHIVED,
    "InvalidAccessKeyId": Trouble.REFUSED,
    "SignatureDoesNotMatch": Trouble.REFUSED,
    "ExpiredToken": Trouble.REFUSED,
    "InvalidToken": Trouble.REFUSED,
    "TokenRefreshRequired": Trouble.REFUSED,
    "RequestTimeTooSkewed": Trouble.SKEWED,
    "AuthenticationFailed": Trouble.REFUSED,
    "InvalidAuthenticationInfo": Trouble.REFUSED,
    "PermanentRedirect": Trouble.OTHER_REGION,
    "AuthorizationHeaderMalformed": Trouble.OTHER_REGION,
    "IllegalLocationConstraintException": Trouble.OTHER_REGION,
    "NotImplemented": Trouble.UNCONDITIONAL,
}
_BY_STATUS = {
    401: Trouble.REFUSED,
    403: Trouble.FORBIDDEN,
    404: Trouble.MISSING,
    409: Trouble.TAKEN,
    412: Trouble.CHANGED,
    416: Trouble.EMPTY_RANGE,
    501: Trouble.UNCONDITIONAL,
}
_BY_WORDS = {
    "incorrectly configured region": Trouble.OTHER_REGION,
    "BadScheme": Trouble.PLAIN_HTTP,
    "Account must be specified": Trouble.NO_ACCOUNT,
    "MissingAccount": Trouble.NO_ACCOUNT,
    "/latest/api/token": Trouble.NO_CREDENTIALS,
    "/latest/meta-data": Trouble.NO_CREDENTIALS,
    "/metadata/identity/": Trouble.NO_CREDENTIALS,
    "/computeMetadata/": Trouble.NO_CREDENTIALS,
    "metadata.google.internal": Trouble.NO_CREDENTIALS,
    "StartTooLarge": Trouble.EMPTY_RANGE,
}
_BY_KIND: tuple[tuple[type[Exception], Trouble], ...] = (
    (FileNotFoundError, Trouble.MISSING),
    (exceptions.AlreadyExistsError, Trouble.TAKEN),
    (exceptions.PreconditionError, Trouble.CHANGED),
    (exceptions.PermissionDeniedError, Trouble.FORBIDDEN),
    (exceptions.UnauthenticatedError, Trouble.REFUSED),
    (exceptions.InvalidPathError, Trouble.BAD_KEY),
    (ValueError, Trouble.BAD_KEY),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure of a store: what it means, and the HTTP status where there was one."""

    trouble: Trouble
    status: int | None = None

    @property
    def sentence(self) -> str:
        """Say it to a person; holds nothing of what the store sent."""
        if self.trouble is not Trouble.AWAY:
            return str(self.trouble)
        return f"{self.trouble} ({f'status {self.status}' if self.status else 'look at its endpoint and the network'})"


def failure_of(error: Exception) -> Failure:
    """Read what a store's failure means: its code counts most, then its kind, then its status."""
    text = str(error)
    status = next((int(number) for found in _STATUS.finditer(text) for number in found.groups() if number), None)
    code = _CODE.search(text)
    if code and code[1] in _BY_CODE:
        return Failure(_BY_CODE[code[1]], status)
    for words, trouble in _BY_WORDS.items():
        if words in text:
            return Failure(trouble, status)
    for kind, trouble in _BY_KIND:
        if isinstance(error, kind):
            return Failure(trouble, status)
    return Failure(_BY_STATUS.get(status or 0, Trouble.AWAY), status)


def open_bucket(url: str) -> "ObjectStore":
    """Open the bucket that a URL lies in; credentials are looked for, but nothing is asked of the store yet.

    Raises:
        Exception: of the kinds in `FAILURES`, when it cannot be opened as it is configured.
    """
    root, _ = root_and_key(url)
    scheme, _, name = root.partition("://")
    # The ignores: the client's options go with the configuration, so that those of the environment stay.
    if scheme == "s3":
        own = aws_credentials()
        config = _CLIENT | _s3_config(own)
        return S3Store(name, config=config, retry_config=_RETRY, credential_provider=own)  # type: ignore[arg-type]
    if scheme == "gs":
        return GCSStore(name, config=_CLIENT, retry_config=_RETRY)  # type: ignore[arg-type]
    container, _, host = name.partition("@")
    account = {"account_name": host.partition(".")[0]} if host else {}
    return AzureStore(container, config=_CLIENT | account, retry_config=_RETRY)  # type: ignore[arg-type]


def _s3_config(own: AwsCredentials | None) -> dict[str, object]:
    """Delete one by one, as we do anyway and every store can; take the profile's region where none is set."""
    region = None if own is None else own.region
    return {"disable_bulk_delete": True} | ({} if region is None else {"default_region": region})
