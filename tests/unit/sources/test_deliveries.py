"""A scan takes deliveries as their messages describe them."""

import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import CatalogError, EmptyCatalog, ResourceShortage, SourceError
from proofsweep.domain.items import ManifestRow, item_id_of
from proofsweep.domain.reasons import Reason, about
from proofsweep.files.files import Files
from proofsweep.files.folder_listing import Cause
from proofsweep.files.open_file import OpenFile
from proofsweep.sources.catalog import DeliveryCounts
from proofsweep.sources.ddex_files import candidates
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.preflight import work_item_of
from tests.worlds.ddex_messages import Sending, Track, batch_manifest, purge, put_release, sent

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "


def scan(folder: Path) -> FolderScan:
    catalog = open_catalog(str(folder))
    assert isinstance(catalog, FolderScan)
    return catalog


def told(catalog: FolderScan, tag: str = "isrc") -> dict[str, str]:
    """Return why each row is not sent, or its tag, by its name as seen from the folder."""
    rows = {row.named_audio: (work_item_of(row, catalog.name, "sidecar"), row) for row in catalog.rows()}
    return {
        name: str(item.ineligible.reason) if item.ineligible else row.tags.get(tag, "plain")
        for name, (item, row) in rows.items()
    }


def release(folder: Path, *names: str, put: Iterable[str] | None = None, **facts: object) -> Path:
    """Put a release whose recordings are in these files; `put` are those that are there, by default all."""
    tracks = [Track(isrc=f"I{number}", files=[name]) for number, name in enumerate(names, 1)]
    sending = Sending(**({"icpn": folder.name, "tracks": tracks} | facts))  # type: ignore[arg-type]  # as told
    return put_release(folder, sending, dict.fromkeys(names if put is None else put, WAVE))


def test_findings_are_rows(tmp_path: Path) -> None:
    """What was named and not sent, what was sent and not named, and what cannot be read."""
    release(tmp_path / "1", "a.wav", "gone.wav", put=["a.wav", "extra.wav"])
    broken = release(tmp_path / "2", "b.wav")
    broken.write_bytes(broken.read_bytes()[:300])

    catalog = scan(tmp_path)

    found = told(catalog)
    assert (found.pop("1/a.wav"), found.pop("1/gone.wav")) == ("I1", "missing_audio")
    # A message that cannot be read may name its file: that no message names it would be another finding, and untrue.
    assert found == {"1/extra.wav": "not_in_message"} | dict.fromkeys(["2/2.xml", "2/b.wav"], "unreadable_message")
    assert catalog.deliveries == DeliveryCounts(batches=1, releases=1, files=2, missing=1, unnamed=1, unreadable=1)
    details = {row.named_audio: row.refused.detail for row in catalog.rows() if row.refused}
    assert details["1/gone.wav"] == "1/1.xml names this file, and it is not in the delivery."
    assert details["2/b.wav"] == "2.xml cannot be read, and may name the file."
    assert details["2/2.xml"].startswith("It is no well-formed XML: ")


def test_batch_is_the_folder_of_its_completion_file(tmp_path: Path) -> None:
    """Or that of several releases; a release that came alone is a batch of its own."""
    release(tmp_path / "B1" / "1", "a.wav")
    (tmp_path / "B1" / "manifest.xml").write_bytes(batch_manifest("B1", ["1/1.xml"]))
    release(tmp_path / "B2" / "2", "a.wav")
    release(tmp_path / "B2" / "3", "a.wav")
    release(tmp_path / "B3" / "4", "a.wav")
    release(tmp_path / "B4" / "5", "a.wav")
    (tmp_path / "B4" / "BatchComplete_B4.xml").touch()

    catalog = scan(tmp_path)
    tags = told(catalog, "batch")
    batches = {Path(location).name: batch for location, batch in catalog.batches.items()}

    assert tags == {"B1/1/a.wav": "B1", "B2/2/a.wav": "B2", "B2/3/a.wav": "B2", "B3/4/a.wav": "4", "B4/5/a.wav": "B4"}
    completions = {name: batch.completion and Path(batch.completion).name for name, batch in batches.items()}
    assert completions == {"B1": "manifest.xml", "B2": None, "4": None, "B4": "BatchComplete_B4.xml"}
    assert [*batches["B2"].releases] == [str(tmp_path / "B2" / name) for name in ("2", "3")]
    assert (batches["B1"].location, [*batches["B1"].releases]) == (str(tmp_path / "B1"), [str(tmp_path / "B1" / "1")])


def test_each_delivery_of_a_release_stands_by_itself(tmp_path: Path) -> None:
    """Each file is a row, with the metadata of its own message; of the same file, the newest has the item's ID."""
    files = dict.fromkeys(("1.wav", "2.wav"), WAVE)
    tracks = [Track(isrc=name, title=name, files=[name]) for name in files]
    put_release(tmp_path / "B1" / "111", Sending(icpn="111", tracks=tracks), files)
    alone = {row.named_audio: item_id_of(row, "x") for row in scan(tmp_path).rows()}
    later = [replace(track, title=f"{track.title}!") for track in reversed(tracks)]
    update = Sending(icpn="111", message_id="M-2", created="2026-11-02T00:00:00Z", tracks=later)
    put_release(tmp_path / "B0" / "111", update, {"1.wav": WAVE})

    catalog = scan(tmp_path)

    assert told(catalog, "title") == {"B0/111/1.wav": "1.wav!", "B1/111/1.wav": "1.wav", "B1/111/2.wav": "2.wav"}
    found = {row.named_audio: item_id_of(row, "x") for row in catalog.rows()}
    assert found["B0/111/1.wav"] == alone["B1/111/1.wav"]
    assert found["B1/111/2.wav"] == alone["B1/111/2.wav"]
    assert len({*found.values()}) == 3


def test_a_file_that_another_delivery_of_the_release_has_is_not_missing(tmp_path: Path) -> None:
    """An update repeats what its release holds, and comes without audio."""
    release(tmp_path / "B1" / "111", "1.wav")
    release(tmp_path / "B2" / "111", "1.wav", "2.wav", put=[], created="2026-11-02T00:00:00Z")

    assert told(scan(tmp_path)) == {"B1/111/1.wav": "I1", "B2/111/2.wav": "missing_audio"}


def test_item_id_stays_the_same(tmp_path: Path) -> None:
    """It is of the sender, the release and the file, and of nothing else: neither the message nor its references."""
    one = {"icpn": "111", "tracks": [Track(isrc="A", files=["a.wav"]), Track(isrc="B", files=["b.wav"])]}
    turned = one | {"message_id": "M-9", "title": "Other", "tracks": [*reversed(one["tracks"])]}  # type: ignore[call-overload]  # as told
    others = [one | {"icpn": "222"}, one | {"sender": "X"}, one | {"is_test": True}]
    found = []
    for number, facts in enumerate([one, turned, *others]):
        release(tmp_path / str(number) / "r", "a.wav", "b.wav", **facts)
        rows = scan(tmp_path / str(number)).rows()
        found.append({row.named_audio: row.item_id for row in rows})

    assert found[0] == found[1]
    assert len({item_id for each in found for item_id in each.values()}) == 8


def test_a_file_of_two_releases_is_one_row_of_both(tmp_path: Path) -> None:
    """A purge of one withdraws nothing of the other, and both digests are compared."""
    single = [Track(isrc="S", files=[sent("1.wav", WAVE)])]
    album = [Track(isrc="A", files=[sent("1.wav", WAVE, "SHA-256")])]
    put_release(tmp_path / "B" / "m", Sending(icpn="111", tracks=single), {"1.wav": WAVE}).rename(
        tmp_path / "B/m/s.xml"
    )
    put_release(tmp_path / "B" / "m", Sending(icpn="222", tracks=album))

    (row,) = scan(tmp_path).rows()
    (tmp_path / "purge").mkdir()
    (tmp_path / "purge" / "purge.xml").write_bytes(purge(Sending(icpn="111", created="2026-11-02T00:00:00Z")))
    (left,) = scan(tmp_path).rows()

    assert row.declared is not None
    assert [*row.declared.digests] == ["sha256", "md5"] or [*row.declared.digests] == ["md5", "sha256"]
    assert (left.refused, left.tags["icpn"], left.tags["isrc"]) == (None, "222", "A")


def test_clips_and_videos_are_rows_that_are_not_sent(tmp_path: Path) -> None:
    """A cover that moves is none: its name is that of audio, and it holds a film."""
    tracks = [Track(isrc="I1", files=["1.wav"]), Track(isrc="I1", files=["clip.wav"], is_clip=True)]
    film = b"\0\0\0\x18ftypisom" + bytes(12) + b"\0\0\0\x20moov" + b"\0\0\0\x18hdlr" + bytes(8) + b"vide" + bytes(4)
    sending = Sending(icpn="111", tracks=tracks, videos=["film.mp4"], images=["cover.mp4"])
    put_release(tmp_path / "1", sending, {"1.wav": WAVE, "clip.wav": WAVE, "film.mp4": film, "cover.mp4": film})

    catalog = scan(tmp_path)

    assert told(catalog) == {"1/1.wav": "I1", "1/clip.wav": "clip", "1/film.mp4": "clip"}
    assert catalog.ignored[Cause.NOT_AUDIO] == 1  # the cover


def test_an_excluded_file_is_left_out_although_a_message_names_it(tmp_path: Path) -> None:
    """A person excludes it; a hidden one that a message names is meant."""
    release(tmp_path / "1", "a.wav", "_b.wav", ".c.wav")

    catalog = open_catalog(str(tmp_path), CatalogSettings(exclude=("_*",)))

    assert [row.named_audio for row in catalog.rows()] == ["1/a.wav", "1/.c.wav"]


@pytest.mark.parametrize(
    ("place", "is_delivery"),
    [("", False), ("acme", False), ("acme/r1", True), ("r1", True), ("20261101120000000", True)],
)
def test_a_message_among_the_folders_of_suppliers_takes_nothing_along(
    tmp_path: Path, place: str, *, is_delivery: bool
) -> None:
    """In a watched folder it is named; in the folder of a release, or of a batch, it speaks of all that lies below."""
    (tmp_path / place / "north").mkdir(parents=True)
    (tmp_path / place / "north" / "a.wav").write_bytes(WAVE)
    message = tmp_path / place / "r1.xml"
    message.write_bytes(Sending(tracks=[Track(isrc="I1", files=["gone.wav"])]).content())
    catalog = scan(tmp_path)
    catalog.is_watched = True

    found = {row.named_audio: row.batch is not None for row in catalog.rows()}

    assert found[str(message.parent.relative_to(tmp_path) / "north/a.wav")] == is_delivery
    assert catalog.strays == ([] if is_delivery else [str(message)])


def test_rows_tell_by_what_they_are_judged(tmp_path: Path) -> None:
    """A message or a list that is corrected makes another version of what it says."""
    message = release(tmp_path / "1", "a.wav")
    (tmp_path / "b.wav").write_bytes(WAVE)
    (tmp_path / "c.wav").write_bytes(WAVE)
    (tmp_path / "b.wav.md5").write_text("0" * 32)
    before = {row.named_audio: row.judged_by for row in scan(tmp_path).rows()}
    os.utime(message, (1, 1))
    os.utime(tmp_path / "b.wav.md5", (1, 1))

    after = {row.named_audio: row.judged_by for row in scan(tmp_path).rows()}

    assert (before["c.wav"], after["c.wav"]) == ("", "")
    assert {name for name in before if before[name] != after[name]} == {"1/a.wav", "b.wav"}


def test_messages_without_audio_are_named(tmp_path: Path) -> None:
    """They are no catalog to verify, and neither is it empty."""
    release(tmp_path / "1")

    with pytest.raises(EmptyCatalog, match="no audio in this folder: 1 batches, 1 releases without audio"):
        list(scan(tmp_path).rows())


@pytest.mark.parametrize("written", ["../../secret.wav", "..%2f..%2fsecret.wav", "..\\..\\secret.wav"])
def test_location_outside_of_the_release_is_refused(tmp_path: Path, written: str) -> None:
    """However it is written, and whether a file is there or not."""
    (tmp_path / "secret.wav").write_bytes(WAVE)
    release(tmp_path / "B" / "1", written, put=[])
    release(tmp_path / "B" / "2", "a.wav")

    assert told(scan(tmp_path / "B")) == {str(tmp_path / "secret.wav"): "outside_catalog", "2/a.wav": "I1"}


def test_message_stands_for_its_folder(tmp_path: Path) -> None:
    """So does a completion file for the folder of its batch."""
    named = release(tmp_path / "1", "a.wav", put=["a.wav", "b.wav"])
    (tmp_path / "manifest.xml").write_bytes(batch_manifest("B", ["1/1.xml"]))

    assert [row.named_audio for row in open_catalog(str(named)).rows()] == ["a.wav", "b.wav"]
    assert open_catalog(str(tmp_path / "manifest.xml")).location == str(tmp_path)


def test_scan_gives_the_same_rows_again(tmp_path: Path) -> None:
    """A catalog is read more than once; its digest changes with a message, and a condition may name its tags."""
    path = release(tmp_path / "1", "a.wav", "gone.wav", put=["a.wav"])
    catalog = scan(tmp_path)
    assert "isrc" in catalog.tag_names()

    first: list[ManifestRow] = list(catalog.rows())

    assert list(catalog.rows()) == first
    assert catalog.deliveries == DeliveryCounts(batches=1, releases=1, files=2, missing=1)
    assert catalog.digest() == scan(tmp_path).digest()
    os.utime(path, (1, 1))
    assert catalog.digest() != scan(tmp_path).digest()


MANIFESTS = {
    "there": (batch_manifest("B", ["/x/r1/m.xml", "r%31\\r1.xml", "M-1", "sftp://h/r1/r1.XML", "x/111.xml"]), []),
    "not there": (batch_manifest("B", ["./r2/r2.xml", "r1/r1.xml"]), ["r2/r2.xml"]),
    "cut short": (b"<ManifestMessage><MessageInBatch>", []),
    "nothing named": (b"<ManifestMessage><MessageInBatch/></ManifestMessage>", []),
}


@pytest.mark.parametrize(("content", "absent"), MANIFESTS.values(), ids=MANIFESTS)
def test_message_that_is_named_and_not_sent_is_a_finding(tmp_path: Path, content: bytes, absent: list[str]) -> None:
    """It is known again by its ID or its folder, however its location is written."""
    release(tmp_path / "B" / "r1", "a.wav", icpn="111", message_id="M-1")
    (tmp_path / "B" / "manifest.xml").write_bytes(content)

    catalog = scan(tmp_path / "B")

    assert told(catalog) == {"r1/a.wav": "I1"} | dict.fromkeys(absent, "missing_audio")


def test_messages_of_a_batch_may_lie_in_its_folder(tmp_path: Path) -> None:
    """Each is known by its ID or its location, be it the newest or one that cannot be read."""
    for number in (1, 2, 3):
        tracks = [Track(isrc=f"I{number}", files=[f"{number}.wav"])]
        sending = Sending(icpn=str(number), message_id=f"M-{number}", thread_id=str(number), tracks=tracks)
        put_release(tmp_path / "B", sending, {f"{number}.wav": WAVE}).rename(tmp_path / "B" / f"m{number}.xml")
    (tmp_path / "B" / "m3.xml").write_bytes(b"<NewReleaseMessage>")
    (tmp_path / "B" / "manifest.xml").write_bytes(batch_manifest("B", ["M-1", "m2.xml", "m3.xml", "m4.xml"]))

    catalog = scan(tmp_path / "B")

    found = {"1.wav": "I1", "2.wav": "I2"} | dict.fromkeys(["3.wav", "m3.xml"], "unreadable_message")
    assert told(catalog) == found | {"m4.xml": "missing_audio"}
    assert catalog.deliveries == DeliveryCounts(batches=1, releases=2, files=2, missing=1, unreadable=1)


class Failing(Files):
    """Files of which those with an ending cannot be opened."""

    def __init__(self, ending: str, error: SourceError) -> None:
        super().__init__()
        self._ending, self._error = ending, error

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile | None:
        if location.endswith(self._ending):
            raise self._error
        return super().open(location, is_whole=is_whole)


def test_a_message_that_may_not_be_opened_is_a_finding_and_its_files_are_not_sent(tmp_path: Path) -> None:
    """It may be a test. The permission is ours to give, so no supplier is told. Other XML is no message then."""
    release(tmp_path / "1", "a.wav", is_test=True)
    release(tmp_path / "2", "b.wav")
    (tmp_path / "2" / "notes.xml").touch()

    for name, found in {
        "1/1.xml": dict.fromkeys(["1/1.xml", "1/a.wav"], "closed_message") | {"2/b.wav": "I1"},
        "notes.xml": {"1/a.wav": "test_message", "2/b.wav": "I1"},
    }.items():
        error = SourceError("The file cannot be read: Permission denied.", reason=Reason.UNREADABLE_FILE)
        assert told(FolderScan(str(tmp_path), Failing(name, error))) == found
    assert (about("closed_message").at_fault, about("closed_message").tells_supplier) == ("our side", False)


@pytest.mark.parametrize("kind", [SourceError, ResourceShortage])
@pytest.mark.parametrize("name", ["1.xml", "s.mp3", "take.001"])
def test_nothing_is_planned_while_a_deciding_file_is_away(tmp_path: Path, name: str, kind: type[SourceError]) -> None:
    """Without its message a delivery would be loose files, and a pair would be two files that claim a sidecar."""
    release(tmp_path / "1", "a.wav")
    for each in ("s.mp3", "s.wav", "s.sidecar", "take.001"):
        (tmp_path / each).write_bytes(WAVE)
    scanned = FolderScan(str(tmp_path), Failing(name, kind("It is away.", reason=Reason.SOURCE_UNAVAILABLE)))

    if (name, kind) == ("take.001", SourceError):  # it decides about itself alone
        assert len(list(scanned.rows())) == 3
        return
    with pytest.raises(CatalogError, match=r"cannot be listed\. .*It is away\.$"):
        list(scanned.rows())
    if name == "1.xml":
        with pytest.raises(CatalogError, match=rf"{tmp_path}/1/1.xml: It is away\."):
            scanned.tag_names()


def test_plain_audio_beside_a_delivery_is_as_before(tmp_path: Path) -> None:
    """Its rows, item IDs and tags do not change; other XML is no message."""
    for name, content in {"a.wav": WAVE, "list.xml": b"<plist/>"}.items():
        (tmp_path / name).write_bytes(content)
    before = scan(tmp_path)
    (plain,) = before.rows()
    assert (before.tag_names(), before.deliveries, before.ignored[Cause.NOT_AUDIO]) == ([], None, 1)

    release(tmp_path / "111", "1.wav")

    assert next(iter(scan(tmp_path).rows())) == plain


@pytest.mark.parametrize(
    ("facts", "is_same"),
    [
        ({}, True),
        ({"sender": "X"}, False),
        ({"icpn": "222"}, False),  # one thread ID for a whole batch joins nothing
        ({"is_test": True}, False),
        ({"icpn": "", "catalog_number": ""}, False),
    ],
)
def test_an_item_is_known_by_its_sender_and_release(tmp_path: Path, facts: dict[str, str], *, is_same: bool) -> None:
    """A watched folder takes one after another; a test is no live release."""
    release(tmp_path / "B1" / "111", "1.wav", icpn="111")
    release(tmp_path / "B2" / "111", "1.wav", created="2026-11-02T00:00:00Z", **({"icpn": "111"} | facts))
    catalog = scan(tmp_path)
    catalog.is_watched = True

    assert len({row.item_id for row in catalog.rows()}) == 2 - is_same


@pytest.mark.parametrize(
    ("facts", "is_withdrawn"),
    [
        ({"created": "2026-11-03T00:00:00Z"}, True),
        ({"created": ""}, True),  # without a date: somebody wants it gone
        ({"created": "2026-10-01T00:00:00Z"}, False),  # what is sent later is a release again
        ({"sender": "X", "created": ""}, False),
        ({"icpn": "222", "created": ""}, False),
        ({"is_test": True, "created": ""}, False),
    ],
)
def test_purge_withdraws_what_its_sender_sent(tmp_path: Path, facts: dict[str, str], *, is_withdrawn: bool) -> None:
    """Nobody withdraws the releases of others, and a test withdraws none."""
    release(tmp_path / "111", "1.wav")
    (tmp_path / "purge").mkdir()
    (tmp_path / "purge" / "purge.xml").write_bytes(purge(Sending(**({"icpn": "111"} | facts))))  # type: ignore[arg-type]  # as told

    assert told(scan(tmp_path)) == {"111/1.wav": "withdrawn" if is_withdrawn else "I1"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a.wav", "resources/a.wav"),
        ("resources/a.wav", "a.wav"),
        ("resources\\a.wav", "resources/a.wav"),
        ("resources%2Fa.wav", "resources/a.wav"),
        ("sftp://host/drop/111/resources/a%20b.wav", "resources/a b.wav"),
        ("https://host/a.wav?signature=x", "a.wav"),
        ("/mnt/export/a.wav", "resources/a.wav"),
        ("C:\\export\\a.wav", "a.wav"),
    ],
)
def test_location_means_a_path(written: str, meant: str) -> None:
    """It may be written as a URI, as Windows does, or as on the sender's machine; the likeliest path comes first."""
    assert meant in candidates(written)
    assert list(islice(candidates("a%20b.wav"), 2)) == ["a%20b.wav", "resources/a%20b.wav"]
    assert list(candidates("")) == []


@pytest.mark.parametrize(
    ("named", "there"),
    [
        ("resources/Track1.WAV", "resources/track1.wav"),
        ("Track1.wav", "Resources/TRACK1.wav"),
        ("resources/a.wav ", "resources/a.wav"),
        ("resources/Warum?.wav", "resources/Warum\uf025.wav"),
        ("back\\slash.wav", "back\\slash.wav"),
        ("resources/back\\slash.wav", "resources/back\\slash.wav"),
    ],
)
def test_a_named_file_is_found_under_another_spelling(tmp_path: Path, named: str, there: str) -> None:
    """As lists find theirs; the row has the name that is there."""
    release(tmp_path / "1", named, put=[there])

    assert told(scan(tmp_path)) == {f"1/{there}": "I1"}


def test_the_very_name_elsewhere_goes_before_another_spelling(tmp_path: Path) -> None:
    """A message may give a name alone, whose file lies in the folder of resources."""
    release(tmp_path / "1", "a.wav", put=["A.wav", "resources/a.wav"])

    assert told(scan(tmp_path)) == {"1/resources/a.wav": "I1", "1/A.wav": "not_in_message"}


def test_the_name_that_is_nearest_to_a_missing_one_is_told(tmp_path: Path) -> None:
    """Also where the message gives the name alone."""
    release(tmp_path / "1", "Lied 1.wav", put=["resources/Lied 01.wav"])

    details = [row.refused.detail for row in scan(tmp_path).rows() if row.refused]

    assert "There is no 'Lied 1.wav'; the nearest is 'Lied 01.wav'." in details[1]


def test_a_named_file_that_is_still_written_is_not_sent(tmp_path: Path) -> None:
    """A mark lies beside it; one that the message gives an unfinished name is meant so."""
    release(tmp_path / "1", "a.wav", "b.wav.tmp", put=["a.wav", "a.wav.aria2", "b.wav.tmp"])

    assert told(scan(tmp_path)) == {"1/a.wav": "unfinished", "1/b.wav.tmp": "I2"}
