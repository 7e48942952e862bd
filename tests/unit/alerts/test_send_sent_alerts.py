"""What was told is one small object; losing it costs a message, never a run."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.alerts.send import read_sent, write_sent
from proofsweep.store.store import open_store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_what_was_told_is_read_back(tmp_path: Path) -> None:
    """Also a name that is not UTF-8; and a later one replaces it."""
    store = open_store(str(tmp_path))
    nothing = read_sent(store)

    write_sent(store, {"a": NOW})
    write_sent(store, {"b\tSänger": NOW, "caf\\udce9": NOW})

    assert nothing == {}
    assert read_sent(store) == {"b\tSänger": NOW, "caf\\udce9": NOW}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": "yesterday"}', b"\xff", b"null"])
def test_an_object_that_cannot_be_understood_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    """Somebody edited it, or a disk was full."""
    store = open_store(str(tmp_path))
    store.replace("_alerts/told.json", content)

    assert read_sent(store) == {}
