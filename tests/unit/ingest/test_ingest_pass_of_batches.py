"""Passes over a watched folder of deliveries: each is taken when it is complete, and moved as a whole."""

import shutil
from collections import Counter
from collections.abc import Collection
from zlib import crc32

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.tags import tags_of
from proofsweep.files.moving import Moves
from proofsweep.ingest.one_pass import IngestPass
from proofsweep.ingest.rules import Decision, PastAnswer
from proofsweep.ingest.scan import Scan

from ...worlds.ddex_messages import SENDER, Sending, batch_manifest, purge
from .conftest import SETTINGS, WAV, Watched
from .test_ingest_pass import names_in

SOUND = WAV + bytes(8)
OTHER = WAV + b"another."
RELEASE = ["r1.xml", "resources/a.wav", "resources/cover.jpg"]
WAIT_SECONDS = 21_600


def below(place: str, *names: str) -> list[str]:
    return sorted(f"{place}/{name}" for name in names)


def deliver_batch(watched: Watched, name: str = "B1") -> None:
    watched.deliver_release(f"{name}/r1", a=SOUND)
    watched.deliver_release(f"{name}/r2", b=OTHER)
    watched.deliver(f"{name}/BatchComplete.txt", b"")


def test_one_rejected_file_sends_the_whole_batch_to_quarantine(watched: Watched) -> None:
    """The rows say so, also those of the accepted files; without targets it stays, and is verified once."""
    watched.outcomes["b.wav"] = "rejected"
    deliver_batch(watched)
    delivered = names_in(watched.folder)
    for _ in range(2):
        watched.run_pass(moves=False)
    assert (len(watched.planned), names_in(watched.folder)) == (1, delivered)

    report = watched.run_pass().report

    assert names_in(watched.root / "ok") == []
    assert "B1/r1/resources/a.wav" in names_in(watched.root / "bad")
    assert {str(row["outcome"]): str(row["disposition"]) for row in report.rows} == {
        "accepted": "quarantined",
        "rejected": "quarantined",
    }
    deliver_batch(watched)
    watched.run_pass()
    assert sorted(watched.sent) == ["a.wav", "b.wav"], "delivered again as it was, it costs no call"
    assert not (watched.folder / "B1").exists()


def test_a_file_that_is_not_there_is_waited_for_and_then_a_finding(watched: Watched) -> None:
    """The batch is then taken without it, and goes to quarantine."""
    deliver_batch(watched)
    (watched.folder / "B1/r1/resources/a.wav").unlink()
    first = watched.run_pass().report
    watched.later(WAIT_SECONDS)

    report = watched.run_pass().report

    assert first.decisions == {Decision.INCOMPLETE_BATCH: 2}
    why = "named files and messages that are not there, or not whole: 1, the first of them a.wav"
    assert {row["detail"] for row in first.waiting} == {why, None}
    words = {line.rpartition("/")[2] for line in first.messages()}
    b_waits = f"b.wav: waiting for the rest of its delivery ({why})"
    assert words == {"a.wav: a message names it, and it is not there yet", b_waits}
    assert {(str(row["outcome"]), row["reason"], str(row["disposition"])) for row in report.rows} == {
        ("ineligible", "missing_audio", "quarantined"),
        ("accepted", None, "quarantined"),
    }
    assert "B1/r2/resources/b.wav" in names_in(watched.root / "bad")


@pytest.mark.parametrize("outcome", ["failed", None])
def test_a_row_without_an_answer_holds_its_batch(watched: Watched, outcome: str | None) -> None:
    """Nothing of it is moved before each row has its answer."""
    watched.outcomes["b.wav"] = outcome
    deliver_batch(watched)
    before = names_in(watched.folder)
    watched.run_pass()
    assert names_in(watched.folder) == before

    watched.outcomes["b.wav"] = "accepted"
    watched.later(300)
    watched.run_pass()

    assert "B1/r2/resources/b.wav" in names_in(watched.root / "ok")


def test_audio_whose_delivery_turns_out_to_be_none_is_a_file_like_any_other(watched: Watched) -> None:
    """A message that was put into the wrong folder makes findings of the files there, until it is taken back."""
    watched.deliver("acme/r1/a.wav")
    watched.deliver("acme/r1/r1.xml", Sending(version="43").content())
    first = watched.run_pass(moves=False).report
    (watched.folder / "acme/r1/r1.xml").unlink()

    second = watched.run_pass(moves=False).report

    assert [row["reason"] for row in (*first.rows, *second.rows)] == ["not_in_message", None]
    assert watched.sent == ["a.wav", "a.wav"]


@pytest.mark.parametrize("is_test", [True, False])
def test_tests_and_withdrawn_releases_are_reported_and_never_moved(watched: Watched, is_test: bool) -> None:
    """They hold nothing up, and nobody is told that their batch is not complete."""
    deliver_batch(watched)
    if is_test:
        watched.deliver_release("B1/r2", is_test=True, b=OTHER)
    else:
        later = Sending(version="43", created="2026-11-02T12:00:00+00:00", icpn=f"{crc32(b'B1/r2'):013}")
        watched.deliver("withdrawn/withdrawn.xml", purge(later))

    reports = [watched.run_pass().report]
    watched.later(WAIT_SECONDS)
    reports += [watched.run_pass().report]

    left = below("B1/r2", "r2.xml", "resources/b.wav", "resources/cover.jpg")
    assert [name for name in names_in(watched.folder) if name.startswith("B1")] == left
    assert names_in(watched.root / "ok") == ["B1/BatchComplete.txt", *below("B1/r1", *RELEASE)]
    assert Counter(str(row["disposition"]) for row in reports[0].rows) == {"accepted": 1, "left": 1}
    assert reports[1].rows == []


def test_a_delivery_that_moves_leaves_an_unfinished_one_inside_it(watched: Watched) -> None:
    """A supplier puts a release flat into its folder, in which a batch still arrives, however long it takes."""
    inner = "acme/20261124000000001"
    watched.deliver_release("acme", a=SOUND)
    watched.deliver_release(f"{inner}/r1", b=OTHER)

    watched.run_pass()
    watched.later(WAIT_SECONDS)
    waiting = watched.run_pass().report.waiting

    assert names_in(watched.root / "ok") == below("acme", "acme.xml", "resources/a.wav", "resources/cover.jpg")
    assert names_in(watched.folder) == below(f"{inner}/r1", "r1.xml", "resources/b.wav", "resources/cover.jpg")
    assert [row["detail"] for row in waiting] == ["its completion file is not there"]


def test_what_lies_beside_another_withdrawal_or_a_later_test_moves(watched: Watched) -> None:
    """So does the withdrawal, if nothing lies there that it withdraws; a test message moves with its live release."""
    deliver_batch(watched)
    watched.deliver("B1/withdrawn.xml", purge(Sending(version="43", icpn="0000000000001")))
    watched.deliver_release("acme/r1", c=WAV + b"a third.")
    later = Sending(version="43", message_id="M-2", created="2026-11-02T12:00:00+00:00", is_test=True)
    watched.deliver("acme/r1/r1_test.xml", later.content())

    reports = [watched.run_pass().report for _ in range(2)]

    assert [len(report.rows) for report in reports] == [3, 0]
    assert names_in(watched.folder) == []
    release = below("acme/r1", "r1.xml", "r1_test.xml", "resources/c.wav", "resources/cover.jpg")
    assert {"B1/BatchComplete.txt", *release} <= {*names_in(watched.root / "ok")}


def test_releases_without_a_batch_are_taken_file_by_file_and_moved_each_as_a_whole(watched: Watched) -> None:
    """What a message names and is not there is waited for; then the release goes to quarantine."""
    watched.deliver_release("acme/r1", a=SOUND)
    watched.deliver_release("acme/r2", b=OTHER, c=SOUND)
    (watched.folder / "acme/r2/resources/c.wav").unlink()

    report = watched.run_pass().report

    assert report.decisions == {Decision.TAKE: 2, Decision.INCOMPLETE_BATCH: 1}
    assert names_in(watched.root / "ok") == below("acme/r1", *RELEASE)
    watched.later(WAIT_SECONDS)
    watched.run_pass()
    assert names_in(watched.root / "bad") == below("acme/r2", "r2.xml", "resources/b.wav", "resources/cover.jpg")


def test_a_file_that_comes_during_a_move_is_looked_at_first(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its delivery was answered without it, and stays for the next pass: no message names the file."""
    for name in ("B1", "B2"):
        deliver_batch(watched, name)
    copy, late = Moves.copy, "B2/r1/resources/late.wav"

    def deliver_and_copy(moves: Moves, source: str, target: str, sha256: str) -> FileFacts | None:
        watched.deliver(late, WAV + b"too late")
        return copy(moves, source, target, sha256)

    with monkeypatch.context() as moment:
        moment.setattr(Moves, "copy", deliver_and_copy)
        first = watched.run_pass().report
    moved, left = names_in(watched.root / "ok"), names_in(watched.folder)
    second = watched.run_pass().report

    assert ({name[:2] for name in moved}, {name[:2] for name in left}) == ({"B1"}, {"B2"})
    assert (first.not_moved, Counter(row["reason"] for row in second.rows)) == ({}, {None: 2, "not_in_message": 1})
    assert late in names_in(watched.root / "bad")


def test_audio_that_comes_after_its_folder_was_walked_is_looked_at_first(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.deliver_release("acme/r1", a=SOUND)
    answers, scans = IngestPass._past_answers, list[None]()

    def deliver_and_ask(one: IngestPass, item_ids: Collection[str]) -> dict[str, PastAnswer]:
        scans.append(None)
        if len(scans) == 3:  # the one after the run; its walk is over
            watched.deliver("acme/r1/resources/bonus.wav", WAV + b"unknown")
        return answers(one, item_ids)

    with monkeypatch.context() as moment:
        moment.setattr(IngestPass, "_past_answers", deliver_and_ask)
        first = watched.run_pass().report
    moved = names_in(watched.root / "ok")
    watched.run_pass()

    assert (len(scans), moved, first.not_moved) == (3, [], {})
    assert [(row["file"], row["why"]) for row in first.waiting] == [(str(watched.folder / "acme/r1"), "settling")]
    assert "acme/r1/resources/bonus.wav" in names_in(watched.root / "bad")


def test_a_message_that_is_replaced_after_it_was_read_does_not_move_unread(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.deliver_release("acme/r1", a=SOUND)
    message = watched.folder / "acme/r1/r1.xml"
    close, corrected = IngestPass._close_batches, message.read_bytes().replace(b"QZABC2600001", b"QZABC2699999")

    def correct_and_close(one: IngestPass, scan: Scan) -> None:
        if scan.batches[0].is_answered:
            message.write_bytes(corrected)
        close(one, scan)

    with monkeypatch.context() as moment:
        moment.setattr(IngestPass, "_close_batches", correct_and_close)
        watched.run_pass()
    left = names_in(watched.folder)
    watched.later(WAIT_SECONDS)
    rows = watched.run_pass().report.rows

    assert "acme/r1/r1.xml" in left
    assert [tags_of(str(row["tags"]))["isrc"] for row in rows] == ["QZABC2699999"]
    assert (watched.root / "ok/acme/r1/r1.xml").read_bytes() == corrected


def test_a_booklet_that_is_still_written_keeps_its_delivery(watched: Watched) -> None:
    """Its audio is verified meanwhile."""
    watched.deliver_release("acme/r1", a=SOUND)
    booklet = watched.deliver("acme/r1/resources/booklet.pdf", b"%PDF")

    def write_on() -> None:
        with booklet.open("ab") as file:
            file.write(b" more")

    watched.meanwhile = write_on
    first = watched.run_pass().report
    left, watched.meanwhile = names_in(watched.folder), lambda: None
    watched.later(SETTINGS.settle_seconds)
    watched.run_pass()

    assert (watched.sent, first.not_moved) == (["a.wav"], {})
    assert "acme/r1/resources/booklet.pdf" in left
    assert (watched.root / "ok/acme/r1/resources/booklet.pdf").read_bytes() == b"%PDF more"


def test_a_delivery_that_is_written_while_it_is_copied_is_not_torn_apart(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.deliver_release("acme/r1", a=SOUND)
    written = ["a.wav", "bonus.wav", "cover.jpg"]
    copy = Moves.copy

    def deliver_and_copy(moves: Moves, source: str, target: str, sha256: str) -> FileFacts | None:
        if source.endswith(".xml"):  # the last one
            watched.deliver("acme/r1/resources/a.wav", OTHER)
            watched.deliver("acme/r1/resources/bonus.wav", SOUND)
        return copy(moves, source, target, sha256)

    with monkeypatch.context() as moment:
        moment.setattr(Moves, "copy", deliver_and_copy)
        first = watched.run_pass().report
    moved, left = names_in(watched.root / "ok"), names_in(watched.folder)
    watched.later(WAIT_SECONDS)
    watched.run_pass()

    assert (moved, first.not_moved) == ([], {})
    assert left == below("acme/r1", "r1.xml", *(f"resources/{name}" for name in written))
    assert names_in(watched.folder) == []
    assert names_in(watched.root / "bad") == left


def test_a_move_that_has_removed_a_file_only_goes_forward(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if its consumer takes all files before the next pass, and its supplier sends a message once more."""
    deliver_batch(watched)
    remove, removed = Moves.remove, list[str]()

    def remove_some(moves: Moves, location: str, facts: FileFacts) -> bool:
        removed.append(location)
        if len(removed) > 1:
            raise KeyboardInterrupt
        return remove(moves, location, facts)

    with monkeypatch.context() as moment:
        moment.setattr(Moves, "remove", remove_some)
        with pytest.raises(KeyboardInterrupt):
            watched.run_pass()
    shutil.rmtree(watched.root / "ok/B1/r1")
    watched.deliver("B1/BatchComplete.txt", b"once more")
    (watched.folder / "B1/r1/resources/a.wav").unlink()
    one = watched.new_pass()
    next(iter(one.runs()), None)

    assert [row["disposition"] for row in one.report.rows[:2]] == ["accepted"] * 2
    assert names_in(watched.folder) == ["B1/BatchComplete.txt"]
    assert "B1/r2/resources/b.wav" in names_in(watched.root / "ok")


def test_a_batch_that_is_half_removed_is_not_looked_at(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of it is no delivery: its messages may be gone. It is whole at the target.

    Its completion file is removed first.
    """
    deliver_batch(watched)
    remove, removed = Moves.remove, list[str]()

    def remove_some(moves: Moves, location: str, facts: FileFacts) -> bool:
        removed.append(location)
        if len(removed) > 2:
            raise SourceError("Denied.", reason="unreadable_file")
        return remove(moves, location, facts)

    with monkeypatch.context() as moment:
        moment.setattr(Moves, "remove", remove_some)
        reports = [watched.run_pass().report for _ in range(2)]
    reports += [watched.run_pass().report for _ in range(2)]

    assert [len(report.not_moved) for report in reports] == [2, 2, 0, 0]
    assert (reports[1].decisions, len(watched.planned)) == ({}, 1)
    assert removed[0].endswith("BatchComplete.txt")
    assert list(watched.folder.iterdir()) == []
    assert len(names_in(watched.root / "ok")) == 7


def test_the_supplier_is_the_sender_where_no_folder_names_one(watched: Watched) -> None:
    """A batch's folder is no supplier's."""
    deliver_batch(watched)
    watched.deliver_release("acme/B2/r3", c=SOUND)
    watched.deliver("acme/B2/manifest.xml", batch_manifest("B2", ["r3/r3.xml"]))

    rows = watched.run_pass().report.rows

    assert {row["supplier"] for row in rows} == {SENDER, "acme"}
    assert {tags_of(str(row["tags"]))["isrc"] for row in rows} == {"QZABC2600001"}
