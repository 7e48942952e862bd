"""The snapshot holds each item once, in sorted files, whoever adds to it."""

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.store import schemas
from proofsweep.store import snapshot as module
from proofsweep.store.objects import FolderStore
from proofsweep.store.runs import LegRecord, RunRecord, missing_legs
from proofsweep.store.snapshot import Snapshot, files_of, legs_in, reduced

from ...worlds.ended_runs import answered, plan_of_run

RUNS = [f"202611{day:02}T120000Z_000aa" for day in range(1, 21)]


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """An empty snapshot."""
    return Snapshot(FolderStore(tmp_path))


def add(snapshot: Snapshot, run_id: str, *rows: Row) -> None:
    """Add the rows of a leg."""
    table = pa.Table.from_pylist([{name: row.get(name) for name in schemas.SNAPSHOT.names} for row in rows])
    snapshot.add(reduced([table]), {run_id: [1]})


def newest(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return item and run of each row."""
    return [
        (str(item), str(run))
        for table in snapshot.rows()
        for item, run in zip(table["item_id"].to_pylist(), table["run_id"].to_pylist(), strict=True)
    ]


def test_the_newest_run_of_an_item_counts_in_whatever_order_runs_end(snapshot: Snapshot) -> None:
    """A run that is resumed late adds old rows after new ones."""
    for run_id in (RUNS[2], RUNS[0], RUNS[1]):
        add(snapshot, run_id, answered(plan_of_run(run_id), 0, "a"), answered(plan_of_run(run_id), 1, run_id))

    assert newest(snapshot) == [*((run_id, run_id) for run_id in RUNS[:3]), ("a", RUNS[2])]


def test_threads_that_add_at_once_lose_nothing(snapshot: Snapshot) -> None:
    """Each merges what it sees; an item may be written twice, but not lost."""

    def end(run_id: str) -> None:
        add(snapshot, run_id, answered(plan_of_run(run_id), 0, "a"), answered(plan_of_run(run_id), 1, run_id))

    threads = [threading.Thread(target=end, args=(run_id,)) for run_id in RUNS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert newest(snapshot) == [*((run_id, run_id) for run_id in RUNS), ("a", RUNS[-1])]
    assert legs_in(snapshot.entries()) == {run_id: [1] for run_id in RUNS}


def test_a_small_leg_does_not_write_a_large_snapshot_again(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small entries are merged with each other; files hold so many rows and say which items."""
    monkeypatch.setattr(module, "_FILE_ROWS", 100)
    plan = plan_of_run(RUNS[0], items=450)
    add(snapshot, RUNS[0], *(answered(plan, row % 60, f"{row:03}") for row in range(450)))
    (large,) = snapshot.entries()
    for run_id in RUNS[1:]:
        add(snapshot, run_id, answered(plan_of_run(run_id), 0, "x"))

    entries = snapshot.entries()

    assert large in entries
    assert len(entries) <= 7
    assert [(file.rows, file.first, file.last) for file in files_of(large)][-1] == (50, "400", "449")


def test_files_are_plain_parquet_with_the_types_of_verdicts(tmp_path: Path, snapshot: Snapshot) -> None:
    """Any reader can use them."""
    add(snapshot, RUNS[0], answered(plan_of_run(RUNS[0]), 0, "a"))

    (file,) = (tmp_path / "_snapshot").glob("*/*.parquet")

    assert pq.read_schema(file).equals(schemas.SNAPSHOT)


@pytest.mark.parametrize("damage", ["damaged", "missing"])
def test_a_damaged_file_is_one_clear_line(tmp_path: Path, snapshot: Snapshot, damage: str) -> None:
    """It names the file and what makes it anew."""
    add(snapshot, RUNS[0], answered(plan_of_run(RUNS[0]), 0, "a"))
    (file,) = (tmp_path / "_snapshot").glob("*/*.parquet")
    file.write_bytes(b"PAR1 and no more") if damage == "damaged" else file.unlink()

    with pytest.raises(ResultsError, match=rf"is {damage}\. It is derived: delete _snapshot, and it is made anew\.$"):
        list(snapshot.rows())


def test_missing_legs_are_known(snapshot: Snapshot) -> None:
    """A leg that ended while the store could not be written is added later."""
    add(snapshot, RUNS[0], answered(plan_of_run(RUNS[0]), 0, "a"))
    legs = [LegRecord(leg=1, receipt={}), LegRecord(leg=2, receipt={})]
    runs = [RunRecord(plan=plan_of_run(run_id), legs=legs) for run_id in RUNS[:2]]

    missing = [(plan.run_id, numbers) for plan, numbers in missing_legs(snapshot.entries(), runs)]

    assert missing == [(RUNS[0], [2]), (RUNS[1], [1, 2])]
