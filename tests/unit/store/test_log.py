"""The log is one line, whoever appends to it, and however often."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from proofsweep.domain.items import Row
from proofsweep.store import layout
from proofsweep.store.log import EntryKind, Log, LogEntry
from proofsweep.store.objects import FolderStore, Store
from proofsweep.store.runs import RunLog, Runs

from ...worlds.audited_store import audited_store
from ...worlds.core import results_at


def append(store: Store, run_id: str, **facts: object) -> Runs:
    return RunLog(store).append(EntryKind.RETIRED, run_id, lambda _: facts)


def line(store: Store) -> list[LogEntry]:
    """Read all entries, and see that they are one line."""
    entries = list(Log(store).entries(1, Log(store).newest()))
    assert [each.number for each in entries] == list(range(1, len(entries) + 1))
    assert [each.previous for each in entries] == ["", *(each.digest for each in entries)][:-1]
    return entries


def test_entries_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a folder of entries is full."""
    monkeypatch.setattr(layout, "_ENTRIES_PER_FOLDER", 4)
    store = FolderStore(tmp_path)
    assert (RunLog(store).runs().head, Log(store).newest()) == ("", 0)

    for number in range(9):
        assert append(store, f"r{number}").head == line(store)[-1].digest

    assert [each.run_id for each in line(store)] == [f"r{number}" for number in range(9)]
    assert [each.number for each in Log(store).entries_after(6)] == [7, 8, 9]


def test_what_is_decided_to_be_there_already_is_not_appended(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    append(store, "r1")

    runs = RunLog(store).append(EntryKind.RETIRED, "r1", lambda runs: None if "r1" in runs.retired else {})

    assert (runs.through, len(line(store))) == (1, 1)


def test_an_entry_that_no_listing_has_yet_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path)
    for number in range(3):
        append(store, f"r{number}")
    listed = store.names

    for late in ({layout.log_name(2)}, {layout.log_name(2), layout.log_name(3)}):
        monkeypatch.setattr(store, "names", lambda folder, late=late: sorted({*listed(folder)} - late))
        assert RunLog(store).runs().through == 3


def test_several_appenders_meet_at_the_numbers(tmp_path: Path) -> None:
    """Each decides again on what the others have written meanwhile: of two with the same fact, one writes it."""
    names = [f"r{number // 2}" for number in range(16)]
    together = Barrier(len(names))

    def append_once(name: str) -> None:
        def decide(runs: Runs) -> Row | None:
            return None if name in runs.retired else {}

        log = RunLog(FolderStore(tmp_path))
        log.runs()
        together.wait()
        log.append(EntryKind.RETIRED, name, decide)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(append_once, names))

    assert sorted(each.run_id for each in line(FolderStore(tmp_path))) == sorted(set(names))


def test_a_process_that_slept_before_its_entry_decides_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asleep, create = [True], FolderStore.create

    def late(self: FolderStore, name: str, content: bytes) -> None:
        if asleep.pop() if asleep else False:
            append(FolderStore(tmp_path), "other")
        create(self, name, content)

    monkeypatch.setattr(FolderStore, "create", late)
    seen: list[int] = []

    def decide(runs: Runs) -> Row:
        seen.append(runs.through)
        return {}

    RunLog(FolderStore(tmp_path)).append(EntryKind.RETIRED, "own", decide)

    assert (seen, [each.run_id for each in line(FolderStore(tmp_path))]) == ([0, 1], ["other", "own"])


def test_what_happened_to_a_store_stands_there_in_its_order(tmp_path: Path) -> None:
    results = results_at(tmp_path)
    audited_store(results)

    kinds = [str(each.kind) for each in line(results.store)]

    assert kinds[:3] == ["planned", "begun", "ended"]
    assert kinds.count("begun") == kinds.count("ended") == 4
    assert kinds.count("pruned") == 1
