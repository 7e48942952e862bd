"""Rows of audio that messages name."""

from proofsweep.sources.ddex_delivery import TAG_NAMES, item_id_for, named
from proofsweep.sources.ddex_message import ErnMessage, Header, header_of, read_message
from tests.unit.sources.held_file import HeldFile
from tests.worlds.ddex_messages import Sending, Track

TRACK = Track(isrc="A", title="Ocean", files=["a.wav", "a.mp3", "a.wav"])


def read(sending: Sending) -> tuple[ErnMessage, Header]:
    """Read a message, and its header."""
    message = read_message(HeldFile(sending.content()))
    return message, header_of(message, 0, "/b/r/m.xml")


def test_each_file_of_a_recording_is_named_once() -> None:
    """Its tags are what messages say, without those that they do not give."""
    message, header = read(Sending(tracks=[TRACK], icpn="111", catalog_number=""))

    namings = named(message, header)

    assert [(each.file.location, each.tags["technical"]) for each in namings] == [("a.wav", "T1_1"), ("a.mp3", "T1_2")]
    assert len({each.item_id for each in namings}) == 2
    assert dict(namings[0].tags) == {
        "isrc": "A",
        "title": "Ocean",
        "artist": "Mara & the Tides",
        "release_title": "Tides",
        "label": "Seed Records",
        "icpn": "111",
        "sender": "PADPIDA2007050901U",
        "message_id": "M-1",
        "thread_id": "T-1",
        "resource": "A1",
        "technical": "T1_1",
    }
    assert {"batch", "release"} == {*TAG_NAMES} - {*namings[0].tags} - {"grid", "catalog_number"}


def test_newer_message_gives_the_metadata() -> None:
    """A recording is known again by its ISRC; without one, by its reference."""
    tracks = [Track(isrc="A", title="Old", files=["a.wav"]), Track(isrc="", title="Old", files=["b.wav"])]
    newer_tracks = [
        Track(isrc="X", reference="A1"),
        Track(isrc="A", title="New"),
        Track(isrc="", reference="A2", title="N2"),
    ]
    older, header = read(Sending(tracks=tracks))
    newest, _ = read(Sending(title="Tides II", message_id="M-2", tracks=newer_tracks))

    found = [
        (each.tags["title"], each.tags["resource"], each.tags["message_id"]) for each in named(older, header, newest)
    ]

    assert found == [("New", "A1", "M-2"), ("N2", "A2", "M-2")]


def test_item_id_stays_the_same() -> None:
    """It is of the sender, the release, the reference and the location, and of nothing else."""
    _, header = read(Sending(icpn="111"))
    _, moved = read(Sending(icpn="111", message_id="M-9", title="Other"))
    others = [
        read(each)[1]
        for each in (Sending(icpn="222"), Sending(icpn="111", sender="X"), Sending(icpn="111", is_test=True))
    ]

    item_id = item_id_for(header, "A1", "a.wav")

    assert item_id == item_id_for(moved, "A1", "a.wav") == "19c3aafcfd08b5394efc13bd14d39953"
    assert len({item_id, item_id_for(header, "A2", "a.wav"), item_id_for(header, "A1", "b.wav")}) == 3
    assert item_id not in [item_id_for(each, "A1", "a.wav") for each in others]
