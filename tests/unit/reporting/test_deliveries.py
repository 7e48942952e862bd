"""What became of delivered files, in words."""

from collections import Counter
from pathlib import Path

import pytest

from proofsweep.domain.ingest import Decision, PassReport
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import ResultsError
from proofsweep.reporting.deliveries import (
    json_of_pass,
    letters_of,
    line_of_pass,
    markdown_of_pass,
    messages_of,
    write_letters,
)


def row(audio: str, outcome: str, reason: str | None = None, **cells: object) -> Row:
    """Give a row of the table `ingest`, as far as it is read here."""
    moved = {"accepted": "accepted", "rejected": "quarantined"}.get(outcome, "left")
    common = {"watched": "/in", "supplier": "acme", "audio_sha256": "aa", "run_id": "r1", "detail": None}
    return common | {"audio": audio, "outcome": outcome, "reason": reason, "disposition": moved} | cells


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
    report = PassReport(rows=[row("/in/a.wav", "accepted", detail="Other files have its names at the target.")])

    assert messages_of(report) == ["/in/a.wav: not moved. Other files have its names at the target."]


def test_many_messages_are_cut() -> None:
    """A screen shows the first ones."""
    report = PassReport(rows=[row(f"/in/{number}.wav", "failed", "timeout") for number in range(30)])

    assert messages_of(report)[-1] == "… and 10 more"


def test_each_supplier_gets_a_letter_about_its_own_files() -> None:
    """Failures of the service and of permissions are no supplier's, and our folders are not named."""
    letters = letters_of(ROWS)

    assert set(letters) == {"acme", "ze/ta"}
    assert "- `acme/bad.wav` (sha256 aa)" in letters["acme"]
    assert "- `acme/big.wav`\n" in letters["acme"]
    assert "larger than the verification slot" in letters["acme"]
    assert not [word for word in ("late.wav", "secret.wav", "/in/") if word in letters["acme"]]
    assert "- `zeta/x'y\\n.wav` (sha256 aa)" in letters["ze/ta"]


def test_letters_are_files_that_overwrite_nothing(tmp_path: Path) -> None:
    """A supplier's name is no path, and a second letter gets another name."""
    first = write_letters(str(tmp_path / "letters"), REPORT)
    second = write_letters(str(tmp_path / "letters"), REPORT)

    assert first[0].name == "acme-r1.md"
    assert second[0].name == "acme-r1-2.md"
    assert first[1].parent == tmp_path / "letters"
    assert first[1].name.startswith("ze_ta-")
    assert write_letters(str(tmp_path / "none"), PassReport()) == []
    assert not (tmp_path / "none").exists()


def test_letters_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    """The folder's name is a file's."""
    (tmp_path / "letters").write_bytes(b"")

    with pytest.raises(ResultsError, match="letters cannot be written"):
        write_letters(str(tmp_path / "letters"), REPORT)


def test_markdown_escapes_names() -> None:
    """A file's name makes no link or markup."""
    markdown = markdown_of_pass("/in", PassReport(rows=[row("/in/[x](http://y).wav", "rejected", "tampered")]))

    assert "\\[x\\]\\(http://y\\).wav" in markdown


def test_the_json_object_has_every_decision() -> None:
    """A program need not know which ones may be absent."""
    document = json_of_pass("/in", REPORT)

    assert document["files"] == {str(each): REPORT.decisions[each] for each in Decision}
    assert (document["runs"], document["rows"]) == (["r1"], ROWS)
