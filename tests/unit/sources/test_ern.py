"""Messages of every version are read alike."""

from dataclasses import replace

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import Declared
from proofsweep.domain.reasons import Reason
from proofsweep.sources.ddex_message import ErnMessage, MessageFile, Recording, read_message, version_in
from tests.unit.sources.held_file import HeldFile
from tests.worlds.ddex_messages import (
    ERN_3,
    ERN_4_1,
    ERN_4_3,
    SENDER,
    VERSIONS,
    Sending,
    Sent,
    Track,
    purge,
    sent,
)

OCEAN = sent("resources/0094631432057_01_001.flac", b"ocean")
TRACKS = (
    Track(isrc="QZES71982312", title="Ocean", subtitle="Live", artist="Mara", files=[OCEAN, "resources/1.mp3"]),
    Track(isrc="QZES71982313", title="Shore", artist="Tom", files=["resources/2.flac"]),
    Track(isrc="QZES71982314", title="Ocean (30 s)", files=["clip.wav"], is_clip=True),
)


def read(sending: Sending | bytes) -> ErnMessage:
    """Read a message as it was written."""
    return read_message(HeldFile(sending if isinstance(sending, bytes) else sending.content()))


@pytest.mark.parametrize("version", VERSIONS)
def test_message_of_each_version_is_read(version: str) -> None:
    """All that is asked of a message stands in each version, at its own place."""
    sending = Sending(version=version, tracks=TRACKS, images=["resources/cover.jpg"], grid="A10302B0000114894T")

    found = read(replace(sending, videos=["resources/film.mp4"]))

    assert found == ErnMessage(
        is_purge=False,
        message_id="M-1",
        thread_id="T-1",
        created=1793534400.0,
        sender=SENDER,
        is_test=False,
        icpn="0094631432057",
        grid="A10302B0000114894T",
        catalog_number="SEED 001",
        proprietary_id="",
        release_title="Tides",
        label="Seed Records",
        recordings=(
            Recording(
                reference="A1",
                isrc="QZES71982312",
                title="Ocean (Live)",
                artist="Mara",
                files=(
                    MessageFile(OCEAN.location, "T1_1", str(OCEAN.size_bytes), "MD5", OCEAN.digest),
                    MessageFile("resources/1.mp3", "T1_2"),
                ),
            ),
            Recording("A2", "QZES71982313", "Shore", "Tom", (MessageFile("resources/2.flac", "T2_1"),)),
            Recording("A3", "QZES71982314", "Ocean (30 s)", "Mara & the Tides", ()),
        ),
        clips=("clip.wav",),
        others=("resources/cover.jpg", "resources/film.mp4"),
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_purge_withdraws_a_release(version: str) -> None:
    """Such a message names a release, and no file."""
    found = read(purge(Sending(version=version)))

    assert (found.is_purge, found.icpn, found.sender, found.has_files) == (True, "0094631432057", SENDER, False)


@pytest.mark.parametrize("version", ["38", "41", "43"])
def test_test_message_is_known(version: str) -> None:
    """A test is none of the releases that are meant."""
    assert read(Sending(version=version, is_test=True)).is_test


@pytest.mark.parametrize("version", [*ERN_4_1, *ERN_4_3])
def test_what_is_not_in_the_delivery_is_not_named(version: str) -> None:
    """The standard's word for it is `IsProvidedInDelivery`."""
    tracks = [Track(isrc="A", files=["a.wav"], is_provided=False), Track(isrc="B", files=["b.wav"], is_provided=True)]

    found = read(Sending(version=version, tracks=tracks))

    assert [len(recording.files) for recording in found.recordings] == [0, 1]
    assert found.clips == ()


def test_each_edition_has_its_own_isrc() -> None:
    """From 4.3 on, a recording may have a stereo and an immersive edition, each with files."""
    text = Sending(version="43", tracks=[Track(isrc="QZES71982312", files=["stereo.wav"])]).text()
    edition = text[text.index("<SoundRecordingEdition>") : text.index("</SoundRecordingEdition>")]
    immersive = edition.replace("QZES71982312", "QZES71982399").replace("stereo.wav", "immersive.wav")

    found = read(text.replace(edition, f"{edition}</SoundRecordingEdition>{immersive}").encode())

    names = [(recording.isrc, recording.title, recording.files[0].location) for recording in found.recordings]
    assert names == [("QZES71982312", "Ocean", "stereo.wav"), ("QZES71982399", "Ocean", "immersive.wav")]


@pytest.mark.parametrize(
    ("namespace", "version"),
    [
        ("http://ddex.net/xml/ern/382", "3.8.2"),
        ("HTTP://DDEX.NET/XML/ERN/41", "4.1"),
        ("http://ddex.net/xml//ern//43", "4.3"),
        ("http://service.ddex.net/xml/ern/411", "4.1.1"),
        ("http://ddex.net/xml/ern/439", "4.3.9"),
        ("http://ddex.net/xml/2010/ern-main/312", "3.1.2"),
    ],
)
def test_version_is_that_of_the_namespace(namespace: str, version: str) -> None:
    """Case and slashes vary; minor versions to come are read as those that are there."""
    assert version_in(namespace) == version
    assert read(Sending(namespace=namespace)).icpn


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (Sending(namespace="http://ddex.net/xml/ern/50").content(), r"It is of ERN 5\.0; versions 3 and 4 can be read"),
        (Sending(namespace="http://example.org/x").content(), "Its namespace is http://example.org/x, which is no"),
        (b"<NewReleaseMessage><MessageHeader/></NewReleaseMessage>", "Its namespace is none, which is no version"),
        (b"<a><MessageHeader/></a>", "Its root element is a, not NewReleaseMessage or PurgeReleaseMessage"),
        (b"<a/>", "It holds no header, release or resource of a message"),
    ],
)
def test_other_message_is_refused(content: bytes, words: str) -> None:
    """The reason says what it is instead."""
    with pytest.raises(SourceError, match=words) as raised:
        read(content)

    assert raised.value.reason == Reason.UNREADABLE_MESSAGE


@pytest.mark.parametrize("version", [ERN_3[0], ERN_3[-1]])
def test_file_has_a_folder_of_its_own(version: str) -> None:
    """ERN 3 gives the folder apart from the name."""
    found = read(Sending(version=version, tracks=[Track(isrc="A", files=["resources/disc 1/a.wav"])]))

    assert found.recordings[0].files[0].location == "resources/disc 1/a.wav"


def test_sender_without_a_dpid_is_known_by_its_name() -> None:
    """Some senders have none."""
    assert read(Sending(sender="")).sender == "Seed Distribution"


@pytest.mark.parametrize(
    ("created", "seconds"),
    [("2026-11-01T12:00:00", 1793534400.0), ("2026-11-01T14:00:00+02:00", 1793534400.0), ("yesterday", 0.0)],
)
def test_creation_is_an_instant(created: str, seconds: float) -> None:
    """Without a zone it is UTC."""
    assert read(Sending(created=created)).created == seconds


def test_recording_without_files_and_ids_is_read() -> None:
    """An update may hold metadata alone, and a message may hold hardly anything."""
    found = read(Sending(icpn="", catalog_number="", tracks=[Track(isrc="A")]))

    assert (found.release_id, found.ids, found.has_files) == ("", (), False)


def test_other_elements_of_the_same_name_are_not_meant() -> None:
    """A related release has an ICPN too, and a contributor a name."""
    related = "<RelatedRelease><ReleaseId><ICPN>999</ICPN></ReleaseId></RelatedRelease>"
    text = Sending(version="43").text().replace("<ReleaseReference>R0", f"{related}<ReleaseReference>R0")

    assert read(text.encode()).icpn == "0094631432057"


def test_digest_in_base64_is_kept_as_written() -> None:
    """What it is worth is decided when it is compared."""
    file = Sent(location="a.wav", algorithm="SHA-256", digest="q83v", data_type="Binary64")

    named = read(Sending(version="43", tracks=[Track(isrc="A", files=[file])])).recordings[0].files[0]

    assert (named.algorithm, named.digest, named.declared) == ("SHA-256", "q83v", None)


MD5 = "d41d8cd98f00b204e9800998ecf8427e"


@pytest.mark.parametrize(
    ("file", "declared"),
    [
        (MessageFile("a.wav", "T1", "12", "MD5", MD5.upper()), Declared(size_bytes=12, digests={"md5": MD5})),
        (MessageFile("a.wav", "T1", "", "MD5", "1B2M2Y8AsgTpgAmY7PhCfg=="), Declared(digests={"md5": MD5})),
        (MessageFile("a.wav", "T1", "12", "UserDefined", MD5), Declared(size_bytes=12)),
        (MessageFile("a.wav", "T1", "12 MB", "MD5", "no digest"), None),
        (MessageFile("a.wav", "T1", "9" * 19, "CRC32", "00000000"), None),
        (MessageFile("a.wav", "T1", "-1", "", ""), None),
        (MessageFile("a.wav"), None),
    ],
)
def test_only_what_can_be_compared_is_declared(file: MessageFile, declared: Declared | None) -> None:
    """A digest of another algorithm, or one that is malformed, is never damage."""
    assert file.declared == declared


def test_namespace_of_another_standard_has_no_version() -> None:
    """DDEX has other standards than ERN."""
    assert version_in("http://ddex.net/xml/dsr/20") is None
