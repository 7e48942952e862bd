"""AWS credentials from the profile files, SSO and credential processes, where boto3 is installed to find them."""

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obstore.auth.boto3 import Boto3CredentialProvider
    from obstore.store import S3Credential

_KEPT = timedelta(minutes=5)
"""botocore renews ten minutes before credentials expire, so what it gives lasts at least that long."""


class AwsCredentials:
    """Credentials as botocore finds and renews them; called whenever those in use have been kept long enough.

    Attributes:
        region: the profile's.
    """

    def __init__(self, provider: "Boto3CredentialProvider") -> None:
        self._provider = provider
        self.region: str | None = provider.config.get("region")

    def __call__(self) -> "S3Credential":
        """Give what is to be signed with now."""
        return self._provider()


def aws_credentials() -> AwsCredentials | None:
    """Find AWS credentials as the AWS tools do; None where boto3 is not installed or finds none.

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
