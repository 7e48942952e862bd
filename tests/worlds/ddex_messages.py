"""Writes DDEX messages as senders do: for each version of the ERN standard, its own names and places of things."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

ERN_3 = ("341", "351", "36", "37", "371", "38", "381", "382", "383")
ERN_4_1 = ("41", "411", "42")
ERN_4_3 = ("43", "431", "432")
VERSIONS = (*ERN_3, *ERN_4_1, *ERN_4_3)
SENDER = "PADPIDA2007050901U"


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A file that a message names; `digest` is written as it is, with its algorithm."""

    location: str
    algorithm: str = "MD5"
    digest: str = ""
    size_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Track:
    """A recording, with the files that hold it."""

    isrc: str
    files: Sequence[Sent | str] = ()
    title: str = "Ocean"
    subtitle: str = ""
    artist: str = "Mara & the Tides"
    is_clip: bool = False
    is_provided: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Sending:
    """A message: its header, the release and its recordings."""

    version: str = "382"
    message_id: str = "M-1"
    thread_id: str = "T-1"
    created: str = "2026-11-01T12:00:00+00:00"
    sender: str = SENDER
    is_test: bool = False
    icpn: str = "0094631432057"
    grid: str = ""
    catalog_number: str = "SEED 001"
    title: str = "Tides"
    label: str = "Seed Records"
    tracks: Sequence[Track] = ()
    images: Sequence[str] = ()
    videos: Sequence[str] = ()
    namespace: str = ""

    def text(self) -> str:
        is_old = self.version in ERN_3
        namespace = self.namespace or namespace_of(self.version)
        attributes = f'xmlns:ern="{namespace}"' + (f' MessageSchemaVersionId="ern/{self.version}"' if is_old else "")
        parts = [_leaf("UpdateIndicator", "OriginalMessage") if is_old else _parties(self)]
        parts += [_element("ResourceList", *_resources(self)), _releases(self), _deals(self)]
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<ern:NewReleaseMessage {attributes} LanguageAndScriptCode="en">'
            f"{_header(self)}{''.join(parts)}</ern:NewReleaseMessage>"
        )

    def content(self) -> bytes:
        """Return the message as the file holds it."""
        return self.text().encode()


def namespace_of(version: str) -> str:
    """Return the namespace of a version as senders write it."""
    host = "service.ddex.net" if version == "411" else "ddex.net"
    return f"http://{host}/xml/ern/{version}"


def purge(sending: Sending) -> bytes:
    """Return the message that withdraws a release."""
    body = _header(sending) + _element("PurgedRelease/ReleaseId", _ids(sending))
    namespace = namespace_of(sending.version)
    return f'<ern:PurgeReleaseMessage xmlns:ern="{namespace}">{body}</ern:PurgeReleaseMessage>'.encode()


def batch_manifest(batch: str, urls: Iterable[str]) -> bytes:
    """Return the file that says that a batch is sent."""
    kind = _leaf("MessageType", "NewReleaseMessage")
    named = [_element("MessageInBatch", kind, _leaf("MessageId", url), _leaf("URL", url)) for url in urls]
    body = _leaf("RootDirectory", f"/{batch}") + _leaf("NumberOfMessages", str(len(named))) + "".join(named)
    namespace = "http://ddex.net/xml/ern-c/14"
    return f'<echo:ManifestMessage xmlns:echo="{namespace}">{body}</echo:ManifestMessage>'.encode()


def sent(location: str, content: bytes, algorithm: str = "MD5") -> Sent:
    """Name a file with the digest and the size of its content."""
    name = algorithm.lower().replace("-", "")
    return Sent(
        location=location, algorithm=algorithm, digest=hashlib.new(name, content).hexdigest(), size_bytes=len(content)
    )


def put_release(folder: Path, sending: Sending, files: dict[str, bytes] | None = None) -> Path:
    """Write a message into a release's folder, and files beside it; give the message's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{folder.name}.xml"
    path.write_bytes(sending.content())
    for location, content in (files or {}).items():
        target = folder / location
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return path


def _leaf(path: str, text: object) -> str:
    """Write a text into an element, or into one inside others; without a text there is none of them."""
    return _element(path, escape(str(text))) if text not in ("", None) else ""


def _element(path: str, *parts: str) -> str:
    body = "".join(parts)
    for name in reversed(path.split("/")):
        body = f"<{name}>{body}</{name}>"
    return body


def _header(sending: Sending) -> str:
    return _element(
        "MessageHeader",
        _leaf("MessageThreadId", sending.thread_id),
        _leaf("MessageId", sending.message_id),
        _party("MessageSender", sending.sender, "Seed Distribution"),
        _party("MessageRecipient", "PADPIDA0000000001R", "A shop"),
        _leaf("MessageCreatedDateTime", sending.created),
        _leaf("MessageControlType", "TestMessage" if sending.is_test else "LiveMessage"),
    )


def _party(role: str, party: str, name: str) -> str:
    return _element(role, _leaf("PartyId", party), _leaf("PartyName/FullName", name))


def _parties(sending: Sending) -> str:
    names = [("PLabel", sending.label)]
    names += [(f"PArtist{number}", track.artist) for number, track in enumerate(sending.tracks, 1)]
    parties = [
        _element("Party", _leaf("PartyReference", reference), _element("PartyName", _leaf("FullName", name)))
        for reference, name in names
    ]
    return _element("PartyList", *parties)


def _resources(sending: Sending) -> Iterable[str]:
    for number, track in enumerate(sending.tracks, 1):
        yield _recording(sending, track, number)
    for kind, locations in (("Image", sending.images), ("Video", sending.videos)):
        for number, location in enumerate(locations, 1):
            file = _file(sending, location)
            if sending.version in ERN_3:
                territory = _leaf("TerritoryCode", "Worldwide")
                details = _element(f"{kind}DetailsByTerritory", territory, _element(f"Technical{kind}Details", file))
            else:
                details = _element("TechnicalDetails", file)
            yield _element(kind, _leaf("ResourceReference", f"{kind[0]}{number}"), details)


def _recording(sending: Sending, track: Track, number: int) -> str:
    isrc = _leaf("ISRC", track.isrc)
    resource = _leaf("ResourceReference", f"A{number}")
    title = _leaf("TitleText", track.title) + _leaf("SubTitle", track.subtitle)
    if sending.version in ERN_3:
        flags = _leaf("AudioCodecType", "FLAC") + (_leaf("IsPreview", "true") if track.is_clip else "")
        details = _element(
            "SoundRecordingDetailsByTerritory",
            _leaf("TerritoryCode", "Worldwide"),
            _leaf("DisplayArtist/PartyName/FullName", track.artist),
            _technical("TechnicalSoundRecordingDetails", sending, track, number, flags),
        )
        ids, titles = _element("SoundRecordingId", isrc), _element("ReferenceTitle", title)
        return _element("SoundRecording", ids, resource, titles, _leaf("Duration", "PT3M5S"), details)
    titles = _leaf("DisplayTitleText", track.title) + _element("DisplayTitle", title)
    titles += _leaf("DisplayArtist/ArtistPartyReference", f"PArtist{number}")
    clip = "IsClip" if sending.version in ERN_4_3 else "IsPreview"
    flags = _leaf(clip, "true") if track.is_clip else ""
    flags += "" if track.is_provided is None else _leaf("IsProvidedInDelivery", str(track.is_provided).lower())
    technical = _technical("TechnicalDetails", sending, track, number, flags)
    ids = _element("ResourceId", isrc)
    if sending.version in ERN_4_1:
        return _element("SoundRecording", resource, ids, titles, technical)
    return _element("SoundRecording", resource, _element("SoundRecordingEdition", ids, technical), titles)


def _technical(name: str, sending: Sending, track: Track, number: int, flags: str) -> str:
    """Write what is said of each file of a recording."""
    found = ""
    for each, file in enumerate(track.files, 1):
        named = _file(sending, file)
        if sending.version in ERN_4_3:
            named = _element("DeliveryFile", _leaf("Type", "AudioFile"), named)
        found += _element(name, _leaf("TechnicalResourceDetailsReference", f"T{number}_{each}"), flags, named)
    return found


def _file(sending: Sending, file: Sent | str) -> str:
    named = Sent(location=file) if isinstance(file, str) else file
    if sending.version in ERN_3:
        path, _, name = named.location.rpartition("/")
        where = _leaf("FileName", name) + _leaf("FilePath", f"{path}/" if path else "")
        digest = _leaf("HashSum", named.digest) + _leaf("HashSumAlgorithmType", named.algorithm)
        digest += _leaf("HashSumDataType", "HexBinary")
    else:
        where = _leaf("URI", named.location)
        digest = _leaf("Algorithm", named.algorithm) + _leaf("DataType", "HexBinary")
        digest += _leaf("HashSumValue", named.digest)
    hash_sum = _element("HashSum", digest) if named.digest else ""
    return _element("File", where, hash_sum, _leaf("FileSize", named.size_bytes))


def _ids(sending: Sending) -> str:
    return _leaf("GRid", sending.grid) + _leaf("ICPN", sending.icpn) + _leaf("CatalogNumber", sending.catalog_number)


def _releases(sending: Sending) -> str:
    ids, reference = _element("ReleaseId", _ids(sending)), _leaf("ReleaseReference", "R0")
    track_ids, track_reference = _leaf("ReleaseId/ISRC", "QZES71982312"), _leaf("ReleaseReference", "R1")
    title = _leaf("TitleText", sending.title)
    if sending.version in ERN_3:
        label = _element("ReleaseDetailsByTerritory", _leaf("LabelName", sending.label))
        main = _element("Release", ids, reference, _element("ReferenceTitle", title), label)
        main = main.replace("<Release>", '<Release IsMainRelease="true">')
        return _element("ReleaseList", _element("Release", track_ids, track_reference), main)
    titles = _leaf("DisplayTitleText", sending.title) + _element("DisplayTitle", title)
    main = _element("Release", reference, ids, titles, _leaf("ReleaseLabelReference", "PLabel"))
    return _element("ReleaseList", main, _element("TrackRelease", track_reference, track_ids))


def _deals(sending: Sending) -> str:
    """Write what fills most of a real message, and says nothing of files."""
    terms = _leaf("Usage/UseType", "OnDemandStream") + "".join(_leaf("TerritoryCode", code) for code in ("DE", "FR"))
    references = (_leaf("DealReleaseReference", f"R{number}") for number in range(len(sending.tracks) + 1))
    deals = (_element("ReleaseDeal", each, _element("Deal/DealTerms", terms)) for each in references)
    return _element("DealList", *deals)
