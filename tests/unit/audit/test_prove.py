"""A proof leads from one row to a receipt, and can be checked as the documentation says, without this program."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from proofsweep.audit.prove import prove
from proofsweep.audit.redact import redact
from proofsweep.errors import ResultsError
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results

from ...worlds.audited_store import NEWEST, NOW, TWO_LEGS


def root_as_documented(proof: dict[str, Any]) -> str:
    """Follow the documentation's steps with the standard library."""
    digest = hashlib.sha256(b"\x00" + proof["row"].encode()).digest()
    index, last, path = proof["index"], proof["rows"] - 1, [bytes.fromhex(each) for each in proof["path"]]
    while last:
        if index % 2:
            digest = hashlib.sha256(b"\x01" + path.pop(0) + digest).digest()
        elif index < last:
            digest = hashlib.sha256(b"\x01" + digest + path.pop(0)).digest()
        index, last = index // 2, last // 2
    assert path == []
    return digest.hex()


@pytest.mark.parametrize("item", ["a", "b", "x", "y", "z", "h", "/c/e"])
def test_a_proof_can_be_checked_as_documented(results: Results, item: str) -> None:
    """At every index of a part; the receipt is the one whose digest alerts carry."""
    proof: Any = json.loads(json.dumps(prove(results, item)))
    run_id, leg = (NEWEST, 1) if item in "abxyz" else (TWO_LEGS, 2)

    assert f"item_id:1:{item[-1]}" in proof["row"].split("\n")
    assert root_as_documented(proof) == proof["merkle_root"]
    assert json.loads(proof["receipt"])["merkle_roots"][proof["part"]] == proof["merkle_root"]
    assert hashlib.sha256(proof["receipt"].encode()).hexdigest() == proof["receipt_sha256"]
    assert proof["receipt_sha256"] == Legs(results, run_id).receipt_digest(leg)
    assert "signed nothing" in proof["says"]


def test_the_row_of_a_named_run_is_proved(results: Results) -> None:
    """Without a name, the newest run counts."""
    assert TWO_LEGS in str(prove(results, "a", TWO_LEGS)["part"])
    assert NEWEST in str(prove(results, "a")["part"])


def test_other_rows_of_a_part_are_proved_after_a_redaction(results: Results) -> None:
    """The digest of the redacted row stays."""
    redact(results, "x", lambda: NOW)

    proof: Any = prove(results, "y")

    assert root_as_documented(proof) == proof["merkle_root"]


def test_what_cannot_be_proved_is_one_line(results: Results, root: Path) -> None:
    """No row, a redacted one, a part that was changed, or a leg without a receipt."""
    redact(results, "x", lambda: NOW)
    for item in ("x", "nobody"):
        with pytest.raises(ResultsError, match=r"^There is no row of an item"):
            prove(results, item)
    receipt = root / f"_runs/{NEWEST}/legs/001/receipt.json"
    document = json.loads(receipt.read_text())
    for roots, message in ((dict.fromkeys(document["merkle_roots"], "00"), "is not as its"), ({}, "is not as its")):
        receipt.write_text(json.dumps(document | {"merkle_roots": roots}))
        with pytest.raises(ResultsError, match=message):
            prove(results, "y")
    receipt.unlink()
    with pytest.raises(ResultsError, match="has no receipt yet"):
        prove(results, "y")
