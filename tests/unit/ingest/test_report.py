"""What a pass over a watched folder did, in words."""

from collections import Counter
from datetime import UTC, datetime

from proofsweep.domain.items import Row
from proofsweep.ingest.report import PassReport
from proofsweep.ingest.rules import Decision


def row(audio: str, outcome: str, reason: str | None = None, **cells: object) -> Row:
    """Return a row of the table `ingest`, as far as it is read here."""
    moved = {"accepted": "accepted", "rejected": "quarantined"}.get(outcome, "left")
    common = {"watched": "/in", "supplier": "acme", "audio_sha256": "aa", "run_id": "r1", "detail": None, "tries": 1}
    common |= {"retry_at": datetime(2026, 11, 22, tzinfo=UTC) if outcome == "failed" else None}
    return (
        common | {"audio": audio, "item_id": audio, "outcome": outcome, "reason": reason, "disposition": moved} | cells
    )


ROWS = [
    row("/in/acme/ok.wav", "accepted"),
    row("/in/acme/bad.wav", "rejected", "tampered"),
    row("/in/acme/big.wav", "ineligible", "too_large", audio_sha256=None),
    row("/in/acme/late.wav", "failed", "timeout"),
    row("/in/zeta/x`y\n.wav", "rejected", "unregistered", supplier="ze/ta"),
    row("/in/acme/secret.wav", "ineligible", "source_forbidden"),
]
REPORT = PassReport(decisions=Counter({Decision.TAKE: 6, Decision.SETTLING: 2}), rows=ROWS, run_ids=["r1"])


def test_what_a_person_must_know_of_single_files_fits_on_a_screen() -> None:
    """The last try of a version says that it was the last; the table names the files that a screen does not."""
    failed = [row(f"/in/{number}.wav", "failed", "timeout", tries=5, retry_at=None) for number in range(30)]

    messages = PassReport(rows=failed, given_up={"/in/0.wav"}).messages()

    assert messages[0].endswith("; given up at try 5")
    assert messages[-1] == "… and 10 more"


def test_markdown_escapes_names() -> None:
    """A file's name makes no link or markup."""
    markdown = PassReport(rows=[row("/in/[x](http://y).wav", "rejected", "tampered")]).markdown("/in")

    assert "\\[x\\]\\(http://y\\).wav" in markdown
