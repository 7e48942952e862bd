"""A small store of runs that ended as real ones do; each test has its own copy."""

import json
import shutil
from pathlib import Path

import pytest

from proofsweep.store.objects import FolderStore, json_bytes, sha256_hex
from proofsweep.store.parts import Results

from ...worlds.audited_store import audited_store


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a store, made once; nobody changes it."""
    root = tmp_path_factory.mktemp("built")
    audited_store(Results(FolderStore(root)))
    return root


@pytest.fixture
def root(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "results"))


@pytest.fixture
def results(root: Path) -> Results:
    return Results(FolderStore(root))


def forge_newest_entry(root: Path) -> None:
    """Let the newest entry of the ledger follow a receipt that was rewritten: nothing in the store holds that entry."""
    *_, path = sorted(root.glob("_ledger/*/*.json"))
    entry = json.loads(path.read_text())
    path.write_bytes(json_bytes(entry | {"sha256": sha256_hex((root / entry["name"]).read_bytes())}))
