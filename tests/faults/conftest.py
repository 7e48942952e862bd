"""A foreign service and a Prefect server for all tests here; each test has a catalog and a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..servers.buckets import S3Server
from ..servers.foreign_service import KEY, ForeignService
from ..worlds.bucket_world import export_bucket
from ..worlds.command_world import export_settings, mounted_disk
from ..worlds.foreign_world import ForeignWorld


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "results") as place:
        yield place


@pytest.fixture
def small_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small file system to which the settings have files moved."""
    with mounted_disk(tmp_path / "small") as place:
        export_settings(monkeypatch, {"INGEST__ACCEPTED": f"{place}/ok", "INGEST__QUARANTINE": f"{place}/bad"})
        yield place


@pytest.fixture
def service() -> Iterator[ForeignService]:
    service = ForeignService()
    service.open()
    yield service
    service.close()
    assert service.keyed_at_storage == []


@pytest.fixture
def bare_world(service: ForeignService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForeignWorld:
    """Everything that a test needs to work on runs without Prefect; they retry and give up within seconds."""
    key_file = tmp_path / "key"
    key_file.write_text(f"{KEY}\n")
    world = ForeignWorld(tmp_path, service, key_file)
    settings = {
        "SERVICE__BASE_URL": service.base_url,
        "SERVICE__API_KEY_FILE": str(key_file),
        "SERVICE__ENVIRONMENT": "elsewhere",
        "RETRY__LONGEST_WAIT_SECONDS": "0.05",
        "RETRY__BREAKER_SECONDS": "1",
        "PACE__LONGEST_PAUSE_SECONDS": "3",
        "RESULTS__URL": world.results_url,
    }
    export_settings(monkeypatch, settings)
    return world


@pytest.fixture
def bucket_world(bare_world: ForeignWorld, moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> ForeignWorld:
    """The same world with its results in a bucket."""
    bare_world.bucket = moto.new_bucket()
    export_bucket(monkeypatch, bare_world.bucket)
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", bare_world.results_url)
    return bare_world


@pytest.fixture
def world(bare_world: ForeignWorld, prefect_here: str) -> ForeignWorld:
    """The same world with a Prefect server, to run commands in."""
    assert prefect_here
    return bare_world
