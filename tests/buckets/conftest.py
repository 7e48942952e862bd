"""Buckets at each storage server in turn; a test's process finds its bucket by the usual variables."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..servers.buckets import Bucket, BucketServer, S3Server, guarded_moto
from ..worlds.bucket_world import BucketWorld, export_bucket
from ..worlds.sandbox_world import open_account

CLOUDS = ("AWS_", "AZURE_", "GOOGLE_")


@pytest.fixture(autouse=True)
def no_cloud_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the cloud credentials of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith(CLOUDS)]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="package")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[S3Server, S3Server]]:
    """An S3 that checks signatures, as its owner and as a stranger see it."""
    with guarded_moto(tmp_path_factory.mktemp("guarded")) as users:
        yield users


@pytest.fixture(params=["moto", "azurite"])
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """An empty bucket, at each server in turn, to which this process has the credentials."""
    server: BucketServer = request.getfixturevalue(request.param)
    bucket = server.new_bucket()
    export_bucket(monkeypatch, bucket)
    return bucket


@pytest.fixture
def s3_bucket(moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """An empty bucket, to which this process has the credentials."""
    bucket = moto.new_bucket()
    export_bucket(monkeypatch, bucket)
    return bucket


@pytest.fixture
def make_world(
    running: sandbox.Running, prefect_here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Bucket], BucketWorld]:
    """Make a test's world with its results in a bucket; the variables that lead there are exported."""
    assert prefect_here

    def make(bucket: Bucket) -> BucketWorld:
        export_bucket(monkeypatch, bucket)
        account = open_account(running, tmp_path, monkeypatch)
        monkeypatch.setenv("PROOFSWEEP_CATALOG__ROOT", "anywhere")  # manifests lie beside the folder of their audio
        return BucketWorld(account.folder, account.tenant, account.key_file, account.operator, account.patch, bucket)

    return make
