"""A redaction takes an item out of the tables of operations too, and an audit accepts exactly that."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from proofsweep.audit.audit_store import audit_store
from proofsweep.audit.redact import redact
from proofsweep.model.tables.columns import Row
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results, parquet_of
from proofsweep.store.watches import Watch, ingest_store

from ...worlds.audited_store import NOW
from ..ended_operations import call_of, leave_operation, operation_named
from .test_redact import says, wrong

OPERATION = operation_named("20261103T120000Z_000aa")
PART = f"run_date=2026-11-03/{OPERATION.operation_id}"
SECRETS = ("x", "/c/x", "/c/x.sidecar", "proof-x", "Song x", "A note on x.", "r-x")


def rows_about(item: str) -> dict[str, list[Row]]:
    """Make what operations say of an item: by its ID, by its proof alone, and of another item with its proof."""
    names: Row = {"proof_id": f"proof-{item}", "item_id": item, "audio": f"/c/{item}"}
    at = OPERATION.started_at
    recovery = {"outcome": "recovered", "recovered_to": f"/c/{item}.sidecar", "request_id": f"r-{item}", "acted_at": at}
    note = {"status": "ready", "text": f"A note on {item}.", "asks": 1, "asked_at": at, "request_id": f"r-{item}"}
    unnamed = {"proof_id": names["proof_id"], "state": "no_file", "song": f"Song {item}"}
    return {
        "recoveries": [names | recovery],
        "proofs": [names | {"state": "matched", "files": 1}, unnamed, {**unnamed, "item_id": "another"}],
        "interpretations": [{"proof_id": names["proof_id"], "item_id": item} | note],
    }


def leave(results: Results) -> None:
    """Leave an operation behind that wrote of `x` and of `y`."""
    rows = {table: [*rows_about("x")[table][:2], *rows_about("y")[table]] for table in rows_about("x")}
    leave_operation(results, OPERATION, [call_of(OPERATION, "r-1")], rows)


@pytest.mark.parametrize("item", ["x", "/c/x"])
def test_nothing_of_the_item_stays_and_the_audit_passes(results: Results, tmp_path: Path, item: str) -> None:
    """Also where only its proof is named; its rows stay, and those of others as they were."""
    leave(results)

    redact(results, item, lambda: NOW)

    assert (says(tmp_path / "results", *SECRETS), wrong(results)) == ([], [])
    proofs = results.table("proofs", results.all_parts("proofs")).to_pylist()
    assert [(row["proof_id"], row["state"], row["item_id"]) for row in proofs] == [
        ("redacted", "matched", None),
        ("redacted", "no_file", None),
        ("proof-y", "matched", "y"),
        ("proof-y", "no_file", None),
        ("proof-y", "no_file", "another"),
    ]
    redact(results, "y", lambda: NOW)
    assert wrong(results) == []
    assert says(tmp_path / "results", "another") == ["another"]


def forged(table: list[Row]) -> None:
    """Change the row of another item."""
    table[1]["outcome"] = "same"


def filled(table: list[Row]) -> None:
    """Write something in the place of what was removed."""
    table[0]["item_id"] = "q"


@pytest.mark.parametrize("tamper", [forged, filled])
def test_any_other_change_is_found(results: Results, tmp_path: Path, tamper: Callable[[list[Row]], None]) -> None:
    """Even if the receipt of the redaction names the new digest."""
    leave(results)
    redact(results, "x", lambda: NOW)
    (path,) = (tmp_path / "results").glob("recoveries/*/*.parquet")
    name, table = str(path.relative_to(tmp_path / "results")), pq.ParquetFile(path).read()
    before, rows = results.part(name).sha256, table.to_pylist()
    tamper(rows)
    path.write_bytes(parquet_of(type(table).from_pylist(rows, schema=table.schema)))
    assert [each for each in wrong(results) if each.startswith(name)] != []

    receipt = tmp_path / "results/_redacted/00001-receipt.json"
    receipt.write_text(receipt.read_text().replace(before, results.part(name).sha256))

    assert [each for each in wrong(results) if each.startswith(name)] != []


def test_what_passes_over_watched_folders_remember_of_files_goes(results: Results, tmp_path: Path) -> None:
    """It is derived: the next pass looks at the files anew."""
    watch = Watch(ingest_store(results.store.url), "0123456789abcdef")
    watch.keep({})
    watch.keep_answers([])
    watch.open_run("r")

    redact(results, "x", lambda: NOW)

    left = [path.name for path in (tmp_path / "results/_ingest").rglob("*") if path.is_file()]
    assert left == ["r.json"]


def test_an_operation_that_was_killed_before_is_redacted(results: Results, tmp_path: Path) -> None:
    """Its parts have no receipt; the redaction's own receipt holds them."""
    leave_operation(results, OPERATION, rows=rows_about("x"), is_killed=True)
    kept = ["proof-x", "Song x", "another"]  # of another item

    redact(results, "x", lambda: NOW)

    assert (says(tmp_path / "results", "another", *SECRETS), wrong(results)) == (kept, [])
    assert OPERATION.started_at < NOW - timedelta(days=1)
    assert [note.where for note in audit_store(results).notes if note.where in Operations(results).ids()] != []
