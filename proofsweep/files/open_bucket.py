"""Open a bucket of any kind, S3, Google or Azure, with the usual configuration of its cloud."""

from datetime import timedelta
from typing import TYPE_CHECKING

from obstore.store import AzureStore, GCSStore, S3Store

from proofsweep.files.locations import root_and_key

if TYPE_CHECKING:
    from obstore.store import ObjectStore, RetryConfig
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obstore.auth.boto3 import Boto3CredentialProvider
    from obstore.store import S3Credential


# botocore renews credentials ten minutes before they expire.
_KEPT = timedelta(minutes=5)


class AwsCredentials:
    """Credentials as botocore finds and renews them; obstore calls this when those in use are five minutes old.

    Attributes:
        region: the profile's.
    """

    def __init__(self, provider: "Boto3CredentialProvider") -> None:
        self._provider = provider
        self.region: str | None = provider.config.get("region")

    def __call__(self) -> "S3Credential":
        """Return the credentials to sign with now."""
        return self._provider()


def aws_credentials() -> AwsCredentials | None:
    """Find AWS credentials as the AWS tools do; None if boto3 is not installed or finds none.

    ValueError if a profile is named that does not exist, or the files cannot be read.
    """
    try:
        from botocore.exceptions import (  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, slow to import
            BotoCoreError,
        )
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415
    except ImportError:
        return None
    try:
        return AwsCredentials(Boto3CredentialProvider(ttl=_KEPT))
    except BotoCoreError as error:
        raise ValueError("The AWS profile cannot be used.") from error
    except ValueError:
        return None


# chosen: an endpoint that is down is reported after about 30 s. A whole stream may last as long as a slow upload.
_RETRY: "RetryConfig" = {"max_retries": 6, "retry_timeout": timedelta(seconds=15)}
_CLIENT: dict[str, object] = {"connect_timeout": "5s", "read_timeout": "10s", "timeout": "1h"}


def open_bucket(url: str) -> "ObjectStore":
    """Open the bucket of a URL: find credentials, and send no request yet.

    Raises Exception: one of `FAILURES`: the configuration does not allow to open it.
    """
    root, _ = root_and_key(url)
    scheme, _, name = root.partition("://")
    # The ignores: obstore takes client options with the configuration too, and then keeps those of the environment.
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
    """Delete objects one by one, which every store can; use the profile's region if none is set."""
    region = None if own is None else own.region
    return {"disable_bulk_delete": True} | ({} if region is None else {"default_region": region})
