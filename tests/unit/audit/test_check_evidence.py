"""The script inside an evidence file finds each kind of change, with nothing but Python's standard library."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.audit.audit_store import audit_store
from proofsweep.audit.pack_evidence import write_evidence
from proofsweep.audit.redact import redact
from proofsweep.audit.signatures import sign_audit
from proofsweep.model.evidence import Contents, Wanted
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ...worlds.audited_store import NEWEST, NOW, TWO_LEGS

LAST, REDACTION = f"_runs/{NEWEST}/legs/001/receipt.json", "_redacted/00001-receipt.json"
MOST_LINES = 60
Proofs = list[dict[str, Any]]


@pytest.fixture(scope="module")
def packed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Contents, Path]:
    """Evidence of a store with a redaction and a signed audit, made once; nobody changes it."""
    root = tmp_path_factory.mktemp("packed")
    results = Results(FolderStore(Path(shutil.copytree(built, root / "results"))))
    redact(results, "y", lambda: NOW)
    sign_audit(results.store, audit_store(results), Ed25519PrivateKey.from_private_bytes(b"k" * 32), NOW)
    wanted = Wanted(environment="beta", run_id=None, tags={"release": "R0"})
    file = BytesIO()
    done = write_evidence(SelectedRows(results=results, environment="beta"), wanted, file, lambda _: "a page")
    zipfile.ZipFile(file).extractall(root / "evidence")
    return done, root / "evidence"


@pytest.fixture
def contents(packed: tuple[Contents, Path]) -> Contents:
    """What was packed."""
    return packed[0]


@pytest.fixture
def evidence(packed: tuple[Contents, Path], tmp_path: Path) -> Path:
    """The folder of a copy."""
    return Path(shutil.copytree(packed[1], tmp_path / "evidence"))


def checked(evidence: Path, *arguments: str) -> tuple[int, list[str]]:
    """Run the script without any other package; give its exit code and what is wrong."""
    command = [sys.executable, "-I", "-S", "check.py", *arguments]
    done = subprocess.run(command, cwd=evidence, check=False, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith("wrong: ")]


def follow(evidence: Path) -> None:
    """Let SHA256SUMS follow a change, as a forger would."""
    files = {path.relative_to(evidence).as_posix(): path for path in evidence.rglob("*.*") if path.is_file()}
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in files.items()]
    (evidence / "SHA256SUMS").write_text("".join(sorted(lines)))


def rewrite_rows(evidence: Path, change: Callable[[Proofs], object]) -> None:
    """Change the proofs."""
    path = evidence / "rows.jsonl"
    proofs = [json.loads(line) for line in path.read_text().splitlines()]
    change(proofs)
    path.write_text("".join(json.dumps(proof) + "\n" for proof in proofs))


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a document."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document, indent=2))


def test_untouched_evidence_passes(evidence: Path, contents: Contents) -> None:
    """With the head of the store, and with that of the newest run alone, which alerts carry; the script is short."""
    newest = hashlib.sha256((evidence / "receipts" / LAST).read_bytes()).hexdigest()
    script = (evidence / "check.py").read_text()

    assert len(script.splitlines()) <= MOST_LINES
    assert checked(evidence) == (0, [])
    assert checked(evidence, contents.head) == (0, [])
    assert checked(evidence, f"{'0' * 64}+{newest.upper()}") == (0, [])
    assert newest != contents.head


@pytest.mark.parametrize(
    "name", ["README.txt", "check.py", "report.html", "rows.jsonl", "SHA256SUMS", "receipts/", "signed/"]
)
def test_a_change_of_any_file_is_found(evidence: Path, name: str) -> None:
    """A byte more, or the file gone."""
    path = evidence / name if not name.endswith("/") else min((evidence / name).rglob("*.json"))
    before = path.read_bytes()
    path.write_bytes(before + b"\n ")
    changed = checked(evidence)
    path.unlink()
    gone = checked(evidence) if name != "check.py" else changed

    assert (changed[0], gone[0]) == (3, 3)
    named = path.relative_to(evidence).as_posix()
    assert changed[1][0] == f"wrong: {named} was changed, added or removed" or name == "SHA256SUMS"


def turn(proofs: Proofs) -> None:
    """Turn the verdict of a row."""
    proofs[0]["row"] = proofs[0]["row"].replace("accepted:4:true", "accepted:5:false")


def swap(proofs: Proofs) -> None:
    """Swap the contents of two rows."""
    proofs[0]["row"], proofs[1]["row"] = proofs[1]["row"], proofs[0]["row"]


def lead_elsewhere(proofs: Proofs) -> None:
    """Change a digest of a path."""
    (proof, *_) = [each for each in proofs if each["path"]]
    proof["path"][0] = "00" * 32


def move(proofs: Proofs) -> None:
    """Say another index."""
    (proof, *_) = [each for each in proofs if each["rows"] > 1]
    proof["index"] ^= 1


def repeat(proofs: Proofs) -> None:
    """Give a row twice."""
    proofs.append(proofs[0])


def pretend(proofs: Proofs) -> None:
    """Replace rows by copies of the last one of a part, each at a index that no part of that size has."""
    count = max(proof["rows"] for proof in proofs)
    last = next(proof for proof in proofs if proof["index"] == proof["rows"] - 1 and proof["rows"] == count)
    others = [proof for proof in proofs if proof["part"] == last["part"] and proof is not last]
    for number, other in enumerate(others[:3], 1):
        other.update(last | {"index": last["index"] + 1024 * number})


def pretend_a_smaller_part(proofs: Proofs) -> None:
    """Say that a part has fewer rows than its receipt says: the last row is then at another index too."""
    last = next(proof for proof in proofs if proof["index"] == proof["rows"] - 1 and proof["index"] == 4)
    last |= {"index": 1, "rows": 2}


def take_another_receipt(proofs: Proofs) -> None:
    """Name the receipt of another leg."""
    receipts = {proof["receipt"] for proof in proofs}
    proofs[0]["receipt"] = min(receipts - {proofs[0]["receipt"]})


def hide(proofs: Proofs) -> None:
    """Show a row as redacted that nobody redacted."""
    digest = hashlib.sha256(b"\x00" + proofs[0]["row"].encode()).hexdigest()
    proofs[0] |= {"row": None, "row_sha256": digest, "redaction": REDACTION.replace("-receipt", "-intent")}


def fill(proofs: Proofs) -> None:
    """Give a redacted row a content."""
    (proof,) = [each for each in proofs if each["row"] is None]
    proof["row"] = "proofsweep row 1\noutcome:8:accepted"


@pytest.mark.parametrize(
    "change",
    [
        turn,
        swap,
        lead_elsewhere,
        move,
        repeat,
        pretend,
        pretend_a_smaller_part,
        take_another_receipt,
        hide,
        fill,
        lambda proofs: proofs[0].pop("row"),
    ],
)
def test_a_changed_row_is_found_though_the_digests_follow(evidence: Path, change: Callable[[Proofs], object]) -> None:
    """The receipts hold each row in its place."""
    rewrite_rows(evidence, change)
    follow(evidence)

    code, wrong = checked(evidence)

    assert (code, len(wrong) >= 1) == (3, True)


@pytest.mark.parametrize(
    "name", [LAST, f"_runs/{TWO_LEGS}/legs/001/receipt.json", REDACTION.replace("-receipt", "-intent")]
)
def test_a_changed_receipt_is_found_though_the_digests_follow(evidence: Path, name: str) -> None:
    """The document that holds it names another digest."""
    rewrite(evidence / "receipts" / name, lambda document: document.update(why="another"))
    follow(evidence)

    code, wrong = checked(evidence)

    assert code == 3
    assert wrong[0].startswith(f"wrong: {name} is not what ")


def test_a_forgery_in_which_all_follows_is_found_by_a_head_kept_elsewhere(evidence: Path, contents: Contents) -> None:
    """A row, its root, its receipt and all receipts after it are made anew: only the head tells."""

    def forge(proofs: Proofs) -> None:
        (proof, *_) = [each for each in proofs if each["rows"] == 1]
        turn([proof])
        root = hashlib.sha256(b"\x00" + proof["row"].encode()).hexdigest()
        receipt = evidence / "receipts" / proof["receipt"]
        rewrite(receipt, lambda document: document["merkle_roots"].update({proof["part"]: root}))

    rewrite_rows(evidence, forge)
    names = sorted(path.relative_to(evidence / "receipts").as_posix() for path in evidence.rglob("*receipt.json"))
    for name in [*names, *sorted(names, key=lambda each: (each.startswith("_redacted"), each))]:  # the older first
        digest = hashlib.sha256((evidence / "receipts" / name).read_bytes()).hexdigest()
        for other in names:
            rewrite(
                evidence / "receipts" / other, lambda document, name=name, digest=digest: relink(document, name, digest)
            )
    follow(evidence)

    assert checked(evidence) == (0, [])
    code, wrong = checked(evidence, contents.head)
    assert code == 3
    assert wrong[0].startswith("wrong: the head given does not hold ")


def relink(document: dict[str, Any], name: str, digest: str) -> None:
    """Let a receipt name the digest that another has now."""
    for link in document.get("earlier_receipts") or ():
        link["sha256"] = digest if link["name"] == name else link["sha256"]
    if document.get("leg", 0) > 1 and name == f"_runs/{document['run_id']}/legs/{document['leg'] - 1:03}/receipt.json":
        document["previous_receipt_sha256"] = digest


def test_a_hostile_name_is_one_line(evidence: Path) -> None:
    """It cannot steer a terminal."""
    (evidence / "x\x1b[31m\nwrong.html").write_text("x")

    code, wrong = checked(evidence)

    assert (code, len(wrong)) == (3, 1)
    assert "\x1b" not in wrong[0]
