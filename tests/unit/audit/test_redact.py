"""A redaction takes an item out of all that is stored, and an audit accepts exactly that."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from proofsweep.answers.describe_run import describe_run
from proofsweep.audit.audit_store import audit_store
from proofsweep.audit.compact import compact
from proofsweep.audit.redact import redact
from proofsweep.endings import EndedBy
from proofsweep.errors import ResultsError, RunIsActive
from proofsweep.model.tables.columns import Row
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results, parquet_of

from ...worlds.audited_store import NEWEST, NOW, end_leg, list_items, planned
from ...worlds.year_old_store import KilledAtStep, KilledHere, newest
from ..ended_operations import leave_operation, operation_named

SECRET = "Song x"  # what the records say of the item


def wrong(results: Results, head: str | None = None) -> list[str]:
    """List what an audit finds."""
    return [f"{finding.where} {finding.what}" for finding in audit_store(results, head=head).wrong]


def cells(root: Path) -> Iterator[object]:
    """Yield every cell of every Parquet file of a store, and every other file."""
    for path in root.rglob("*"):
        if path.suffix == ".parquet":
            yield from (cell for row in pq.ParquetFile(path).read().to_pylist() for cell in row.values())
        elif path.is_file():
            yield path.read_bytes()


def says(root: Path, *words: str) -> list[object]:
    """List what is stored that says one of some words."""
    return [cell for cell in cells(root) if any(str(cell) in {word, f"b'{word}'"} for word in words)]


def test_nothing_of_the_item_stays_and_the_audit_passes(results: Results, tmp_path: Path) -> None:
    """Its content, location and ID are gone from tables, plans, snapshot and index; its row counts as before."""
    list_items(results, NEWEST, "axbyz")
    head, before = audit_store(results).head, describe_run(results, NEWEST)

    (done,) = redact(results, "x", lambda: NOW)

    root = tmp_path / "results"
    rows = results.table("verdicts", results.parts_of("verdicts", results.plan(NEWEST))).to_pylist()
    assert [row["item_id"] for row in rows] == ["a", "b", "redacted", "y", "z"]
    assert {name: cell for name, cell in rows[2].items() if cell is not None} == {
        "run_id": NEWEST,
        "leg": 1,
        "environment": "beta",
        "manifest_row": 2,
        "item_id": "redacted",
        "audio": "redacted",
        "outcome": "accepted",
        "accepted": True,
        "action": "accept",
        "epoch": 0,
        "verify_attempts": 1,
        "calls": 2,
    }
    assert says(root, SECRET, "x", "/c/x") == []
    assert wrong(results, head) == []
    assert audit_store(results).checked.redacted == 1
    assert describe_run(results, NEWEST).rows("accepted") == before.rows("accepted")
    assert len(done.objects) == 3


def test_an_item_of_several_runs_is_redacted_in_all(results: Results, tmp_path: Path) -> None:
    """By its location too; a second redaction of another item in the same parts is accepted as well."""
    redact(results, "/c/a", lambda: NOW)
    redact(results, "b", lambda: NOW)

    assert wrong(results) == []
    assert says(tmp_path / "results", "a", "/c/a", "Song a", "b", "/c/b", "Song b") == []
    assert "a" not in {row["item_id"] for row in newest(results)}
    compact(results)
    assert wrong(results) == []


def test_later_runs_hold_the_redaction(results: Results) -> None:
    """The next leg's receipt names it; a run goes on as before."""
    redact(results, "x", lambda: NOW)
    plan = planned(results, "20261103T120000Z_000aa", "ax")
    end_leg(results, plan, "ax", [0, 1])

    done = audit_store(results)

    assert done.wrong == []
    assert done.head == Legs(results, plan.run_id).receipt_digest(1)


@pytest.mark.parametrize("name", ["00001-receipt.json", "00001-intent.json"])
def test_a_redaction_without_its_document_is_found(results: Results, tmp_path: Path, name: str) -> None:
    """Then the part has a digest that nothing names."""
    redact(results, "x", lambda: NOW)
    (tmp_path / "results/_redacted" / name).unlink()

    assert wrong(results) != []


def forge_after_redaction(results: Results, folder: Path, number: int) -> str:
    """Redact an item, then change one row of its part, and let the redaction's receipt name the new digest."""
    redact(results, "x", lambda: NOW)
    (path,) = (folder / "results").glob(f"verdicts/*/{NEWEST}-*")
    table = pq.ParquetFile(path).read()
    rows = table.to_pylist()
    rows[number]["song"] = "forged"
    path.write_bytes(parquet_of(type(table).from_pylist(rows, schema=table.schema)))
    receipt = folder / "results/_redacted/00001-receipt.json"
    document = json.loads(receipt.read_text())
    part = results.part(str(path.relative_to(folder / "results")))
    document["objects"][part.name] = part.sha256
    receipt.write_text(json.dumps(document))
    return part.name


def test_a_redacted_row_with_new_content_is_found(results: Results, tmp_path: Path) -> None:
    """Also if the receipt of the redaction names the new digest."""
    forge_after_redaction(results, tmp_path, 2)

    assert any("still holds content of a row that was redacted, or new content" in each for each in wrong(results))


def test_another_row_changed_under_the_cover_of_a_redaction_is_found(results: Results, tmp_path: Path) -> None:
    """The Merkle root of the leg's receipt holds the other rows."""
    part = forge_after_redaction(results, tmp_path, 0)

    assert f"{part} holds a row that was changed: the Merkle root of its rows is another one" in wrong(results)


def test_a_kill_at_each_change_is_healed_by_redacting_again(tmp_path: Path) -> None:
    """Then the store is as after a redaction that nobody interrupted: nothing of the item stays."""
    small = tmp_path / "small"
    end_leg(Results(FolderStore(small)), planned(Results(FolderStore(small)), NEWEST, "axy"), "axy", [0, 1, 2])
    names: Row = {"proof_id": "proof-x", "item_id": "x", "audio": "/c/x"}
    rows = {"proofs": [names | {"state": "matched"}], "recoveries": [names | {"outcome": "same", "acted_at": NOW}]}
    leave_operation(Results(FolderStore(small)), operation_named("20261103T120000Z_000aa"), rows=rows)
    for steps in range(99):
        root = tmp_path / str(steps)
        shutil.copytree(small, root)
        results = Results(FolderStore(root))
        was_killed = False
        try:
            redact(Results(KilledAtStep(results.store, steps)), "x", lambda: NOW)  # type: ignore[arg-type]
        except KilledHere:
            was_killed = True
            redact(results, "x", lambda: NOW)
        assert says(root, SECRET, "x", "/c/x", "proof-x") == []
        assert wrong(results) == []
        assert [row["item_id"] for row in newest(results)] == ["a", "y"]
        if not was_killed:
            break
    assert not was_killed
    assert steps > 8


def test_it_is_refused_while_a_leg_is_at_work(results: Results) -> None:
    """Of any run: its end would merge what is removed into a new snapshot."""
    plan = planned(results, "20261103T120000Z_000aa", "q")
    Legs(results, plan.run_id).claim(1)

    with pytest.raises(RunIsActive, match=r"^Leg 1 of run 20261103T120000Z_000aa is at work"):
        redact(results, "x", lambda: NOW)


def test_an_item_that_has_no_answer_yet_is_refused(results: Results) -> None:
    """Its run needs the location."""
    plan = planned(results, "20261103T120000Z_000aa", "xq")
    end_leg(results, plan, "xq", [1], EndedBy.QUOTA)

    with pytest.raises(ResultsError, match=r"^Row 0 of run 20261103T120000Z_000aa is this item, and has no answer yet"):
        redact(results, "x", lambda: NOW)


@pytest.mark.parametrize("item", ["nobody", "redacted", "/c/"])
def test_an_unknown_item_is_said(results: Results, item: str) -> None:
    """Nothing is written then."""
    with pytest.raises(ResultsError):
        redact(results, item, lambda: NOW)

    assert results.store.names("_redacted") == []
