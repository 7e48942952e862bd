"""Redactions in the store, and what they leave of rows."""

from pathlib import Path

import pyarrow as pa
import pytest

from proofsweep.errors import NameTaken, ResultsError
from proofsweep.model.redaction import Completed, RedactedObject, Redaction
from proofsweep.model.tables.schemas import SCHEMAS
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.redactions import (
    completion_of,
    intent_digest,
    redacted,
    redactions_of,
    write_completion,
    write_intent,
)

REDACTION = Redaction(
    number=1,
    decided_at="2026-11-20T00:00:00+00:00",
    objects=(RedactedObject(name="verdicts/p", sha256="ab", rows={3: "00" * 32}),),
    proofsweep_version="1",
)


def test_a_redaction_reads_back_and_ends_once(tmp_path: Path) -> None:
    """Its receipt names the digest of the intent."""
    store = FolderStore(tmp_path)
    write_intent(store, REDACTION)

    (read,) = redactions_of(store)
    assert (read, completion_of(store, read)) == (REDACTION, None)

    completed = Completed(intent_sha256=intent_digest(store, read), completed_at="t", objects={"p": "cd"})
    write_completion(store, read, completed)
    assert completion_of(store, read) == completed
    with pytest.raises(NameTaken):
        write_intent(store, REDACTION)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"number": 1}', b"null"])
def test_a_damaged_intent_is_one_line(tmp_path: Path, content: bytes) -> None:
    """It says which object to restore."""
    store = FolderStore(tmp_path)
    store.create("_redacted/00001-intent.json", content)

    with pytest.raises(ResultsError, match=r"^_redacted/00001-intent.json in the results store .* is damaged"):
        list(redactions_of(store))


def test_only_the_named_rows_lose_their_content() -> None:
    """Redacted once more, nothing changes."""
    row = {"run_id": "r", "leg": 1, "environment": "b", "manifest_row": 0, "item_id": "a", "audio": "/a", "song": "S"}
    row |= {"outcome": "accepted", "accepted": True, "action": "accept", "epoch": 0, "verify_attempts": 1, "calls": 2}
    table = pa.Table.from_pylist([row, row | {"manifest_row": 1}], schema=SCHEMAS["verdicts"])

    done = redacted(table, "verdicts", [1])

    assert done.to_pylist()[0] == table.to_pylist()[0]
    assert (done["item_id"].to_pylist(), done["song"].to_pylist()) == (["a", "redacted"], ["S", None])
    assert done.schema.equals(table.schema, check_metadata=True)
    assert redacted(done, "verdicts", [1]).equals(done)
