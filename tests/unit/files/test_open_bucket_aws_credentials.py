"""AWS credentials are found where the AWS tools find them."""

import sys
from pathlib import Path

import pytest

from proofsweep.errors import ConfigError
from proofsweep.files.open_bucket import aws_credentials


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
    assert (found.region, found()["access_key_id"]) == ("eu-central-1", "a")


def test_a_profile_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other credentials are used instead."""
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    with pytest.raises(ValueError, match="profile"):
        aws_credentials()


def test_without_boto3_there_are_no_credentials_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Obstore then looks in the environment by itself."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setitem(sys.modules, "obstore.auth.boto3", None)

    assert aws_credentials() is None


def test_a_profile_needs_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says what to install."""
    monkeypatch.setenv("AWS_PROFILE", "label")
    monkeypatch.setitem(sys.modules, "obstore.auth.boto3", None)

    with pytest.raises(ConfigError, match=r"^AWS_PROFILE needs packages .*: pip install 'proofsweep\[aws\]'\.$"):
        aws_credentials()
