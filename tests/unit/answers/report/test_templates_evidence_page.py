"""The page shows rows as text, and says what was recorded."""

from datetime import UTC, datetime

from proofsweep.answers.report.templates import evidence_page
from proofsweep.model.evidence import Contents, Wanted

ROW = {
    "run_id": "r1",
    "audio": "/c/<b>",
    "relative_path": None,
    "outcome": "accepted",
    "verdict": "valid",
    "reason": None,
}
ROW |= {"finished_at": datetime(2026, 11, 20, 1, 2, 3, tzinfo=UTC), "verify_request_id": "req-1"}
GONE = dict.fromkeys(ROW) | {"audio": "redacted", "outcome": "redacted"}


def page_of(**others: object) -> str:
    """Make a page of two rows."""
    contents = Contents(wanted=Wanted(environment="beta", run_id=None, tags={"release": "<i>"}), shown=[ROW, GONE])
    contents.outcomes = {"accepted": 1, "redacted": 1}
    for name, value in others.items():
        setattr(contents, name, value)
    return evidence_page(contents)


def test_rows_are_shown_as_text() -> None:
    """Also redacted ones; nothing runs, and nothing is loaded."""
    page = page_of()

    assert "<h1>2 rows recorded: 1 accepted, 1 redacted</h1>" in page
    assert '<td class="main">/c/&lt;b&gt;</td><td>accepted</td><td>valid</td><td>2026-11-20 01:02:03</td>' in page
    assert '<td class="main">redacted</td><td>redacted</td><td></td><td></td>' in page
    assert "release=&lt;i&gt;" in page
    assert "<script" not in page
    assert "signed nothing" in page


def test_what_is_not_shown_is_said() -> None:
    """Rows beyond the first, and rows without a proof."""
    page = page_of(outcomes={"accepted": 3_000}, unproved={"is old": 4}, signed="signed/a.json")

    assert "The first 2 rows; rows.jsonl has all." in page
    assert "Left out: 4. The part of these rows is old." in page
    assert "The signed audit signed/a.json has a head that holds all rows." in page
