"""The receipts of merged rounds are kept word by word."""

from pathlib import Path

import pytest

from proofsweep.errors import NameTaken, ResultsError
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.merged_rounds import DAMAGE, MergedRound, read_rounds, write_rounds

ID = "20261117T235959Z_999abcdef"


def test_they_are_read_as_they_were_written(tmp_path: Path) -> None:
    """The same rounds give the same bytes; a second process learns that it is late."""
    store, rounds = FolderStore(tmp_path), [MergedRound("a", '{"operation_id": "a",  "parts": []}\n')]
    assert read_rounds(store, ID) == []

    write_rounds(store, ID, rounds)

    assert read_rounds(store, ID) == rounds
    assert rounds[0].parts == []
    with pytest.raises(NameTaken):
        write_rounds(store, ID, [])


@pytest.mark.parametrize("content", [b"", b"[]", b"\x1f\x8b"])
def test_damage_is_one_line(tmp_path: Path, content: bytes) -> None:
    """It names the object."""
    store = FolderStore(tmp_path)
    store.create(f"_operations/{ID}/rounds.json.gz", content)

    with pytest.raises(ResultsError, match=r"rounds\.json\.gz in the results store .* is damaged\."):
        read_rounds(store, ID)


@pytest.mark.parametrize("receipt", ["", "[]", "{}", '{"operation_id": "b"}'])
def test_a_receipt_of_another_is_none(receipt: str) -> None:
    """Or one that is not whole."""
    with pytest.raises(DAMAGE):
        _ = MergedRound("a", receipt).parts
