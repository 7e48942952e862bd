"""One id with different audio is found, and nothing else."""

import pytest

from proofsweep.catalog import repeated_ids
from proofsweep.catalog.repeated_ids import RepeatedIds, SuspectIds


def test_the_first_rows_are_suspected_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog may repeat each of a million ids; only a few are looked at at once."""
    monkeypatch.setattr(repeated_ids, "_SUSPECTS", 1)
    ids = RepeatedIds()
    for item_id, audio in [("z", "1"), ("y", "1"), ("y", "2"), ("z", "2")]:
        ids.add(item_id, audio)

    first, second = ids.suspects()

    assert first.earlier("y", "1", "line 2") is None
    assert first.earlier("z", "1", "line 1") is None
    assert first.earlier("z", "2", "line 4") is None
    assert (first.earlier("y", "2", "line 3"), second.earlier("z", "1", "line 1")) == ("line 2", None)
    assert second.earlier("z", "2", "line 4") == "line 1"


def test_two_ids_that_share_a_hash_are_no_finding() -> None:
    """The text decides: a right catalog is never refused by chance."""
    suspects = SuspectIds([hash("a"), hash("b")])

    assert suspects.earlier("a", "1", "line 1") is None
    assert suspects.earlier("b", "2", "line 2") is None
