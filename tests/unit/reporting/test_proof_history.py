"""The history of a proof is one line for each row."""

from datetime import UTC, datetime

from proofsweep.reporting.proof_history import json_of_proof, lines_of_proof

AT = datetime(2026, 11, 21, 3, tzinfo=UTC)
VERDICT = {
    "outcome": "rejected",
    "verdict": "tampered",
    "reason": "tampered",
    "audio": "/m/a",
    "verify_request_id": "v",
}
FOUND = [
    (table, AT, {"environment": "beta", "item_id": "i"} | row)
    for table, row in (
        ("erasures", {"outcome": None, "reason": "timeout", "request_id": None}),
        ("interpretations", {"status": "ready", "request_id": "n"}),
        ("proofs", {"state": "differs", "differs": "issued_at"}),
        ("recoveries", {"outcome": "same", "recovered_to": None, "request_id": "s"}),
        ("verdicts", VERDICT),
    )
]


def test_each_row_is_a_line_with_its_request_id() -> None:
    """The last lines lead to the calls for its files."""
    first, *lines, last = lines_of_proof("p", FOUND)

    assert first == "proof p, in 5 rows"
    assert [line.removeprefix("  2026-11-21 03:00 UTC  beta  ") for line in lines] == [
        "erased by us: timeout",
        "process note: ready, n",
        "inventory: differs (issued_at)",
        "sidecar: same, s",
        "verified: rejected · tampered, /m/a, v",
    ]
    assert last == "  every call for its file: proofsweep explain i"


def test_json_has_the_rows_as_they_are() -> None:
    """With their tables."""
    document = json_of_proof("p", FOUND[-1:])

    assert document == {
        "proof_id": "p",
        "found": [{"table": "verdicts", "at": "2026-11-21T03:00:00+00:00", "row": FOUND[-1][2]}],
    }
