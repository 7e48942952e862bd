"""What lies in `accepted` was accepted, byte for byte; no delivery changes another one; what stays is named."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from proofsweep.ingest.pass_report import PassReport
from proofsweep.ingest.rules import Decision

from ...worlds.ddex_messages import Sending, Sent, Track, purge, put_release, sent
from .conftest import WAV, Watched
from .test_ingest_pass import names_in

BAD, GOOD, OTHER = (WAV + word.encode() for word in ("damaged, and longer.", "the good", "another."))
WAIT_SECONDS = 21_600


def deliver(watched: Watched, place: str, when: str = "01", *, gone: Iterable[str] = (), **audio: bytes) -> None:
    """Deliver a release, the same one wherever it lies, as a message of a day names it; some files are not there."""
    files = {f"resources/{name}.wav": content for name, content in audio.items()}
    tracks = [Track(isrc="QZABC2600001", files=[Sent(location=name)]) for name in files]
    sending = Sending(version="43", message_id=f"M-{when}", created=f"2026-11-{when}T12:00:00Z", tracks=tracks)
    there = {name: content for name, content in files.items() if Path(name).stem not in gone}
    put_release(watched.folder / place, sending, there)


def whys(report: PassReport) -> dict[str, str]:
    return {str(row["file"]).rpartition("/")[2]: str(row["why"]) for row in report.waiting}


def test_what_was_rejected_is_never_moved_to_accepted_by_an_update(watched: Watched) -> None:
    """The update stands by itself, in its own folder, and so does the older delivery."""
    watched.outcomes["a.wav"] = "rejected"
    deliver(watched, "acme/r1", gone=["b"], a=BAD, b=OTHER)
    watched.run_pass()
    watched.outcomes["a.wav"] = "accepted"
    (watched.folder / "acme/r1/resources/b.wav").write_bytes(OTHER)
    deliver(watched, "acme/r1_2", "02", a=GOOD)
    for _ in range(3):
        watched.run_pass()

    assert (watched.root / "bad/acme/r1/resources/a.wav").read_bytes() == BAD
    assert (watched.root / "ok/acme/r1_2/resources/a.wav").read_bytes() == GOOD
    assert names_in(watched.folder) == []
    assert sorted(watched.sent) == ["a.wav", "a.wav", "b.wav"]


def test_an_older_delivery_is_not_verified_again_when_the_newer_one_has_moved(watched: Watched) -> None:
    """Without a quarantine it stays where it is; the item stands as the newest file does."""
    watched.outcomes["a.wav"] = "rejected"
    deliver(watched, "acme/b1/r", a=BAD)
    watched.run_pass(moves=False)
    watched.outcomes["a.wav"] = "accepted"
    deliver(watched, "acme/b2/r", "02", a=GOOD)

    for _ in range(3):
        watched.run_pass(moves=False)

    assert watched.sent == ["a.wav", "a.wav"]
    watched.later(100)
    assert watched.run_pass(moves=False).report.decisions == {Decision.ANSWERED: 2}


def test_of_a_file_that_comes_twice_at_once_each_is_verified_and_moved_by_its_own_bytes(watched: Watched) -> None:
    """One after the other, since both are one item."""
    watched.outcomes["a.wav"] = "rejected"
    deliver(watched, "acme/b1/r", a=BAD)
    deliver(watched, "acme/b2/r", "02", a=GOOD)
    first = watched.run_pass().report
    watched.outcomes["a.wav"] = "accepted"

    watched.later(1)
    watched.run_pass()

    assert first.decisions == {Decision.TAKE: 1, Decision.INCOMPLETE_BATCH: 1}
    assert (watched.root / "bad/acme/b1/r/resources/a.wav").read_bytes() == BAD
    assert (watched.root / "ok/acme/b2/r/resources/a.wav").read_bytes() == GOOD


def test_an_update_that_repeats_its_files_costs_nothing_and_misses_none(watched: Watched) -> None:
    """References and messages make no other items. What an earlier delivery brought is not asked for."""
    deliver(watched, "acme/r1", a=GOOD, b=OTHER)
    watched.run_pass()
    deliver(watched, "acme/r1_2", "02", b=OTHER, a=GOOD)
    again = watched.run_pass().report
    deliver(watched, "acme/r1_3", "03", gone=["a", "b"], a=GOOD, b=OTHER)
    named = [watched.run_pass().report]
    watched.later(WAIT_SECONDS)
    named += [watched.run_pass().report for _ in range(2)]

    assert (sorted(watched.sent), len(again.rows)) == (["a.wav", "b.wav"], 2)
    assert whys(named[0]) == {"a.wav": "absent", "b.wav": "absent"}
    assert [len(report.without_audio) for report in named] == [0, 1, 0]
    assert "acme/r1_3/r1_3.xml" in names_in(watched.root / "ok")
    assert names_in(watched.root / "bad") == []


@pytest.mark.parametrize("place", ["sample.xml", "alba/sample.xml"])
def test_a_stray_message_is_named_and_takes_nothing_along(watched: Watched, place: str) -> None:
    """The files of suppliers are what they were."""
    watched.deliver("alba/a.wav")
    watched.deliver("nord/b.wav", OTHER)
    watched.deliver("nord/contract.pdf", b"%PDF")
    watched.deliver(place, Sending(tracks=[Track(isrc="A", files=["resources/none.wav"])]).content())

    report = watched.run_pass().report

    assert whys(report) == {"sample.xml": "stray_message"}
    assert names_in(watched.root / "ok") == ["alba/a.wav", "nord/b.wav"]
    assert names_in(watched.folder) == sorted([place, "nord/contract.pdf"])


def test_a_delivery_without_audio_is_named_and_moved_when_it_is_complete(watched: Watched) -> None:
    """Of new metadata, in a batch or alone; with no place to move it to, it is named in each pass."""
    batch = "acme/20261103120000000"
    put_release(watched.folder / batch / "r1", Sending(tracks=[Track(isrc="A")]))
    put_release(watched.folder / "acme" / "r2", Sending(icpn="222", tracks=[Track(isrc="A")]))
    waits = watched.run_pass(moves=False).report
    watched.deliver(f"{batch}/BatchComplete.xml", b"")

    moved = watched.run_pass().report

    assert whys(waits) == {"20261103120000000": "incomplete_batch", "r2": "without_audio"}
    assert len(moved.without_audio) == 2
    assert "2 deliveries without audio moved" in moved.line("in")
    assert names_in(watched.folder) == []
    assert f"{batch}/BatchComplete.xml" in names_in(watched.root / "ok")


def test_a_takedown_stays_as_long_as_what_it_withdraws(watched: Watched) -> None:
    """Else the release would come back to life."""
    deliver(watched, "acme/r1", a=GOOD)
    later = Sending(version="43", created="2026-11-02T12:00:00+00:00")
    watched.deliver("acme/takedown/purge.xml", purge(later))
    first, kept = (watched.run_pass().report for _ in range(2))
    for name in names_in(watched.folder / "acme/r1"):
        (watched.folder / "acme/r1" / name).unlink()

    watched.run_pass()

    assert [row["reason"] for row in first.rows] == ["withdrawn"]
    assert whys(kept) == {"r1": "set_aside", "takedown": "set_aside"}
    assert names_in(watched.root / "ok") == ["acme/takedown/purge.xml"]


def test_a_message_that_is_still_on_its_way_is_waited_for(watched: Watched) -> None:
    """With all of its delivery: nobody knows yet which files are of it."""
    deliver(watched, "acme/r1", a=GOOD)
    message = watched.folder / "acme/r1/r1.xml"
    whole = message.read_bytes()
    message.write_bytes(whole[:300])
    first = watched.run_pass().report
    message.write_bytes(whole)
    watched.run_pass()

    assert first.waiting[0]["detail"] == "the end of its message is not there"
    assert first.rows == []
    assert names_in(watched.root / "ok") == ["acme/r1/r1.xml", "acme/r1/resources/a.wav"]


def test_a_message_that_never_ends_sends_its_delivery_to_quarantine(watched: Watched) -> None:
    """After as long as a delivery waits for its files."""
    deliver(watched, "acme/r1", a=GOOD)
    message = watched.folder / "acme/r1/r1.xml"
    message.write_bytes(message.read_bytes()[:300])
    watched.run_pass()
    watched.later(WAIT_SECONDS)

    report = watched.run_pass().report

    assert [row["reason"] for row in report.rows] == ["unreadable_message"] * 2
    assert names_in(watched.root / "bad") == ["acme/r1/r1.xml", "acme/r1/resources/a.wav"]


def test_a_corrected_message_lets_a_file_be_judged_again(watched: Watched) -> None:
    """Also one that was accepted, while its delivery waits for the rest; its bytes are compared without a call."""
    tracks = [Track(isrc="A", files=["a.wav"]), Track(isrc="B", files=["b.wav"])]
    folder = watched.folder / "acme/r1"
    put_release(folder, Sending(version="43", tracks=tracks), {"a.wav": GOOD})
    watched.run_pass()
    assert watched.run_pass().report.decisions[Decision.ANSWERED] == 1
    declared = [Track(isrc="A", files=[sent("a.wav", GOOD)]), tracks[1]]
    put_release(folder, Sending(version="43", tracks=declared))

    watched.run_pass()
    put_release(folder, Sending(version="43", tracks=declared[:1]))
    watched.run_pass()

    assert (len(watched.planned), watched.sent) == (3, ["a.wav"])
    assert names_in(watched.root / "ok") == ["acme/r1/a.wav", "acme/r1/r1.xml"]


def test_a_list_that_is_of_one_file_moves_with_it(watched: Watched) -> None:
    """A list of several speaks of the bytes that were there, and not of those that come next under the name."""
    digest = hashlib.md5(GOOD, usedforsecurity=False).hexdigest()
    for name in ("a.wav", "b.wav"):
        watched.deliver(f"acme/{name}", GOOD)
    watched.deliver("acme/a.wav.md5", digest.encode())
    watched.deliver("acme/md5sums.txt", f"{digest}  b.wav\n{digest}  later.wav\n".encode())
    watched.run_pass()
    moved = names_in(watched.root / "ok")
    watched.deliver("acme/b.wav", OTHER + b"longer")
    watched.deliver("acme/later.wav", GOOD)
    one = watched.new_pass()
    rows = {row.named_audio: row.declared for row in one._scanned().ready or one._settled_scan().ready}

    assert moved == ["acme/a.wav", "acme/a.wav.md5", "acme/b.wav"]
    assert rows["acme/b.wav"] is None
    assert rows["acme/later.wav"] is not None


def test_a_clip_moves_with_its_delivery_and_hinders_nothing(watched: Watched) -> None:
    """It has a row that says what it is."""
    tracks = [Track(isrc="A", files=["a.wav"]), Track(isrc="A", files=["clip.wav"], is_clip=True)]
    put_release(watched.folder / "acme/r1", Sending(tracks=tracks), {"a.wav": GOOD, "clip.wav": OTHER})

    report = watched.run_pass().report

    found = {str(row["audio"]).rpartition("/")[2]: (row["reason"], row["disposition"]) for row in report.rows}
    assert found == {"a.wav": (None, "accepted"), "clip.wav": ("clip", "accepted")}
    assert (watched.sent.count("a.wav"), report.messages()) == (1, [])


@pytest.mark.parametrize("folder", ["resources/", ""])
def test_audio_that_comes_before_its_message_is_not_missed(watched: Watched, folder: str) -> None:
    """In a folder of resources it waits; elsewhere it is moved, and the message does not ask for it."""
    audio = watched.deliver(f"acme/r1/{folder}a.wav", GOOD)
    before = watched.run_pass().report
    tracks = [Track(isrc="A", files=[f"{folder}a.wav"])]
    put_release(watched.folder / "acme/r1", Sending(tracks=tracks))
    watched.run_pass()
    watched.later(WAIT_SECONDS)
    watched.run_pass()

    assert audio.exists() is False
    assert before.decisions == {(Decision.INCOMPLETE_BATCH if folder else Decision.TAKE): 1}
    assert names_in(watched.root / "ok") == sorted([f"acme/r1/{folder}a.wav", "acme/r1/r1.xml"])
    assert (names_in(watched.root / "bad"), watched.sent) == ([], ["a.wav"])


def test_audio_whose_message_never_comes_is_a_file_like_any_other(watched: Watched) -> None:
    """Once it has waited for as long as a delivery does."""
    watched.deliver("acme/r1/resources/a.wav", GOOD)
    waits = watched.run_pass().report
    watched.later(WAIT_SECONDS)
    watched.run_pass()

    assert waits.waiting[0]["detail"] == "its message is not there"
    assert names_in(watched.root / "ok") == ["acme/r1/resources/a.wav"]


def test_what_no_pass_can_take_is_named(watched: Watched) -> None:
    """A delivery that is packed, and an upload that ended."""
    watched.deliver("acme/r1.zip", b"PK\3\4")
    watched.deliver("acme/song.wav.part", GOOD)

    report = watched.run_pass().report

    assert whys(report) == {"r1.zip": "archive", "song.wav.part": "unfinished"}
    assert len(report.messages()) == 2


def test_an_accepted_file_in_quarantine_is_named(watched: Watched) -> None:
    """It lies there since another file of its delivery was rejected."""
    watched.outcomes["b.wav"] = "rejected"
    deliver(watched, "acme/r1", a=GOOD, b=BAD)

    lines = watched.run_pass().report.messages()

    why = "It was accepted, and is in quarantine since another file of its delivery was not."
    assert f"{watched.root}/bad/acme/r1/resources/a.wav: {why}" in lines
