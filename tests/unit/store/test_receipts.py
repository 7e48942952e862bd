"""The legs of a run and their parts are read by name: a listing may lag behind, and a folder is no leg."""

import hashlib
import json
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Part, ReceiptLink, ended_parts, has_claim, last_leg, newest_receipts, receipt_of

PART = {"name": "verdicts/run_date=2026-11-20/r-00000-001.parquet", "rows": 3, "sha256": "ab"}


class OldListing(FolderStore):
    """A store whose listings show only the first leg."""

    def folders(self, folder: str) -> list[str]:
        """Leave out what is new."""
        return super().folders(folder)[:1]


def claim(store: FolderStore, *legs: int) -> None:
    """Write claims."""
    for leg in legs:
        store.create(layout.claim_name("r", leg), b"{}")


@pytest.mark.parametrize("kind", [FolderStore, OldListing])
@pytest.mark.parametrize("last", [0, 1, 3])
def test_the_last_leg_is_the_last_claim(tmp_path: Path, kind: type[FolderStore], last: int) -> None:
    """Also where the listing does not show it yet."""
    store = kind(tmp_path)
    claim(store, *range(1, last + 1))

    assert last_leg(store, "r") == last


@pytest.mark.parametrize("last", [0, 1])
def test_a_folder_without_a_claim_is_no_leg(tmp_path: Path, last: int) -> None:
    """Its process is about to claim it, or has released it."""
    store = FolderStore(tmp_path)
    claim(store, *range(1, last + 1))
    (tmp_path / layout.leg_folder("r", last + 1)).mkdir(parents=True)

    assert last_leg(store, "r") == last
    assert not has_claim(store, "r", last + 1)


def test_a_receipt_names_the_parts_of_its_leg(tmp_path: Path) -> None:
    """A leg without a receipt, and one whose receipt says nothing of parts, are not among them."""
    store = FolderStore(tmp_path)
    claim(store, 1, 2, 3)
    store.create(layout.receipt_name("r", 1), json.dumps({"ended_by": "quota", "parts": [PART]}).encode())
    store.create(layout.receipt_name("r", 2), json.dumps({"ended_by": "killed"}).encode())

    assert ended_parts(store, "r") == {1: [Part(name=str(PART["name"]), rows=3, sha256="ab")]}
    assert receipt_of(store, "r", 2) == {"ended_by": "killed"}
    assert receipt_of(store, "r", 3) is None


def test_a_broken_receipt_is_named_in_one_line(tmp_path: Path) -> None:
    """No leg can be judged by half a receipt."""
    store = FolderStore(tmp_path)
    store.create(layout.receipt_name("r", 1), b'{"ended_by": "comp')

    with pytest.raises(ResultsError, match=r"receipt\.json in the results store .* is damaged"):
        receipt_of(store, "r", 1)


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
