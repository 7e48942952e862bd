"""The journal of a recovery gives its rows back as they were."""

from pathlib import Path

import pytest

from proofsweep.errors import ResultsError
from proofsweep.storage.results.recovery_journal import RecoveryJournals, recovering_store

from ...usecases.scripted_service import NOW

ROWS = [{"item_id": each, "acted_at": NOW} for each in ("a", "ü\ud800b")]


@pytest.fixture
def journals(tmp_path: Path) -> RecoveryJournals:
    """Those of an empty store."""
    return RecoveryJournals(recovering_store(str(tmp_path)))


def test_rows_come_back_until_they_are_deleted(journals: RecoveryJournals) -> None:
    """With their instants; a name that is no valid text was escaped."""
    journals.add("op_2", 0, ROWS)
    journals.add("op_1", 0, ROWS[:1])

    (rows,) = journals.read("op_2")
    assert [row["acted_at"] for row in rows] == [NOW, NOW]
    assert rows[0] == ROWS[0]

    journals.delete("op_2")
    assert journals.open() == ["op_1"]


def test_a_damaged_journal_is_named(journals: RecoveryJournals, tmp_path: Path) -> None:
    """It is not taken for an empty one."""
    journals.add("op", 0, ROWS[:1])
    (path,) = tmp_path.rglob("*.json")
    path.write_text("[{")

    with pytest.raises(ResultsError, match=r"op-00000000\.json .* is damaged"):
        list(journals.read("op"))
