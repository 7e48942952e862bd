"""What a pass over a watched folder did, in words."""

from proofsweep.domain.items import Row
from proofsweep.ingest.pass_report import PassReport

ROW: Row = {"outcome": "failed", "reason": "timeout", "disposition": "left", "audio_moved_to": None, "detail": None}


def test_what_a_person_must_know_of_single_files_fits_on_a_screen() -> None:
    """The table names the files that a screen does not."""
    failed: list[Row] = [ROW | {"audio": f"/in/{each}.wav"} for each in range(30)]

    assert PassReport(rows=failed).messages()[-1] == "… and 10 more; --json names all"


def test_only_files_that_lie_elsewhere_now_count_as_moved() -> None:
    """A row of a file that never came has the disposition of its delivery, and no new place."""
    moved: Row = ROW | {"audio": "/in/a.wav", "audio_moved_to": "/bad/a.wav", "disposition": "quarantined"}
    missing: Row = moved | {"outcome": "ineligible", "audio_moved_to": None}
    gone: Row = missing | {"disposition": "gone"}

    assert PassReport(rows=[moved, missing, gone]).line("in") == "in: 1 moved (quarantined), 1 gone meanwhile"


def test_a_file_that_waits_as_before_is_said_once() -> None:
    """Each pass of --watch says what has changed since the one before."""
    waiting: Row = {"file": "/in/a.wav", "why": "unfinished", "detail": None}
    report = PassReport(waiting=[waiting, waiting | {"file": "/in/b.wav"}])

    first = report.messages()

    assert report.messages(first[:1]) == first[1:]
    assert PassReport(waiting=[waiting | {"why": "orphan_sidecars"}]).messages(first) != []


def test_markdown_escapes_names() -> None:
    row: Row = ROW | {"audio": "/in/[x](http://y).wav", "outcome": "rejected", "reason": "tampered"}

    assert "\\[x\\]\\(http://y\\).wav" in PassReport(rows=[row]).markdown("/in")


def test_a_line_names_where_a_file_lies_now() -> None:
    """Also an accepted one that its delivery took along into quarantine."""
    moved: Row = ROW | {"audio": "/in/a.wav", "audio_moved_to": "/bad/a.wav", "disposition": "quarantined"}
    rejected, accepted = moved | {"outcome": "rejected", "reason": "tampered"}, moved | {"outcome": "accepted"}

    lines = PassReport(rows=[rejected, accepted | {"detail": "It was accepted."}]).messages()

    assert lines[0].startswith("/bad/a.wav: rejected, tampered: ")
    assert lines[1] == "/bad/a.wav: It was accepted."
