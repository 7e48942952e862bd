"""Answers of an erasure are read back as they were written, until they are deleted."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.erasure import Erasure
from proofsweep.errors import ResultsError
from proofsweep.storage.results.erasure_journal import ErasureJournals, erasing_store

NOW = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
ONE = Erasure(proof_id="p1", asked_at=NOW, answered_at=NOW, outcome="erased", erased_at=NOW, request_id="r")
TWO = Erasure(proof_id="p2", asked_at=NOW, answered_at=NOW, http_status=500, reason="http_500")


@pytest.fixture
def journals(tmp_path: Path) -> ErasureJournals:
    """The journals of an empty store."""
    return ErasureJournals(erasing_store(str(tmp_path)))


def test_a_journal_keeps_every_cell_and_the_order(journals: ErasureJournals) -> None:
    """Instants keep their microseconds."""
    journals.add("op_1", 0, ONE)
    journals.add("op_1", 1, TWO)
    journals.add("op_2", 0, TWO)

    assert journals.open() == ["op_1", "op_2"]
    assert list(journals.read("op_1")) == [ONE, TWO]


def test_a_deleted_journal_is_gone(journals: ErasureJournals) -> None:
    """Others stay."""
    journals.add("op_1", 0, ONE)
    journals.add("op_2", 0, TWO)

    journals.delete("op_1")

    assert journals.open() == ["op_2"]


@pytest.mark.parametrize("content", [b"", b"{}", b'{"proof_id": "p"}', b"[]"])
def test_a_damaged_answer_is_named(journals: ErasureJournals, tmp_path: Path, content: bytes) -> None:
    """It may be the only record of an erasure."""
    erasing_store(str(tmp_path)).create("journal/op_1-00000000.json", content)

    with pytest.raises(ResultsError, match=r"op_1-00000000\.json .* is damaged"):
        list(journals.read("op_1"))
