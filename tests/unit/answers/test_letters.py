"""What became of delivered files, in words."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.answers.letters import (
    json_of_pass,
    letters_of,
    line_of_pass,
    lines_of_unmoved,
    markdown_of_pass,
    messages_of,
    write_letters,
)
from proofsweep.errors import ResultsError
from proofsweep.model.ingest import Decision, PassReport
from proofsweep.model.tables.columns import Row


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


def test_one_line_says_what_a_pass_did() -> None:
    """Outcomes, moves, and what waits."""
    assert line_of_pass("/in", REPORT) == (
        "/in: 1 accepted, 1 failed, 2 ineligible, 2 rejected, 1 moved (accepted), 2 moved (quarantined), "
        "2 not settled yet"
    )
    assert line_of_pass("/in", PassReport()) == "/in: nothing new"


def test_each_file_that_was_not_accepted_has_a_message() -> None:
    """It says what to ask the supplier for; a name with a new line stays on its line."""
    messages = messages_of(REPORT)

    assert len(messages) == 5
    assert messages[0] == (
        "/in/acme/bad.wav: rejected, tampered: reject, and ask the supplier for the untouched original delivery"
    )
    assert not any("\n" in message for message in messages)


def test_a_move_that_was_not_made_is_told() -> None:
    """Also for an accepted file."""
    stuck = [row(f"/in/{number}.wav", "accepted", detail="No space left on device.") for number in range(2)]
    report = PassReport(rows=stuck, not_moved=[*stuck, row("/in/z.wav", "rejected", "tampered", detail="Denied.")])

    assert messages_of(report)[0] == "/in/0.wav: not moved. No space left on device."
    assert lines_of_unmoved(report) == ["2 not moved: No space left on device.", "1 not moved: Denied."]
    assert line_of_pass("/in", report).endswith("; 2 not moved: No space left on device.; 1 not moved: Denied.")


def test_a_file_that_is_given_up_is_told() -> None:
    """The last try of a version says that it was the last."""
    failed = row("/in/a.wav", "failed", "timeout", tries=5, retry_at=None)
    report = PassReport(rows=[failed], given_up={str(failed["item_id"])})

    assert messages_of(report)[0].endswith("; given up at try 5")


def test_many_messages_are_cut() -> None:
    """A screen shows the first ones."""
    report = PassReport(rows=[row(f"/in/{number}.wav", "failed", "timeout") for number in range(30)])

    assert messages_of(report)[-1] == "… and 10 more"


def test_each_supplier_gets_a_letter_about_its_own_files() -> None:
    """Each file stands under its reason, and our folders are not named."""
    due = [row for row in ROWS if row["outcome"] != "failed" and row["reason"] not in {None, "source_forbidden"}]
    letters = letters_of(due)

    assert set(letters) == {"acme", "ze/ta"}
    assert "- `acme/bad.wav` (sha256 aa)" in letters["acme"]
    assert "- `acme/big.wav`\n" in letters["acme"]
    assert "larger than the verification slot" in letters["acme"]
    assert not [word for word in ("late.wav", "secret.wav", "/in/") if word in letters["acme"]]
    assert "- `zeta/x'y\\n.wav` (sha256 aa)" in letters["ze/ta"]


def test_letters_are_files_that_overwrite_nothing(tmp_path: Path) -> None:
    """A supplier's name is no path; a letter that is there stays as it is, and is whole."""
    folder = tmp_path / "letters"
    names = write_letters(str(folder), "r1-001", ROWS)
    (folder / "acme-r1-001.md").write_text("with a word by hand")

    again = write_letters(str(folder), "r1-001", ROWS)

    assert [Path(name).name.partition("-")[0] for name in names] == ["acme", "ze_ta"]
    assert {str(path) for path in folder.iterdir()} == set(names) == set(again)
    assert (folder / "acme-r1-001.md").read_text() == "with a word by hand"


def test_letters_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    """The folder's name is a file's."""
    (tmp_path / "letters").write_bytes(b"")

    with pytest.raises(ResultsError, match="letters cannot be written"):
        write_letters(str(tmp_path / "letters"), "r1-001", ROWS)


def test_markdown_escapes_names() -> None:
    """A file's name makes no link or markup."""
    markdown = markdown_of_pass("/in", PassReport(rows=[row("/in/[x](http://y).wav", "rejected", "tampered")]))

    assert "\\[x\\]\\(http://y\\).wav" in markdown


def test_the_json_object_has_every_decision() -> None:
    """A program need not know which ones may be absent."""
    document = json_of_pass("/in", REPORT)

    assert document["files"] == {str(each): REPORT.decisions[each] for each in Decision}
    assert (document["runs"], document["rows"]) == (["r1"], ROWS)


def test_a_letter_names_the_track_where_the_delivery_does() -> None:
    """By its ISRC and its title, which cannot forge a line."""
    tags = '{"batch": "B1", "isrc": "QZABC2600001", "title": "A *song*"}'
    letter = letters_of([row("/in/B1/r1/a.wav", "rejected", "tampered", tags=tags)])["acme"]

    assert "- `B1/r1/a.wav`: ISRC QZABC2600001, “A \\*song\\*” (sha256 aa)\n" in letter


def test_a_delivery_that_is_not_complete_is_told() -> None:
    """Once it has waited long enough."""
    report = PassReport(
        decisions=Counter({Decision.INCOMPLETE_BATCH: 3}),
        incomplete={"/in/B1": "its completion file is not there"},
        acknowledgements=["/in/acknowledgements/ACK_B0.xml"],
    )

    assert line_of_pass("/in", report) == (
        "/in: nothing new, 3 waiting for the rest of their delivery; "
        "/in/B1 is not complete: its completion file is not there"
    )
    told = json_of_pass("/in", report)
    assert told["incomplete_batches"] == {"/in/B1": "its completion file is not there"}
    assert told["acknowledgements"] == ["/in/acknowledgements/ACK_B0.xml"]
