"""The rounds of a past day become four objects; no row is lost or doubled, wherever a merge is killed."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.exchanges import Call
from proofsweep.query.connection import opened
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results, parquet_of
from proofsweep.usecases.audit.audit_store import audit_store
from proofsweep.usecases.explain.find_call import find_call
from proofsweep.usecases.upkeep.merge_rounds import RoundMerger

from ....worlds.year_old_store import KilledAtStep, KilledHere, found, prune_all
from ...ended_operations import operation_named
from ...rounds_of_monitoring import leave_round, leave_rounds

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = datetime(2026, 11, 17, tzinfo=UTC)

_BOTH_THERE = 3
"""Changes after which the merged parts are there, and the single ones are still."""


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store with three rounds of a past day."""
    results = Results(FolderStore(tmp_path))
    leave_rounds(results, DAY, 3)
    return results


def merge(results: Results) -> tuple[int, int]:
    """Merge all past days; give how many, and how many rounds."""
    return RoundMerger(results, lambda: NOW).merge_all()


def rows(results: Results) -> list[str]:
    """Give the rows of both tables, as they lie in the store."""
    tables = (results.table(table, results.all_parts(table)) for table in ("probes", "usage"))
    return sorted(str(row) for table in tables for row in table.to_pylist())


def seen(results: Results) -> int:
    """Count the rows of the view of probes."""
    with opened(results, "all", with_tags=False) as store:
        return int(store.connection.execute("SELECT count(*) FROM probes").fetchall()[0][0])


def files(root: Path) -> list[str]:
    """Name the objects of a store."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def wrong(results: Results) -> list[str]:
    """List what an audit finds."""
    return [f"{each.where} {each.what}" for each in audit_store(results).wrong]


def test_a_day_of_rounds_becomes_four_objects(results: Results, tmp_path: Path) -> None:
    """With the same rows, and the sums of the receipts; a second merge does nothing."""
    before = rows(results)

    assert merge(results) == (1, 3)

    (merged,) = Operations(results).ids()
    folder = f"run_date=2026-11-17/{merged}"
    assert files(tmp_path) == [
        f"_operations/{merged}/receipt.json",
        f"_operations/{merged}/rounds.json.gz",
        f"probes/{folder}-00000-001.parquet",
        f"usage/{folder}-00001-001.parquet",
    ]
    receipt = Operations(results).receipt(merged) or {}
    assert (receipt["kind"], receipt["counts"], receipt["calls_by_day"]) == (
        "monitoring",
        {"rounds": 3},
        {"2026-11-17": 3},
    )
    assert rows(results) == before
    assert (wrong(results), audit_store(results).notes, merge(results)) == ([], [], (0, 0))
    call = find_call(Operations(results), f"20261117T000500Z_000aa-{Call.USAGE}")
    assert call is not None
    assert call[0].operation_id == merged


def test_an_audit_at_the_same_time_finds_nothing_wrong(results: Results, tmp_path: Path) -> None:
    """The rounds are merged after it has read their receipts."""

    class Merged(FolderStore):
        """Merges the rounds before a part is read."""

        def read(self, name: str) -> bytes | None:
            """Merge first, if it is a part."""
            if name.startswith("probes/"):
                merge(results)
            return super().read(name)

    done = audit_store(Results(Merged(tmp_path)))

    assert done.wrong == []
    assert any(note.what.startswith("was merged into") for note in done.notes)


def test_days_that_alerts_read_stay_and_services_are_kept_apart(results: Results) -> None:
    """Today and yesterday are left as they are; rounds that come late are merged once more."""
    leave_rounds(results, DAY + timedelta(hours=1), 2, "production")
    young = leave_rounds(results, NOW - timedelta(hours=30), 3)

    assert merge(results) == (1, 5)

    ids = Operations(results).ids()
    assert (len(ids), ids[2:]) == (5, young)
    leave_rounds(results, DAY + timedelta(hours=2), 2)
    assert (merge(results), merge(results)) == ((1, 2), (0, 0))
    assert (len(Operations(results).ids()), wrong(results)) == (6, [])


def test_rounds_that_are_not_as_their_receipts_say_stay(results: Results, tmp_path: Path) -> None:
    """A merge must hide nothing that an audit finds: a changed part, one more part, a killed round."""
    changed, added, killed = (operation_named(f"20261117T0{hour}0000Z_000bb", "monitoring") for hour in (3, 4, 5))
    for operation in (changed, added):
        leave_round(results, operation)
    leave_round(results, killed, is_killed=True)
    (path,) = tmp_path.glob(f"probes/*/{changed.operation_id}-*")
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    Operations(results).publish(added, "usage", [], 7)
    before = wrong(results)

    assert merge(results) == (1, 3)

    assert (wrong(results), len(before)) == (before, 2)
    assert [note.where for note in audit_store(results).notes] == [
        f"{table}/run_date=2026-11-17/{killed.operation_id}-0000{number}-001.parquet"
        for number, table in enumerate(("probes", "usage"))
    ]


def test_a_kill_at_each_step_loses_and_doubles_nothing(results: Results, tmp_path: Path) -> None:
    """The views are right in between, an audit passes, and the next merge leaves what an uninterrupted one does."""
    before = rows(results)
    whole = tmp_path.with_name("merged-whole")
    shutil.copytree(tmp_path, whole)
    merge(Results(FolderStore(whole)))
    for steps in range(99):
        root = tmp_path.with_name(f"merged-at-{steps}")
        shutil.copytree(tmp_path, root)
        killed, was_killed = Results(FolderStore(root)), False
        try:
            merge(Results(KilledAtStep(killed.store, steps)))  # type: ignore[arg-type]  # it hands all calls on
        except KilledHere:
            was_killed = True
        assert (sorted(set(rows(killed))), wrong(killed)) == (before, [])
        if steps == _BOTH_THERE:
            assert (len(rows(killed)), seen(killed)) == (2 * len(before), len(before) * 2 // 3)
        merge(killed)
        assert (rows(killed), wrong(killed), files(root)) == (before, [], files(whole))
        if not was_killed:
            break
    assert not was_killed
    assert steps > 10


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("receipt.json", (b'"calls": 3', b'"calls": 4'), "does not have the sums of the rounds that it merged"),
        ("rounds.json.gz", (b"\x1f\x8b", b"\x1f\x8c"), "was changed: the receipt beside it has another sha256"),
    ],
)
def test_what_is_changed_afterwards_is_found(
    results: Results, tmp_path: Path, name: str, change: tuple[bytes, bytes], said: str
) -> None:
    """The sums, or the receipts of the rounds."""
    merge(results)
    (path,) = tmp_path.glob(f"_operations/*/{name}")
    path.write_bytes(path.read_bytes().replace(*change, 1))

    assert f"{path.relative_to(tmp_path)} {said}" in wrong(results)


def test_a_row_that_was_taken_from_a_merged_part_is_found(results: Results, tmp_path: Path) -> None:
    """Even if the receipt was made to fit: each round's own receipt says how many rows it had."""
    merge(results)
    (path,) = tmp_path.glob("probes/*/*.parquet")
    name, part = str(path.relative_to(tmp_path)), results.part(str(path.relative_to(tmp_path)))
    path.write_bytes(parquet_of(results.table("probes", [name]).slice(1)))
    (receipt,) = tmp_path.glob("_operations/*/receipt.json")
    forged = receipt.read_text().replace(part.sha256, results.part(name).sha256)
    receipt.write_text(forged.replace('"rows": 6', '"rows": 5'))

    assert wrong(results) == [f"{name} has other rows than the receipts of its rounds say"]


def test_merged_days_are_pruned_and_many_single_rounds_are_merged_first(results: Results) -> None:
    """An audit passes afterwards; few single rounds are pruned as they are."""
    old = NOW - timedelta(days=500)
    leave_rounds(results, old, 14)
    single = leave_rounds(results, old - timedelta(days=1), 2)
    assert ([each.run_id for each in found(results).of_operations], len(found(results).unmerged_days)) == (single, 1)

    merge(results)
    assert found(results).unmerged_days == []
    assert len(prune_all(results)) == 2

    assert {name.split("/")[1] for name in results.all_parts("probes")} == {"run_date=2026-11-17"}
    assert (wrong(results), prune_all(results)) == ([], [])
