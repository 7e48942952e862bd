"""XML beside audio: messages of every version are read alike, and what is none is known."""

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.config.sections import USUAL_COMPLETION_FILES
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import Declared
from proofsweep.domain.reasons import Reason
from proofsweep.files.files import Files
from proofsweep.sources.bounded_xml import read_xml
from proofsweep.sources.ddex_message import CompletionNames, ErnMessage, Role, examine, read_message
from tests.unit.files.held_file import HeldFile
from tests.worlds.ddex_messages import ERN_4_1, ERN_4_3, SENDER, VERSIONS, Sending, Sent, Track, purge, sent
from tests.worlds.ddex_messages import batch_manifest as manifest

OCEAN = sent("resources/0094631432057_01_001.flac", b"ocean")
MD5 = "d41d8cd98f00b204e9800998ecf8427e"
GOOD = Sending().content()
OTHER_ERN = Sending(namespace="http://ddex.net/xml/ern/50").content()
LAUGHS = b'<!DOCTYPE a [<!ENTITY x "x">]><ern:NewReleaseMessage xmlns:ern="http://ddex.net/xml/ern/43"/>'


def read(sending: Sending | bytes) -> ErnMessage:
    content = sending if isinstance(sending, bytes) else sending.content()
    return read_message(HeldFile(content), "/b/r/m.xml")


def tracks(*isrcs: str, files: Iterable[str] = ("a.wav",), **facts: object) -> list[Track]:
    return [Track(isrc=isrc, files=[*files], **facts) for isrc in isrcs]  # type: ignore[arg-type]  # as told


@pytest.mark.parametrize("version", VERSIONS)
def test_message_of_each_version_is_read(version: str) -> None:
    """All that is asked of a message stands in each version, at its own place."""
    recordings = (
        Track(isrc="QZES71982312", title="Ocean", subtitle="Live", artist="Mara", files=[OCEAN, "resources/1.mp3"]),
        Track(isrc="QZES71982313", title="Shore", artist="Tom", files=["resources/disc 1/2.flac"]),
        Track(isrc="QZES71982314", title="Ocean (30 s)", files=["clip.wav"], is_clip=True),
    )
    live = {"isrc": "QZES71982312", "title": "Ocean (Live)", "artist": "Mara"}
    shore = {"isrc": "QZES71982313", "title": "Shore", "artist": "Tom"}
    declared = Declared(size_bytes=OCEAN.size_bytes, digests={"md5": OCEAN.digest})
    sending = Sending(version=version, tracks=recordings, images=["resources/cover.jpg"], grid="A10302B0000114894T")

    found = read(replace(sending, videos=["resources/film.mp4"]))

    assert found == ErnMessage(
        location="/b/r/m.xml",
        is_purge=False,
        is_test=False,
        message_id="M-1",
        thread_id="T-1",
        created=1793534400.0,
        sender=SENDER,
        ids=("ICPN:0094631432057", "GRid:A10302B0000114894T"),
        tags={"release_title": "Tides", "label": "Seed Records", "catalog_number": "SEED 001"}
        | {"icpn": "0094631432057", "grid": "A10302B0000114894T"}
        | {"sender": SENDER, "message_id": "M-1", "thread_id": "T-1"},
        files=found.files,
    )
    named = [(file.role, file.locations[0], file.declared, file.tags) for file in found.files]
    assert named[:3] == [
        (Role.RECORDING, OCEAN.location, declared, live),
        (Role.RECORDING, "resources/1.mp3", None, live),
        (Role.RECORDING, "resources/disc 1/2.flac", None, shore),
    ]
    others = [(Role.CLIP, "clip.wav"), (Role.OTHER, "resources/cover.jpg"), (Role.VIDEO, "resources/film.mp4")]
    assert [(role, location) for role, location, _, _ in named[3:]] == others
    bare = read(Sending(version=version, icpn="", catalog_number="", sender="", tracks=[Track(isrc="A")]))
    assert (bare.release_id, bare.ids, bare.sender) == ("", (), "Seed Distribution"), "a sender without a DPID"
    withdrawal = read(purge(replace(sending, is_test=True)))
    assert (withdrawal.is_purge, withdrawal.is_test, withdrawal.sender) == (True, True, SENDER)
    assert withdrawal.release_id == "0094631432057"


@pytest.mark.parametrize("version", [*ERN_4_1, *ERN_4_3])
def test_what_is_not_in_the_delivery_is_not_named(version: str) -> None:
    """The standard's word for it is `IsProvidedInDelivery`."""
    found = read(Sending(version=version, tracks=[*tracks("A", is_provided=False), *tracks("B", is_provided=True)]))

    assert [file.tags["isrc"] for file in found.files] == ["B"]


@pytest.mark.parametrize("version", ["382", "41", "43"])
def test_the_file_of_a_fingerprint_is_no_recording(version: str) -> None:
    """It stands below the technical details too, and holds no music."""
    sending = Sending(version=version, tracks=tracks("A", files=["resources/01.wav"]))
    where = "<FileName>01.afp</FileName>" if version == "382" else "<URI>resources/01.afp</URI>"
    fingerprint = f"<Fingerprint><Algorithm>X</Algorithm><File>{where}</File></Fingerprint>"
    text = sending.text().replace("</File>", f"</File>{fingerprint}", 1)

    assert [file.locations[0] for file in read(text.encode()).files] == ["resources/01.wav"]


@pytest.mark.parametrize(
    ("written", "locations"),
    [
        ("<FileName>1.wav</FileName><FilePath>audio/</FilePath>", ("audio/1.wav", "audio/", "1.wav")),
        (
            "<FileName>1.wav</FileName><FilePath>audio/1.wav</FilePath>",
            ("audio/1.wav/1.wav", "audio/1.wav", "1.wav"),
        ),
        ("<FileName>1.wav</FileName><URL>https://h/1.wav</URL>", ("1.wav", "https://h/1.wav")),
        ("<URI>sftp://h/1.wav</URI><FileName>1.wav</FileName>", ("1.wav", "sftp://h/1.wav")),
    ],
)
def test_each_location_that_a_message_gives_is_kept(written: str, locations: tuple[str, ...]) -> None:
    """Senders fill these elements as they like; a URL of another machine is tried last."""
    text = Sending(version="43", tracks=tracks("A")).text().replace("<URI>a.wav</URI>", written)

    assert [file.locations for file in read(text.encode()).files] == [locations]


def test_each_edition_has_its_own_isrc() -> None:
    """From 4.3 on, a recording may have a stereo and an immersive edition, each with files."""
    text = Sending(version="43", tracks=tracks("QZES71982312", files=["stereo.wav"])).text()
    edition = text[text.index("<SoundRecordingEdition>") : text.index("</SoundRecordingEdition>")]
    immersive = edition.replace("QZES71982312", "QZES71982399").replace("stereo.wav", "immersive.wav")

    found = read(text.replace(edition, f"{edition}</SoundRecordingEdition>{immersive}").encode())

    names = [(file.tags["isrc"], file.tags["title"], file.locations[0]) for file in found.files]
    assert names == [("QZES71982312", "Ocean", "stereo.wav"), ("QZES71982399", "Ocean", "immersive.wav")]


@pytest.mark.parametrize(
    ("size", "algorithm", "digest", "declared"),
    [
        ("12", "MD5", MD5.upper(), Declared(size_bytes=12, digests={"md5": MD5})),
        ("", "MD5", "1B2M2Y8AsgTpgAmY7PhCfg==", Declared(digests={"md5": MD5})),
        ("12", "UserDefined", MD5, Declared(size_bytes=12)),
        ("12 MB", "MD5", "no digest", None),
        ("9" * 19, "CRC32", "00000000", None),
    ],
)
def test_only_what_can_be_compared_is_declared(
    size: str, algorithm: str, digest: str, declared: Declared | None
) -> None:
    """A digest of another algorithm, or one that is malformed, is never damage."""
    named = Sent(location="a.wav", size_bytes=size, algorithm=algorithm, digest=digest)  # type: ignore[arg-type]  # as told

    (file,) = read(Sending(version="43", tracks=[Track(isrc="A", files=[named])])).files

    assert file.declared == declared


@pytest.mark.parametrize(
    ("content", "is_cut_short"),
    [
        (GOOD[:300], True),
        (GOOD[:-5], True),
        (b"", True),
        (GOOD.replace(b"MessageThreadId>", b"Thread>", 1), False),
        (b"<NewReleaseMessage/>", False),
        (GOOD.decode().replace("UTF-8", "UTF-16").encode("utf-16")[:-40], True),
        (manifest("b", ["1/1.xml"])[:-10], True),
    ],
)
def test_a_message_that_ends_too_early_is_told_from_a_broken_one(
    tmp_path: Path, content: bytes, *, is_cut_short: bool
) -> None:
    """The rest of it may still be on its way."""
    (path := tmp_path / "111" / "111.xml").parent.mkdir()
    path.write_bytes(content)

    found = examine(str(path), Files())

    assert found is not None
    assert (found.message, found.is_cut_short) == (None, is_cut_short)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("BatchComplete_20261101120000000.xml", True),
        ("batch_complete", True),
        ("delivery.complete", True),
        ("20261101120000000.COMPLETE", True),
        ("song.wav.complete", False),
        ("done[1].txt", False),
    ],
)
def test_a_completion_file_is_known_by_its_name(name: str, *, is_one: bool) -> None:
    """By one of several specifications, or by the setting."""
    usual = CompletionNames(USUAL_COMPLETION_FILES)

    assert usual.cover(f"/in/20261101120000000/{name}") == is_one
    assert CompletionNames(["done*"]).cover(f"/in/x/{name}") == name.startswith("done")


@pytest.mark.parametrize(
    ("name", "content", "is_message", "error"),
    [
        ("111.xml", GOOD, True, None),
        ("any.XML", purge(Sending()), True, None),
        ("any.xml", LAUGHS, True, "It has a DTD (DOCTYPE), which no message may have."),
        ("any.xml", b"<NewReleaseMessage/>", True, "Its namespace is none, which is no version of ERN"),
        ("any.xml", OTHER_ERN, True, "It is of ERN 5.0; versions 3 and 4 can be read"),
        ("111.xml", b"<html/>", True, "Its root element is html, not NewReleaseMessage or PurgeReleaseMessage"),
        ("111.xml", b"", True, "It is empty."),
        ("111.xml", b"<html><p></html>", True, "It is no well-formed XML: "),
        ("any.xml", b"<plist/>", False, None),
        ("any.xml", manifest("b", ["1/1.xml"]), False, None),
        ("any.xml", manifest("b", ["1/1.xml"])[:-10], False, None),  # it may still be on its way
    ],
)
def test_message_is_known_by_its_root(
    tmp_path: Path, name: str, content: bytes, error: str | None, *, is_message: bool
) -> None:
    """A broken one is known by its root, too, or by the name of its folder."""
    (path := tmp_path / "111_20240607170334436" / name).parent.mkdir()
    path.write_bytes(content)

    found = examine(str(path), Files())

    assert found is not None
    assert found.is_message == is_message
    assert (found.error or "").startswith(error or "")
    assert (found.error is None) == (error is None)
    assert found.is_completion == (b"</echo:ManifestMessage>" in content)


ENTITIES = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
HOSTILE = {
    "billion laughs": f'<!DOCTYPE a [<!ENTITY l0 "lol">{ENTITIES}]><a>&l9;</a>'.encode(),
    "laughs in UTF-16": f'<!DOCTYPE a [<!ENTITY l0 "lol">{ENTITIES}]><a>&l9;</a>'.encode("utf-16"),
    "external entity": b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    "entity without DTD": b"<a>&x;</a>",
    "deep nesting": b"<a>" * 100_000 + b"</a>" * 100_000,
    "too many elements": b"<a>" + b"<b/>" * 1_000_000 + b"</a>",
    "too many attributes": b"<a " + b"".join(b'a%d="" ' % n for n in range(900_000)) + b"/>",
    "wrong encoding": b'<?xml version="1.0" encoding="UTF-16"?><a/>',
    "unknown encoding": b'<?xml version="1.0" encoding="no-such"?><a>\xff</a>',
    "not UTF-8": b"<a>\xff\xfe\xfa</a>",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_xml_is_one_sentence(content: bytes) -> None:
    """Nothing in XML of others leads to more than a short line, nor to a file or a network."""
    with pytest.raises(SourceError) as raised:
        read_xml(HeldFile(content))

    assert raised.value.reason == Reason.UNREADABLE_MESSAGE
    assert raised.value.message.isprintable()
    assert raised.value.message.endswith(".")
    assert len(raised.value.message) < 250


def test_large_file_is_refused_by_its_size() -> None:
    with pytest.raises(SourceError, match=r"It has 2,147,483,648 bytes; a message has at most 33,554,432"):
        read_xml(HeldFile(b"<a/>", 2 * 1024**3))


def test_a_message_of_very_many_recordings_takes_no_longer_for_each() -> None:
    """With squared time this would be twenty-five seconds of CPU, and a supplier could stop an ingest."""
    recordings = (f"<SoundRecording><File><URI>{n}.wav</URI></File></SoundRecording>" for n in range(30_000))
    text = Sending(version="43").text().replace("<ResourceList>", f"<ResourceList>{''.join(recordings)}")
    began = time.process_time()

    found = read(text.encode())

    assert time.process_time() - began < 10
    assert len(found.files) == 30_000


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252", "shift_jis"])
def test_declared_encoding_is_read(encoding: str) -> None:
    """A message may be in any encoding that it declares; the root alone may have a namespace, or all elements."""
    word = "海" if encoding == "shift_jis" else "Élise"
    declared = encoding.removesuffix("-sig")
    content = f'<?xml version="1.0" encoding="{declared}"?><a><b>{word}</b><c xmlns="v"><b>{word}</b></c></a>'

    root = read_xml(HeldFile(content.encode(encoding)))

    assert [root.findtext("b"), root.findtext("c/b")] == [word, word]
