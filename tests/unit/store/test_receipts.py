"""The legs of a run and their parts are read by name: a listing may lag behind, and a folder is no leg."""

import json
from pathlib import Path

import pytest

from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.receipts import Part, ended_parts, has_claim, last_leg, receipt_of

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
