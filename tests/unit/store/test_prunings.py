"""Intents and receipts of prunings in the store."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.store.objects import FolderStore
from proofsweep.store.prunings import (
    PrunedObject,
    Pruning,
    pruned_names,
    prunings_of,
    wholly_pruned,
    write_intent,
    write_receipt,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def pruning(number: int = 1, *kept: str) -> Pruning:
    """Make a pruning of one part, which has its number in its name."""
    part = PrunedObject(name=f"verdicts/d/r-0000{number}-001.parquet", size_bytes=10, rows=3, sha256="00")
    return Pruning(
        run_id="r",
        number=number,
        decided_at=NOW.isoformat(),
        run_ended_at=NOW.isoformat(),
        older_than_days=400,
        keep="latest",
        kept=kept,
        deleted=(part,),
    )


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def test_an_intent_is_read_as_it_was_written(store: FolderStore) -> None:
    """The oldest first; they name what was deleted."""
    for each in (pruning(1, "k"), pruning(2)):
        write_intent(store, each)

    assert prunings_of(store, "r") == [pruning(1, "k"), pruning(2)]
    assert pruned_names(store, "r") == {"verdicts/d/r-00001-001.parquet", "verdicts/d/r-00002-001.parquet"}
    assert prunings_of(store, "other") == []


@pytest.mark.parametrize(
    ("last", "known", "runs"), [(pruning(2), (), ["r"]), (pruning(2, "k"), (), []), (pruning(2), "r", [])]
)
def test_a_run_is_wholly_pruned_when_nothing_was_kept(
    store: FolderStore, last: Pruning, known: str, runs: list[str]
) -> None:
    """By its last pruning, and only when that is complete."""
    write_intent(store, pruning(1, "k"))
    write_receipt(store, pruning(1, "k"), NOW)
    write_intent(store, last)
    before = list(wholly_pruned(store, known))
    write_receipt(store, last, NOW)

    assert (before, list(wholly_pruned(store, known))) == ([], runs)


def test_a_damaged_intent_is_one_clear_line(store: FolderStore, tmp_path: Path) -> None:
    """It cannot be made anew."""
    write_intent(store, pruning())
    (tmp_path / "_pruned" / "r" / "001-intent.json").write_bytes(b"{")

    with pytest.raises(ResultsError, match=r"^_pruned/r/001-intent.json .* damaged\. Restore it from a backup\.$"):
        prunings_of(store, "r")
