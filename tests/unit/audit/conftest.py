"""A small store of runs that ended as real ones do; each test has its own copy."""

import json
import shutil
from pathlib import Path

import pytest

from proofsweep.store.layout import log_name, receipt_name
from proofsweep.store.log import EntryKind, Log
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
    """Let the newest entry of the log follow a receipt that was rewritten: nothing in the store holds that entry."""
    *_, path = sorted(root.glob("_log/*/*.json"))
    entry = json.loads(path.read_text())
    receipt = root / receipt_name(entry["run_id"], entry["leg"])
    path.write_bytes(json_bytes(entry | {"sha256": sha256_hex(receipt.read_bytes())}))


def append(root: Path, kind: str, run_id: str, **facts: object) -> str:
    """Append an entry as whoever can write to the store may: it has its number and the digest of the one before.

    Give its name.
    """
    log = Log(FolderStore(root))
    newest = log.newest()
    assert log.create(newest + 1, log.entry(newest).digest, EntryKind(kind), run_id, facts)
    return log_name(newest + 1)
