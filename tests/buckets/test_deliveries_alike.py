"""Deliveries are read in the same way from a folder and from every kind of bucket."""

from ..worlds.core import listed_rows
from ..worlds.ddex_messages import Sending, Track, batch_manifest, sent
from .test_sources_alike import FilePlace
from .test_sources_alike import place as place  # noqa: PLC0414 - a fixture

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "


def put_batch(place: FilePlace) -> None:
    """Put a complete batch of two releases beside plain audio, with a file missing, one too many, and answers."""
    one, two = (Track(isrc=f"I{number}", files=[name]) for number, name in enumerate(["1.wav", "gone.wav"], 1))
    three = Track(isrc="I3", files=[sent("resources/3%20é.wav", WAVE)])
    outside = Track(isrc="I4", files=["../../../secret.wav"])
    place.put("plain.wav", WAVE)
    place.put("B/111/111.xml", Sending(icpn="111", tracks=[one, two], images=["resources/cover.jpg"]).content())
    for name in ("1.wav", "cover.jpg", "extra.wav", "1.wav.sidecar"):
        place.put(f"B/111/resources/{name}", WAVE)
    place.put("B/222/222.xml", Sending(version="43", icpn="222", tracks=[three, outside]).content())
    place.put("B/222/resources/3 é.wav", WAVE)
    place.put("B/acknowledgements/111.xml", b"<ack/>")
    place.put("B/manifest.xml", batch_manifest("B", ["111/111.xml", "222/222.xml"]))


def test_batch_is_read_from_every_place(place: FilePlace) -> None:
    """The rows, the findings and the batch are the same; a message stands for its folder there, too."""
    put_batch(place)

    catalog, items = listed_rows(place.location)
    _, alone = listed_rows(f"{place.location}/B/111/111.xml")

    found = {row.named_audio.rpartition("/")[2]: item.ineligible and str(item.ineligible.reason) for row, item in items}
    assert found == {
        "plain.wav": None,
        "1.wav": None,
        "extra.wav": "not_in_message",
        "gone.wav": "missing_audio",
        "3 é.wav": None,
        "secret.wav": "outside_catalog",
        "cover.jpg": "clip",  # it holds audio
    }
    assert [row.tags["isrc"] for row, item in items if item.ineligible is None and row.tags] == ["I1", "I3"]
    assert [item.sidecar is not None for _, item in items].count(True) == 1
    assert [item.declared.size_bytes for _, item in items if item.declared] == [len(WAVE)]
    (batch,) = catalog.batches.values()
    assert (batch.location, batch.completion) == (f"{place.location}/B", f"{place.location}/B/manifest.xml")
    assert [*batch.releases] == [f"{place.location}/B/111", f"{place.location}/B/222"]
    assert catalog.ignored["system_folders"] == 1
    assert [row.tags.get("isrc") for row, _ in alone] == ["I1", None, None, "I2"]
