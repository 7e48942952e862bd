"""Evidence holds the rows that are asked for, and no other; it is not made of a store that contradicts itself."""

import json
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.audit.audit_store import audit_store
from proofsweep.audit.pack_evidence import write_evidence
from proofsweep.audit.redact import redact
from proofsweep.audit.signatures import sign_audit
from proofsweep.errors import ResultsError, UsageError
from proofsweep.model.evidence import Contents, Wanted
from proofsweep.store.plans_and_parts import Results

from ...worlds.audited_store import NEWEST, NOW, TWO_LEGS, end_leg, planned


def packed(results: Results, run_id: str | None = None, **tags: str) -> tuple[Contents, zipfile.ZipFile]:
    """Pack evidence in memory."""
    plan, file = None if run_id is None else results.plan(run_id), BytesIO()
    selected = SelectedRows(results=results, environment="beta", plan=plan)
    wanted = Wanted(environment="beta", run_id=run_id, tags=tags)
    return write_evidence(selected, wanted, file, lambda contents: f"{contents.rows} rows"), zipfile.ZipFile(file)


def items_in(evidence: zipfile.ZipFile) -> str:
    """Return the items of the rows, one letter each; a dash for a redacted one."""
    rows = [json.loads(line)["row"] for line in evidence.read("rows.jsonl").splitlines()]
    return "".join("-" if row is None else row.partition("\nitem_id:1:")[2][0] for row in rows)


def test_a_release_is_the_newest_answer_of_each_of_its_files(results: Results) -> None:
    """With the receipts from their legs up to the newest, and no other row."""
    contents, evidence = packed(results, release="R0")

    receipts = {name for name in evidence.namelist() if name.startswith("receipts/")}
    assert items_in(evidence) == "cegaxz"
    assert contents.outcomes == {"accepted": 6}
    assert {name.split("/")[2] for name in receipts} == {TWO_LEGS, NEWEST, "00001-receipt.json"}
    assert contents.head == audit_store(results).head
    assert evidence.read("report.html") == f"{contents.rows} rows".encode()


def test_a_run_has_all_its_rows(results: Results) -> None:
    """Of two legs; with a tag, in any case of its name, only those that have it."""
    assert items_in(packed(results, TWO_LEGS)[1]) == "abcdefgh"
    assert items_in(packed(results, TWO_LEGS, Release="R1")[1]) == "bdfh"


def test_the_same_store_gives_the_same_bytes(results: Results) -> None:
    """Whenever it is made."""
    one, other = (packed(results, release="R0")[1] for _ in range(2))
    contents = []
    for evidence in (one, other):
        assert evidence.fp is not None
        evidence.fp.seek(0)
        contents.append(evidence.fp.read())

    assert contents[0] == contents[1] != b""
    assert [entry.date_time[0] for entry in one.infolist()] == [1980] * len(one.namelist())


def test_redacted_rows_are_shown_as_redacted(results: Results) -> None:
    """Their digest is still proved, and the redaction is there."""
    redact(results, "x", lambda: NOW)

    contents, evidence = packed(results, NEWEST)

    assert items_in(evidence) == "ab-yz"
    assert contents.outcomes["redacted"] == 1
    assert {"receipts/_redacted/00001-intent.json", "receipts/_redacted/00001-receipt.json"} <= set(evidence.namelist())
    assert b"/c/x" not in b"".join(map(evidence.read, evidence.namelist()))
    assert b"Shown as redacted: 1." in evidence.read("README.txt")


def test_the_newest_signed_audit_that_holds_the_rows_is_there(results: Results) -> None:
    """One from before the rows were recorded does not hold them."""
    signed = sign_audit(results.store, audit_store(results), Ed25519PrivateKey.from_private_bytes(b"k" * 32), NOW)
    plan = planned(results, "20261103T120000Z_000aa", "q")
    end_leg(results, plan, "q", [0])

    older, newer = packed(results, NEWEST)[0], packed(results, plan.run_id)[0]

    assert older.signed == f"signed/{signed.rpartition('/')[2]}"
    assert newer.signed is None


def test_rows_that_nothing_holds_are_left_out_and_counted(results: Results, root: Path) -> None:
    """Here a leg whose receipt has not come yet; of these rows alone there is no evidence."""
    (root / f"_runs/{NEWEST}/legs/001/receipt.json").unlink()

    contents, evidence = packed(results, release="R1")

    assert set(items_in(evidence)) == {"d", "f", "h"}
    assert list(contents.unproved.values()) == [2]
    assert b"Left out: 2." in evidence.read("README.txt")
    with pytest.raises(
        UsageError, match="None of these rows can be proved: their part is of a leg that has no receipt"
    ):
        packed(results, NEWEST)


@pytest.mark.parametrize(
    ("tags", "says"),
    [
        ({"relase": "R0"}, r"No row has the tag 'relase' \(did you mean release\?\); there are release\."),
        ({"release": "R9"}, "No row has release=R9"),
        ({"release": "R"}, "No row has release=R"),
    ],
)
def test_tags_that_no_row_has_are_named(results: Results, tags: dict[str, str], says: str) -> None:
    """A part of a value is not the value."""
    with pytest.raises(UsageError, match=says):
        packed(results, **tags)


def test_a_store_that_contradicts_itself_gives_no_evidence(results: Results, root: Path) -> None:
    """Neither with a changed part, nor with a changed receipt."""
    (part,) = root.glob(f"verdicts/*/{NEWEST}-*")
    (other,) = root.glob(f"verdicts/*/{TWO_LEGS}-00000-001*")
    content = part.read_bytes()
    part.write_bytes(other.read_bytes())
    with pytest.raises(ResultsError, match="run proofsweep audit"):
        packed(results, NEWEST)
    part.write_bytes(content)
    receipt = root / f"_runs/{TWO_LEGS}/legs/001/receipt.json"
    receipt.write_text(receipt.read_text() + " ")
    with pytest.raises(ResultsError, match=r"was changed: .* Run proofsweep audit"):
        packed(results, NEWEST)
