"""Buckets at each storage server in turn; a test's process finds its bucket by the usual variables."""

import os

import pytest

from ..servers.buckets import Bucket, BucketServer

CLOUDS = ("AWS_", "AZURE_", "GOOGLE_")


@pytest.fixture(autouse=True)
def nobodys_cloud(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Forget the clouds of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith(CLOUDS)]:
        monkeypatch.delenv(name)
    empty = tmp_path_factory.getbasetemp() / "no-such-profile"
    monkeypatch.setenv("AWS_CONFIG_FILE", str(empty))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(empty))


@pytest.fixture(params=["swift", "moto", "azurite"])
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """An empty bucket, at each server in turn, to which this process has the credentials."""
    server: BucketServer = request.getfixturevalue(request.param)
    bucket = server.new_bucket()
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    return bucket
