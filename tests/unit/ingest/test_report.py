"""What a pass over a watched folder did, in words."""

from proofsweep.domain.items import Row
from proofsweep.ingest.one_pass import PassReport


def test_what_a_person_must_know_of_single_files_fits_on_a_screen() -> None:
    """The table names the files that a screen does not."""
    failed: list[Row] = [{"audio": f"/in/{each}.wav", "outcome": "failed", "reason": "timeout"} for each in range(30)]

    assert PassReport(rows=failed).messages()[-1] == "… and 10 more"


def test_markdown_escapes_names() -> None:
    row: Row = {"audio": "/in/[x](http://y).wav", "outcome": "rejected", "reason": "tampered", "disposition": "left"}

    assert "\\[x\\]\\(http://y\\).wav" in PassReport(rows=[row]).markdown("/in")
