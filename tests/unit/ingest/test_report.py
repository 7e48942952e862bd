"""What a pass over a watched folder did, in words."""

from datetime import UTC, datetime

from proofsweep.domain.items import Row
from proofsweep.ingest.one_pass import PassReport


def row(audio: str, outcome: str, reason: str | None = None, **cells: object) -> Row:
    """Return a row of the table `ingest`, as far as it is read here."""
    moved = {"accepted": "accepted", "rejected": "quarantined"}.get(outcome, "left")
    common = {"watched": "/in", "supplier": "acme", "audio_sha256": "aa", "run_id": "r1", "detail": None, "tries": 1}
    common |= {"retry_at": datetime(2026, 11, 22, tzinfo=UTC) if outcome == "failed" else None}
    return (
        common | {"audio": audio, "item_id": audio, "outcome": outcome, "reason": reason, "disposition": moved} | cells
    )


def test_what_a_person_must_know_of_single_files_fits_on_a_screen() -> None:
    """The table names the files that a screen does not."""
    failed = [row(f"/in/{number}.wav", "failed", "timeout") for number in range(30)]

    assert PassReport(rows=failed).messages()[-1] == "… and 10 more"


def test_markdown_escapes_names() -> None:
    """A file's name makes no link or markup."""
    markdown = PassReport(rows=[row("/in/[x](http://y).wav", "rejected", "tampered")]).markdown("/in")

    assert "\\[x\\]\\(http://y\\).wav" in markdown
