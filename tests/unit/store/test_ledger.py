"""The ledger is one line: each receipt has one entry, whoever appends it, and however often."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from proofsweep.domain.runs import OperationKind
from proofsweep.operations.operation import end_killed
from proofsweep.store import layout
from proofsweep.store.ledger import EntryKind, Ledger, LedgerEntry
from proofsweep.store.objects import FolderStore, Store, json_bytes, sha256_hex
from proofsweep.store.parts import Results

from ...worlds.audited_store import NOW, audited_store
from ..ended_operations import leave_operation, operation_named


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def receipt(store: FolderStore, name: str) -> str:
    """Write a receipt as a leg does; give its name."""
    store.create(name, json_bytes({"name": name, "after_entry": Ledger(store).newest()}))
    return name


def line(store: Store) -> list[LedgerEntry]:
    """Read all entries, and see that they are one line."""
    entries = list(Ledger(store).entries())
    assert [each.number for each in entries] == list(range(1, len(entries) + 1))
    assert [each.previous for each in entries] == ["", *(each.digest for each in entries)][:-1]
    return entries


def names(store: Store) -> list[str]:
    return [each.name for each in line(store)]


def test_each_receipt_has_one_entry(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a folder of entries is full; a receipt that has an entry keeps it."""
    monkeypatch.setattr(layout, "_ENTRIES_PER_FOLDER", 4)
    receipts = [receipt(store, f"r/{number}.json") for number in range(9)]
    assert Ledger(store).head() == ""

    for number, name in enumerate(receipts):
        Ledger(store).append(EntryKind.LEG, name)
        assert Ledger(store).head() == line(store)[-1].digest
        Ledger(store).append(EntryKind.LEG, receipts[0], name, name)
        assert Ledger(store).newest() == number + 1

    assert names(store) == receipts
    assert [each.sha256 for each in line(store)] == [sha256_hex(store.read(name) or b"") for name in receipts]
    assert [each.number for each in Ledger(store).entries(3)] == [4, 5, 6, 7, 8, 9]
    assert (Ledger(store).newest(), list(Ledger(store).entries(9))) == (9, [])


def test_an_entry_that_no_listing_has_yet_is_not_written_again(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for by its number, whether it is the last one or one before."""
    for number in range(3):
        Ledger(store).append(EntryKind.LEG, receipt(store, f"r/{number}.json"))
    listed = store.names

    for late in ({layout.ledger_name(2)}, {layout.ledger_name(2), layout.ledger_name(3)}):
        with monkeypatch.context() as patched:
            patched.setattr(store, "names", lambda folder, late=late: sorted({*listed(folder)} - late))
            Ledger(store).append(EntryKind.LEG, "r/1.json", "r/2.json")

    assert names(store) == ["r/0.json", "r/1.json", "r/2.json"]


def test_several_appenders_meet_at_the_numbers(store: FolderStore) -> None:
    """Two of them have the same receipt: its own process, and the next one that finds it."""
    receipts = [
        receipt(store, f"r/{number // 2}.json") if number % 2 == 0 else f"r/{number // 2}.json" for number in range(16)
    ]
    together = Barrier(len(receipts))

    def append(name: str) -> None:
        together.wait()
        Ledger(FolderStore(Path(store.url))).append(EntryKind.LEG, name)

    with ThreadPoolExecutor(len(receipts)) as pool:
        list(pool.map(append, receipts))

    assert sorted(names(store)) == sorted(set(receipts))


def test_a_process_that_slept_before_its_entry_finds_it(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others appended it, and more, between its look at the ledger and its own entry."""
    one, two = receipt(store, "r/1.json"), receipt(store, "r/2.json")
    asleep, create = [True], FolderStore.create

    def late(self: FolderStore, name: str, content: bytes) -> None:
        if asleep.pop() if asleep else False:
            Ledger(store).append(EntryKind.PRUNING, two, one)
        create(self, name, content)

    monkeypatch.setattr(FolderStore, "create", late)

    Ledger(store).append(EntryKind.LEG, one)

    assert names(store) == [two, one]


def test_legs_operations_and_prunings_are_in_the_order_in_which_they_ended(results: Results) -> None:
    audited_store(results)
    operation = operation_named("20261120T010000Z_000aa")
    leave_operation(results, operation)

    kinds = [each.kind for each in line(results.store)]

    assert kinds == ["leg", "leg", "leg", "pruning", "leg", "leg"]
    assert names(results.store)[-1] == layout.receipt_name(operation.operation_id, 1)


def test_a_killed_operation_is_healed_by_the_next(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process ended right before it would append the entry of its receipt."""
    one, two = (operation_named(f"20261120T0{hour}0000Z_000aa") for hour in (1, 2))

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "append", kill)
        with pytest.raises(KeyboardInterrupt):
            leave_operation(results, one)

    end_killed(results, OperationKind.INVENTORY, lambda: NOW)
    leave_operation(results, two)

    assert names(results.store) == [layout.receipt_name(each.operation_id, 1) for each in (one, two)]
