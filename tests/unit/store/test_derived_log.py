"""Entries are never lost, whoever adds and replaces them at the same time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.store.objects import FolderStore
from proofsweep.store.snapshot import DerivedLog

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Clock:
    """A clock that goes on by a second with each look."""

    def __init__(self) -> None:
        """Begin at noon."""
        self.now = NOON

    def __call__(self) -> datetime:
        """Return the time."""
        self.now += timedelta(seconds=1)
        return self.now


class LateStore(FolderStore):
    """A store in which another process deletes an object right after it was listed."""

    def __init__(self, root: Path, times: int) -> None:
        """Delete so many times."""
        super().__init__(root)
        self._times = times

    def names(self, folder: str) -> list[str]:
        """List, then delete the newest."""
        found = super().names(folder)
        if self._times:
            self._times -= 1
            self.delete(found[-1])
        return found


@pytest.fixture
def clock() -> Clock:
    """The clock of all processes."""
    return Clock()


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> DerivedLog:
    """An empty log."""
    return DerivedLog(FolderStore(tmp_path), "_derived", clock)


def said(log: DerivedLog) -> list[object]:
    """Return what the entries say."""
    return sorted(entry.body["n"] for entry in log.entries())  # type: ignore[type-var]  # numbers, as the tests wrote them


def test_two_processes_that_replace_the_same_entries_lose_nothing(log: DerivedLog) -> None:
    """Both results stay, also what was added between."""
    log.add({"n": 1})
    seen = log.entries()
    log.add({"n": 2})

    log.add({"n": 10}, replaced=seen)
    log.add({"n": 11}, replaced=seen)

    assert said(log) == [2, 10, 11]


def test_what_is_replaced_is_deleted_only_later(log: DerivedLog, clock: Clock) -> None:
    """A reader that listed it before can still read it; ten minutes later the next replacement deletes it."""
    log.add({"n": 1}, objects=[])
    first = log.names()
    log.add({"n": 2}, replaced=log.entries())
    kept = log.names()
    clock.now += timedelta(minutes=11)
    log.add({"n": 3}, replaced=log.entries())

    assert kept[0] == first[0]
    assert first[0] not in log.names()
    assert said(log) == [3]


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


def test_a_damaged_entry_is_named_in_one_line(tmp_path: Path, log: DerivedLog) -> None:
    """It is derived, so the line says what makes it anew."""
    log.add({"n": 1})
    (tmp_path / log.names()[0]).write_bytes(b"no gzip")

    with pytest.raises(ResultsError, match=r"^_derived/\S+ in .* delete _derived, and it is made anew\.$"):
        log.entries()
