"""Find AWS credentials in profile files, SSO and credential processes, if boto3 is installed."""

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obstore.auth.boto3 import Boto3CredentialProvider
    from obstore.store import S3Credential

# botocore renews credentials ten minutes before they expire: half asks it more often, twice reaches that end.
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
        """Give the credentials to sign with now."""
        return self._provider()


def aws_credentials() -> AwsCredentials | None:
    """Find AWS credentials as the AWS tools do; None if boto3 is not installed or finds none.

    Raises:
        ValueError: a profile is named that does not exist, or the files cannot be read.
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
