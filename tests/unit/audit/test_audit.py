"""An audit passes what was recorded, and names what was changed since: of a store, of one run, of operations."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proofsweep.audit.check import RunAuditor, audit_store
from proofsweep.audit.findings import Audit
from proofsweep.audit.line import checked_head
from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import Row
from proofsweep.queries.status import describe_run
from proofsweep.store.layout import receipt_name
from proofsweep.store.objects import FolderStore, sha256_hex
from proofsweep.store.parts import Results, parquet_of
from proofsweep.verify.attempt import recover_last_legs

from ...worlds.audited_store import NEWEST, TWO_LEGS, end_leg, planned
from ...worlds.core import prune_old
from ..ended_operations import call_of, leave_operation, operation_named
from .conftest import append, forge_newest_entry

LATER = "20261103T120000Z_000aa"
PLAN, RECEIPT, ENTRY = f"_runs/{TWO_LEGS}/plan.json", receipt_name(NEWEST, 1), "_log/000000/{:09}.json"
PRUNING = ENTRY.format(9)
PART, ROW = f"verdicts/run_date=2026-11-02/{NEWEST}-00000-001.parquet", f"runs/run_date=2026-11-02/{NEWEST}-001.parquet"
LATER_ROW = f"runs/run_date=2026-11-03/{LATER}-001.parquet"
OPERATION, OTHER = (operation_named(f"20261120T0{hour}0000Z_000{tail}") for hour, tail in ((1, "aa"), (2, "bb")))
CALLS = f"exchanges/run_date=2026-11-20/{OPERATION.operation_id}-00000-001.parquet"

Change = Callable[[Path], object]


def wrong(done: Audit) -> list[str]:
    return [f"{finding.where} {finding.what}" for finding in done.wrong]


def test_a_single_run_is_checked_without_the_others(results: Results, root: Path) -> None:
    """Only its parts are read; the head is that of the store all the same."""
    (root / PART).unlink()

    done = audit_store(results, TWO_LEGS)

    assert (wrong(done), done.runs, done.rows) == ([], 1, 8)
    assert done.head == audit_store(results).head


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "a" * 63, "a" * 64 + "+", "a" * 128])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^A head is one digest of 64 hex digits"):
        checked_head(text)


def test_an_old_head_holds_what_was_there(results: Results) -> None:
    """A store grows; the entries that are newer than the head are counted."""
    head = audit_store(results).head
    end_leg(results, planned(results, LATER, "q"), "q", [0])

    done = audit_store(results, head=head)

    assert wrong(done) == []
    assert [note.what for note in done.notes] == ["is older than 3 of 15 entries"]


def writing(name: str, content: bytes) -> Change:
    return lambda root: (root / name).write_bytes(content)


def removing(name: str) -> Change:
    return lambda root: (root / name).unlink()


def edited(name: str, **members: object) -> Change:
    """Change members of a document; the newest entry follows the newest receipt."""

    def change(root: Path) -> None:
        (root / name).write_text(json.dumps(json.loads((root / name).read_text()) | members))
        if name == RECEIPT:
            forge_newest_entry(root)

    return change


def pruning_of_more(root: Path) -> None:
    deleted = json.loads((root / PRUNING).read_text())["deleted"]
    edited(PRUNING, deleted=deleted | {"another": 1})(root)


def row_of_runs(root: Path) -> None:
    table = pq.ParquetFile(root / ROW).read()
    pq.write_table(pa.Table.from_pylist([table.to_pylist()[0] | {"accepted": 5}], schema=table.schema), root / ROW)


def second_entry(root: Path) -> None:
    digest = sha256_hex((root / RECEIPT).read_bytes())
    append(root, "ended", NEWEST, leg=1, sha256=digest, ended_by="complete")


def later_part(root: Path) -> None:
    """Not even the process of the leg can write it: its next number is taken."""
    shutil.copyfile(root / PART, root / PART.replace("-00000-", "-00001-"))


def leg_without_entry(root: Path) -> None:
    results = Results(FolderStore(root))
    end_leg(results, planned(results, LATER, "q"), "q", [0])
    max(root.glob("_log/*/*.json")).unlink()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        *((writing(PLAN, content), f"{PLAN} was changed") for content in (b"", b"[]", b"{}", b"null")),
        # its numbers could let the check run for ever
        (edited(PLAN, items=2_000_000_000), f"{PLAN} was changed: the log names another digest of it"),
        (edited(RECEIPT, plan_sha256="0"), f"_runs/{NEWEST}/plan.json was changed"),
        (edited(RECEIPT, parts=[]), f"{PART} is named by no receipt"),
        (later_part, f"{PART.replace('-00000-', '-00001-')} is named by no receipt"),
        (writing(f"_runs/{NEWEST}/items/00000.parquet", b"PAR1"), "is not the list of the 5 items that were planned"),
        (row_of_runs, f"{ROW} says otherwise than the receipt of its leg: accepted"),
        (writing(ROW, b"{}"), f"{ROW} is missing or cannot be read as the row of one leg"),
        (
            removing(f"runs/run_date=2026-11-01/{TWO_LEGS}-001.parquet"),
            f"{TWO_LEGS}-001.parquet is missing or cannot be read as the row of one leg",
        ),
        (second_entry, f"{ENTRY.format(13)} names {RECEIPT}, as another entry does"),
        (writing(PRUNING, b"["), f"{PRUNING} is no entry of a log"),
        (pruning_of_more, f"{PRUNING} contradicts the entry after it"),
    ],
)
def test_what_was_changed_is_named(results: Results, root: Path, change: Change, found: str) -> None:
    """Without a traceback, and nothing else is blamed that is sound."""
    change(root)

    done = wrong(audit_store(results))

    assert any(found in each for each in done), done
    assert len(done) == 1 or found.startswith((RECEIPT, PRUNING, PART)), done  # of these, other things follow


def places(done: Audit) -> set[str]:
    return {finding.where for finding in done.wrong}


def test_a_receipt_rewritten_is_found(results: Results, root: Path) -> None:
    """Also with the entry that names it: the next entry has the digest of that one."""
    receipt = receipt_name(TWO_LEGS, 1)
    edited(receipt, why="another reason")(root)
    assert places(audit_store(results)) == {receipt}

    edited(ENTRY.format(6), sha256=sha256_hex((root / receipt).read_bytes()))(root)
    assert places(audit_store(results)) == {ENTRY.format(6)}


def test_the_newest_receipt_rewritten_is_found_by_a_head_kept_elsewhere(results: Results, root: Path) -> None:
    """Nothing in the store holds the newest entry, and the audit cannot know it without the head."""
    head = audit_store(results).head

    edited(RECEIPT, why="another reason")(root)

    assert audit_store(results).wrong == []
    assert places(audit_store(results, head=head)) == {f"head {head}"}


def test_a_run_that_vanished_whole_is_found(results: Results, root: Path) -> None:
    """The log names its receipts."""
    for path in [*root.glob(f"*/*/{TWO_LEGS}*")]:
        path.unlink()
    shutil.rmtree(root / "_runs" / TWO_LEGS)

    assert receipt_name(TWO_LEGS, 2) in places(audit_store(results))


@pytest.mark.parametrize("content", [b"", b"null", b"{}", b"\xff", b'{"run_id": "r", "leg": []}'])
def test_what_is_no_receipt_is_one_finding_even_if_the_log_has_its_digest(
    results: Results, root: Path, content: bytes
) -> None:
    (root / RECEIPT).write_bytes(content)
    assert places(audit_store(results)) == {RECEIPT}

    forge_newest_entry(root)
    assert wrong(audit_store(results)) == [f"{RECEIPT} cannot be read as a receipt"]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (leg_without_entry, receipt_name(LATER, 1)),  # the next leg appends it
        (lambda root: [leg_without_entry(root), removing(LATER_ROW)(root)], receipt_name(LATER, 1)),
    ],
)
def test_what_a_killed_process_did_not_come_to_is_a_note(
    results: Results, root: Path, change: Change, where: str
) -> None:
    change(root)

    done = audit_store(results)

    assert wrong(done) == []
    assert [note.where.startswith(where) for note in done.notes] == [True]


def test_a_leg_that_ends_while_the_audit_reads_is_not_blamed(results: Results) -> None:
    """Its receipt and row are there, and its entry came after the log was read."""
    plan = planned(results, LATER, "q")
    ends = iter([lambda: end_leg(results, plan, "q", [0])])

    done = audit_store(results, progress=lambda _: next(ends, lambda: None)())

    assert (done.wrong, done.rows) == ([], 14)


def rewrite_part(root: Path, content: bytes, rows: int) -> None:
    """Change the newest run's part; its receipt and entry follow, as whoever forges it would let them."""
    (root / PART).write_bytes(content)
    document = json.loads((root / RECEIPT).read_text())
    (named,) = [each for each in document["parts"] if each["name"] == PART]
    named |= {"sha256": sha256_hex(content), "rows": rows}
    edited(RECEIPT, parts=document["parts"])(root)


def with_first(cells: Row, rows: list[Row]) -> list[Row]:
    return [rows[0] | cells, *rows[1:]]


@pytest.mark.parametrize(
    ("rows", "count", "what"),
    [
        (lambda rows: [*rows, rows[0]], 6, "has a second answer for row 0"),
        (partial(with_first, {"manifest_row": 77}), 5, "has an answer for row 77, which was not planned"),
        (partial(with_first, {"item_id": "y"}), 5, "has an answer for row 0, which was planned for another item"),
        (partial(with_first, {"leg": 7}), 5, "holds a row of another leg"),
        (partial(with_first, {"run_id": TWO_LEGS}), 5, "holds a row of another run"),
        (lambda rows: rows, 4, "has 5 rows; its receipt says 4"),
    ],
)
def test_rows_that_contradict_the_plan_are_found(
    results: Results, root: Path, rows: Callable[[list[Row]], list[Row]], count: int, what: str
) -> None:
    """Even if the receipt names the digest and the number of rows of the part that holds them."""
    read = pq.ParquetFile(root / PART).read()
    rewrite_part(root, parquet_of(pa.Table.from_pylist(rows(read.to_pylist()), schema=read.schema)), count)

    assert what in [finding.what for finding in audit_store(results, NEWEST).wrong]


@pytest.mark.parametrize("content", [b"", b"PAR1", parquet_of(pa.table({"run_id": [NEWEST], "leg": [1]}))])
def test_bytes_that_are_no_part_are_found_even_if_the_receipt_names_their_digest(
    results: Results, root: Path, content: bytes
) -> None:
    rewrite_part(root, content, 5)

    assert f"{PART} cannot be read as a part of its table" in wrong(audit_store(results, NEWEST))


def flipped(root: Path) -> None:
    content = bytearray((root / CALLS).read_bytes())
    content[len(content) // 2] ^= 1
    (root / CALLS).write_bytes(content)


def with_rows_of_another(root: Path) -> None:
    leave_operation(Results(FolderStore(root)), OTHER, [call_of(OTHER, "r-3")])
    (root / CALLS).write_bytes((root / CALLS.replace(OPERATION.operation_id, OTHER.operation_id)).read_bytes())


def part_without_an_operation(root: Path) -> None:
    """An operation writes its plan before its first call."""
    third = operation_named("20261120T030000Z_000cc").operation_id
    Results(FolderStore(root)).create_part(f"proofs/run_date=2026-11-20/{third}-00000-001.parquet", "proofs", [])


ADDED = f"proofs/run_date=2026-11-20/{OPERATION.operation_id}-00002-001.parquet"


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (removing(CALLS), CALLS),
        (flipped, CALLS),
        (with_rows_of_another, CALLS),
        (lambda root: Results(FolderStore(root)).create_part(ADDED, "proofs", []), ADDED),
        (part_without_an_operation, "proofs/run_date=2026-11-20/20261120T030000Z_000_inventory_cc-00000-001.parquet"),
        *(
            (writing(receipt_name(OPERATION.operation_id, 1), content), receipt_name(OPERATION.operation_id, 1))
            for content in (b"", b'{"parts": [{}]}')
        ),
    ],
)
def test_what_was_changed_of_an_operation_is_found(tmp_path: Path, change: Change, where: str) -> None:
    results = Results(FolderStore(tmp_path))
    rows: list[Row] = [{"proof_id": "p", "state": "no_file"}]
    leave_operation(results, OPERATION, [call_of(OPERATION, "r-1"), call_of(OPERATION, "r-2")], {"proofs": rows})

    change(tmp_path)

    assert [finding.where for finding in audit_store(results).wrong] == [where]


def test_files_that_are_no_parts_are_named_and_stop_nothing(results: Results, root: Path) -> None:
    """What a file server, a person or another program leaves beside parts and journals."""
    copy, others = root / PART.replace(".parquet", " - Copy.parquet"), [root / PART.rpartition("/")[0] / "Thumbs.db"]
    shutil.copyfile(root / PART, copy)
    others += [root / "exchanges/run_date=2026-11-02/_SUCCESS", root / f"_runs/{NEWEST}/journal/@eaDir/a@Synology"]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")

    done = audit_store(results)

    assert sorted(wrong(done)) == [
        "exchanges/run_date=2026-11-02/_SUCCESS belongs to no run or operation of this store",
        f"{copy.relative_to(root)} is named by no receipt",
        "verdicts/run_date=2026-11-02/Thumbs.db belongs to no run or operation of this store",
    ]
    assert describe_run(results, NEWEST).is_over
    recover_last_legs(results, results.plan(NEWEST), lambda: datetime.now(UTC))


def test_what_is_pruned_while_the_audit_reads_is_not_blamed(
    results: Results, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pruning came after the audit had read those of the run."""
    end_leg(results, planned(results, LATER, "abcdefgh"), "abcdefgh", range(8))
    read_before = RunAuditor._pruned_names
    prunes = iter([lambda: prune_old(results, 10, datetime(2026, 11, 20, tzinfo=UTC))])

    def read_then_prune(auditor: RunAuditor) -> frozenset[str]:
        names = read_before(auditor)
        if auditor._run_id == TWO_LEGS:
            next(prunes, list)()
        return names

    monkeypatch.setattr(RunAuditor, "_pruned_names", read_then_prune)

    done = audit_store(results)

    assert next(prunes, None) is None
    assert not (root / f"_runs/{TWO_LEGS}/items/00000.parquet").exists()
    assert wrong(done) == []
