"""Messages as distributors send them: what is read of them is what plain XPath finds at the standard's places.

The messages are made up. They have what those of several distributors and the standard's own samples have: releases of
tracks, technical details that are repeated for territories, previews, fingerprints, editions, and files that nobody
sends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest
from lxml import etree

from proofsweep.config.sections import CatalogSettings
from proofsweep.sources.ddex_message import ErnMessage, NamedFile, Role, read_message
from proofsweep.sources.open_catalog import open_catalog
from tests.unit.files.held_file import HeldFile

MESSAGES = Path(__file__).parent / "ern"
OLD = "//SoundRecordingDetailsByTerritory/TechnicalSoundRecordingDetails"
EDITION = "//SoundRecordingEdition/TechnicalDetails"


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where a version, or the program that wrote a message, puts things: XPath of elements without their namespaces."""

    recordings: str
    isrc: str = "ancestor::SoundRecording/SoundRecordingId/ISRC"  # as seen from a file
    location: str = "concat(FilePath, FileName)"
    digest: str = "HashSum/HashSum"
    clips: str = "//none"
    release: str = "//Release[@IsMainRelease='true']"
    sender: str = "//MessageSender/PartyId"


PLACES = {
    "album_382": Places(
        recordings=f"{OLD}[not(IsPreview='true')]/File",
        location="concat(FilePath[not(contains(., '.wav'))], FileName[not(contains(../FilePath, '.wav'))], "
        "FilePath[contains(., '.wav')])",
        clips=f"{OLD}[IsPreview='true']/File",
    ),
    "update_371": Places(recordings=f"{OLD}/File"),
    "single_38": Places(
        recordings="//SoundRecording/TechnicalSoundRecordingDetails/File",
        location="string(URL)",
        release="//Release",
        sender="//MessageSender/PartyName/FullName",
    ),
    "mix_411": Places(
        recordings="//SoundRecording/TechnicalDetails[not(IsPreview='true' or IsProvidedInDelivery='false')]/File",
        isrc="ancestor::SoundRecording/ResourceId/ISRC",
        location="normalize-space(URI)",
        digest="HashSum/HashSumValue",
        clips="//SoundRecording/TechnicalDetails[IsPreview='true']/File",
        release="//ReleaseList/Release",
    ),
    "album_43": Places(
        recordings=f"{EDITION}[not(IsClip='true')]/DeliveryFile[not(IsProvidedInDelivery='false')]/File",
        isrc="ancestor::SoundRecordingEdition/ResourceId/ISRC",
        location="string(URI)",
        digest="HashSum/HashSumValue[string-length(.) = 32]",  # some senders write an MD5 with 33 digits
        clips=f"{EDITION}[IsClip='true']/DeliveryFile/File",
        release="//ReleaseList/Release",
    ),
}


def content_of(name: str) -> bytes:
    return (MESSAGES / f"{name}.xml").read_bytes()


def plain(name: str) -> etree._Element:
    root = etree.fromstring(content_of(name))
    for element in root.iter("{*}*"):
        element.tag = etree.QName(element).localname
    return root


def texts(element: etree._Element, path: str) -> list[str]:
    return [(each.text or "").strip() for each in element.xpath(path)]


def of_role(message: ErnMessage, role: Role) -> list[NamedFile]:
    return [file for file in message.files if file.role is role]


def locations(root: etree._Element, path: str, places: Places) -> list[str]:
    return [str(file.xpath(places.location)) for file in root.xpath(path)]


@pytest.mark.parametrize("name", PLACES)
def test_files_recordings_and_ids_are_those_of_plain_xpath(name: str) -> None:
    """A file of each recording with its ISRC and digest; previews, films and covers apart; the main release's IDs."""
    root, places = plain(name), PLACES[name]

    message = read_message(HeldFile(content_of(name)), f"/b/r/{name}.xml")

    files, recordings = root.xpath(places.recordings), of_role(message, Role.RECORDING)
    for role, path in ((Role.RECORDING, places.recordings), (Role.CLIP, places.clips)):
        named = zip(of_role(message, role), locations(root, path, places), strict=True)
        assert all(location in file.locations for file, location in named)
    assert len(of_role(message, Role.VIDEO)) == len(root.xpath("//ResourceList/Video//File"))
    assert len(of_role(message, Role.OTHER)) == len(
        root.xpath("//ResourceList/Image//File | //ResourceList/Text//File")
    )
    assert [[file.tags["isrc"]] for file in recordings] == [texts(file, places.isrc) for file in files]
    digests = [[] if file.declared is None else [*file.declared.digests.values()] for file in recordings]
    assert digests == [[text.lower() for text in texts(file, places.digest)] for file in files]
    (release,) = root.xpath(places.release)
    ids = {
        f"{kind}:{text}" for kind in ("ICPN", "GRid", "ProprietaryId") for text in texts(release, f"ReleaseId/{kind}")
    }
    assert set(message.ids) == ids
    assert [message.sender] == texts(root, places.sender)


@pytest.mark.parametrize("name", PLACES)
def test_a_delivery_has_a_row_for_each_recording_that_was_sent(tmp_path: Path, name: str) -> None:
    """Once, however often it is named; a preview or a film is a row that costs nothing, and nothing is missing."""
    root, places = plain(name), PLACES[name]
    paths = dict.fromkeys((places.recordings, places.clips, "//ResourceList/Video//File"))
    named: Sequence[str] = [unquote(each) for path in paths for each in locations(root, path, places)]
    names = {each.partition("?")[0].rpartition("/")[2] for each in named}
    (tmp_path / name / "resources").mkdir(parents=True)
    (tmp_path / name / f"{name}.xml").write_bytes(content_of(name))
    for each in names:
        (tmp_path / name / "resources" / each).write_bytes(b"RIFF")

    catalog = open_catalog(str(tmp_path / name), CatalogSettings())
    rows = list(catalog.rows()) if names else []

    sent = {str(row.tags["isrc"]) for row in rows if row.refused is None}
    wanted = {isrc for file in root.xpath(places.recordings) for isrc in texts(file, places.isrc)}
    assert sent == wanted
    assert {Path(row.audio or "").name for row in rows} == names
    assert len(rows) == len(names)
    assert {row.refused.reason for row in rows if row.refused is not None} <= {"clip"}
