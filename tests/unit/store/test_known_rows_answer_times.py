"""When items were last tried, by item and version."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from proofsweep.model.tables import schemas
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.known_rows import AnswerTimes
from proofsweep.store.newest_rows import reduced
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.snapshot import COLUMNS, Snapshot

NOW = datetime(2026, 11, 22, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store whose snapshot holds answers and failures of two environments."""
    results = Results(FolderStore(tmp_path))
    cells = [
        ("a", "beta", "accepted", "v1", None, 5),
        ("a", "beta", "failed", "v1", None, 1),
        ("a", "production", "accepted", "v1", None, 0),
        ("b", "beta", "rejected", "v1", "s1", 3),
        ("c", "beta", "failed", "v1", None, 2),
    ]
    names = ("item_id", "environment", "outcome", "audio_version", "sidecar_version")
    common = dict.fromkeys(COLUMNS) | {"run_id": "r", "leg": 1, "audio": "x", "action": "x", "epoch": 0}
    rows = [
        common
        | dict(zip(names, row[:5], strict=True))
        | {"manifest_row": number, "finished_at": NOW - timedelta(days=row[5]), "accepted": row[2] == "accepted"}
        for number, row in enumerate(cells)
    ]
    table = pa.Table.from_pylist(rows, schema=schemas.SNAPSHOT)
    Snapshot(results.store).add(reduced([table]), {"r": [1]})
    return results


def test_the_newest_time_of_an_outcome_is_found(results: Results) -> None:
    """Rows with other outcomes, of other environments and other versions do not count."""
    answered, tried = (
        AnswerTimes(results, "beta", outcomes).of
        for outcomes in (("accepted", "rejected"), ("accepted", "rejected", "failed", "ineligible"))
    )

    assert answered("a", "v1", None) == NOW - timedelta(days=5)
    assert tried("a", "v1", None) == NOW - timedelta(days=1)
    assert answered("b", "v1", "s1") == NOW - timedelta(days=3)
    assert (answered("b", "v1", None), answered("b", "v2", "s1"), answered("b", None, "s1")) == (None, None, None)
    assert (answered("c", "v1", None), tried("c", "v1", None)) == (None, NOW - timedelta(days=2))


def test_a_store_without_a_snapshot_has_no_times(tmp_path: Path) -> None:
    """Then every row is due."""
    times = AnswerTimes(Results(FolderStore(tmp_path / "new")), "beta", ("accepted",))

    assert times.of("a", "v1", None) is None
