"""Buckets at each storage server in turn; a test's process finds its bucket by the usual variables."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sandbox

from ..servers.buckets import Bucket, BucketServer
from .worlds import World

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
    export(monkeypatch, bucket)
    return bucket


def export(monkeypatch: pytest.MonkeyPatch, bucket: Bucket) -> None:
    """Set the variables that lead to a bucket."""
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandbox.Running]:
    """One sandbox process, shared."""
    with sandbox.launch(tmp_path_factory.mktemp("sandbox") / "home") as running:
        yield running


@pytest.fixture
def make_world(
    running: sandbox.Running, prefect_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Bucket], World]:
    """Make a test's world around a bucket; where it leads to is exported, and so is the key's place."""

    def make(bucket: Bucket) -> World:
        key = running.operator.add_tenant(tmp_path.name)
        key_file = tmp_path / "key"
        key_file.write_text(key.api_key)
        export(monkeypatch, bucket)
        monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", running.base_url)
        monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(key_file))
        monkeypatch.setenv("PREFECT_API_URL", prefect_url)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        return World(folder=tmp_path, tenant=key.tenant, operator=running.operator, bucket=bucket)

    return make
