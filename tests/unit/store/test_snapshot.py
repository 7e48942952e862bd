"""The snapshot holds the newest answer of each item, and the newest failure, whoever adds to it."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.store import schemas
from proofsweep.store import snapshot as module
from proofsweep.store.objects import FolderStore
from proofsweep.store.snapshot import DerivedLog, Snapshot, files_of, legs_in, newest_rows, reduced

from ...worlds.ended_runs import answered, plan_of_run

RUNS = [f"202611{day:02}T120000Z_000aa" for day in range(1, 21)]


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    return Snapshot(FolderStore(tmp_path))


def add(snapshot: Snapshot, run_id: str, *rows: Row) -> None:
    table = pa.Table.from_pylist([{name: row.get(name) for name in schemas.SNAPSHOT.names} for row in rows])
    snapshot.add(reduced([table]), {run_id: [1]})


def newest(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [
        (str(item), str(run))
        for table in snapshot.rows()
        for item, run in zip(table["item_id"].to_pylist(), table["run_id"].to_pylist(), strict=True)
    ]


def test_threads_that_add_at_once_lose_nothing(snapshot: Snapshot) -> None:
    """Each merges what it sees; an item may be written twice, but not lost."""

    def end(run_id: str) -> None:
        add(snapshot, run_id, answered(plan_of_run(run_id), 0, "a"), answered(plan_of_run(run_id), 1, run_id))

    with ThreadPoolExecutor(len(RUNS)) as threads:
        list(threads.map(end, RUNS))

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


@pytest.mark.parametrize("damage", ["damaged", "missing"])
def test_a_damaged_file_is_one_clear_line(tmp_path: Path, snapshot: Snapshot, damage: str) -> None:
    """It names the file and what makes it anew."""
    add(snapshot, RUNS[0], answered(plan_of_run(RUNS[0]), 0, "a"))
    (file,) = (tmp_path / "_snapshot").glob("*/*.parquet")
    file.write_bytes(b"PAR1 and no more") if damage == "damaged" else file.unlink()

    with pytest.raises(ResultsError, match=rf"is {damage}\. It is derived: delete _snapshot, and it is made anew\.$"):
        list(snapshot.rows())


PLAN = plan_of_run("20261120T120000Z_000aa")


def table_of(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist([{name: row.get(name) for name in schemas.SNAPSHOT.names} for row in rows])


def kept(table: pa.Table) -> list[tuple[str, str, int]]:
    """Return item, outcome and row of each kept row."""
    return list(zip(*(table[name].to_pylist() for name in ("item_id", "outcome", "manifest_row")), strict=True))


def test_a_failure_never_hides_an_older_answer() -> None:
    """Both are kept: the newest answer, and the newest attempt that brought none."""
    rows = [answered(PLAN, row, "a", word) for row, word in enumerate(["accepted", "rejected", "failed", "failed"])]

    assert kept(newest_rows(table_of(*rows))) == [("a", "rejected", 1), ("a", "failed", 3)]


def test_environments_do_not_hide_each_other() -> None:
    """What beta said does not count in production."""
    rows = [answered(PLAN, 0, "a", environment="production"), answered(PLAN, 1, "a")]

    assert len(newest_rows(table_of(*rows))) == 2


def test_many_rows_give_the_same_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Portions, steps and several rounds of merging change nothing; the outcome is sorted."""
    lots = random.Random(7)  # noqa: S311 - draws rows
    outcomes = ["accepted", "rejected", "failed", "ineligible"]
    rows = [
        answered(PLAN, row % 60, f"é{lots.randrange(150)}", lots.choice(outcomes), leg=row // 60) for row in range(3000)
    ]
    expected = kept(newest_rows(table_of(*rows)))
    monkeypatch.setattr(module, "PORTION_ROWS", 70)
    monkeypatch.setattr(module, "STEP_ROWS", 3)
    monkeypatch.setattr(module, "_MOST_FILES", 3)

    parts = (table_of(*rows[first : first + 100]) for first in range(0, len(rows), 100))
    found = [row for table in reduced(parts) for row in kept(table)]

    assert found == expected
    assert [row[0] for row in found] == sorted(row[0] for row in found)


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Clock:
    """A clock that goes on by a second with each look."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class LateStore(FolderStore):
    """A store in which another process deletes an object right after it was listed."""

    def __init__(self, root: Path, times: int) -> None:
        super().__init__(root)
        self._times = times

    def names(self, folder: str) -> list[str]:
        found = super().names(folder)
        if self._times:
            self._times -= 1
            self.delete(found[-1])
        return found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> DerivedLog:
    return DerivedLog(FolderStore(tmp_path), "_derived", clock)


def said(log: DerivedLog) -> list[object]:
    return sorted(entry.body["n"] for entry in log.entries())  # type: ignore[type-var]  # numbers, as the tests wrote them


def test_two_processes_that_replace_the_same_entries_lose_nothing(log: DerivedLog) -> None:
    """Both results stay, also what was added between."""
    log.add({"n": 1})
    seen = log.entries()
    log.add({"n": 2})

    log.add({"n": 10}, replaced=seen)
    log.add({"n": 11}, replaced=seen)

    assert said(log) == [2, 10, 11]


def test_objects_of_an_entry_go_with_it(tmp_path: Path, log: DerivedLog, clock: Clock) -> None:
    """A file of a snapshot is deleted with the entry that names it."""
    log.store.create("_derived/a/0.parquet", b"x")
    log.add({"n": 1}, objects=["_derived/a/0.parquet"])
    log.add({"n": 2}, replaced=log.entries())
    still = (tmp_path / "_derived/a/0.parquet").exists()
    clock.now += timedelta(minutes=11)
    log.add({"n": 3}, replaced=log.entries())

    assert still
    assert not (tmp_path / "_derived/a/0.parquet").exists()


def test_a_deletion_during_a_read_is_no_error(tmp_path: Path, log: DerivedLog) -> None:
    """The reader lists again; only a listing that is always wrong is an error."""
    for number in range(6):
        log.add({"n": number})

    assert said(DerivedLog(LateStore(tmp_path, 2), "_derived")) == [0, 1, 2, 3]
    with pytest.raises(ResultsError, match="changes while it is read"):
        DerivedLog(LateStore(tmp_path, 4), "_derived").entries()
