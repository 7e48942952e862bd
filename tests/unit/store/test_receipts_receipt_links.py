"""A receipt names the last receipts of the newest other runs, and that of the last pruning."""

import hashlib
from pathlib import Path

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.receipts import ReceiptLink, newest_receipts


def leave(store: FolderStore, run_id: str, legs: int, receipts: int) -> None:
    """Leave a run with so many claims and so many receipts."""
    for leg in range(1, legs + 1):
        store.create(f"_runs/{run_id}/legs/{leg:03}/claim.json", b"{}")
    for leg in range(1, receipts + 1):
        store.create(f"_runs/{run_id}/legs/{leg:03}/receipt.json", f"{run_id}-{leg}".encode())


def test_the_last_receipt_of_each_of_the_newest_runs_is_named(tmp_path: Path) -> None:
    """A leg at work has none yet, and a run without any is left out; so is the run that asks."""
    store = FolderStore(tmp_path)
    leave(store, "a", 3, 2)
    leave(store, "b", 1, 0)
    leave(store, "own", 1, 1)

    digest = hashlib.sha256(b"a-2").hexdigest()
    assert newest_receipts(store, "own") == [ReceiptLink("_runs/a/legs/002/receipt.json", digest)]


def test_only_the_newest_runs_are_asked(tmp_path: Path) -> None:
    """The end of a leg does not wait for all runs of a year."""
    store = FolderStore(tmp_path)
    for number in range(12):
        leave(store, f"r{number:02}", 1, 1)

    assert [link.name.split("/")[1] for link in newest_receipts(store)] == [f"r{number:02}" for number in range(4, 12)]


def test_the_last_pruning_is_named(tmp_path: Path) -> None:
    """Its receipt, not an intent."""
    store = FolderStore(tmp_path)
    for name in ("00001-receipt", "00002-receipt", "00003-intent"):
        store.create(f"_pruned/{name}.json", b"")

    assert [link.name for link in newest_receipts(store)] == ["_pruned/00002-receipt.json"]
