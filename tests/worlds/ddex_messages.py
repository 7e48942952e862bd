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
    reference: str = ""


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
        namespace = self.namespace or namespace_of(self.version)
        head = '<?xml version="1.0" encoding="UTF-8"?>\n'
        body = _header(self)
        schema = f' MessageSchemaVersionId="ern/{self.version}"' if self.version in ERN_3 else ""
        if self.version in ERN_3:
            body += _leaf("UpdateIndicator", "OriginalMessage")
        else:
            body += _parties(self)
        body += _element("ResourceList", "".join(_resources(self))) + _releases(self) + _deals(self)
        attributes = f'xmlns:ern="{namespace}"{schema} LanguageAndScriptCode="en"'
        return f"{head}<ern:NewReleaseMessage {attributes}>{body}</ern:NewReleaseMessage>"

    def content(self) -> bytes:
        """Return the message as the file holds it."""
        return self.text().encode()


def namespace_of(version: str) -> str:
    """Return the namespace of a version as senders write it."""
    host = "service.ddex.net" if version == "411" else "ddex.net"
    return f"http://{host}/xml/ern/{version}"


def purge(sending: Sending) -> bytes:
    """Return the message that withdraws a release."""
    ids = _element("PurgedRelease", _element("ReleaseId", _ids(sending)))
    namespace = namespace_of(sending.version)
    return (
        f'<ern:PurgeReleaseMessage xmlns:ern="{namespace}">{_header(sending)}{ids}</ern:PurgeReleaseMessage>'.encode()
    )


def batch_manifest(batch: str, urls: Iterable[str]) -> bytes:
    """Return the file that says that a batch is sent."""
    named = [
        _element(
            "MessageInBatch", _leaf("MessageType", "NewReleaseMessage") + _leaf("MessageId", url) + _leaf("URL", url)
        )
        for url in urls
    ]
    body = _leaf("RootDirectory", f"/{batch}") + _leaf("NumberOfMessages", str(len(named))) + "".join(named)
    namespace = "http://ddex.net/xml/ern-c/14"
    return f'<echo:ManifestMessage xmlns:echo="{namespace}">{body}</echo:ManifestMessage>'.encode()


def sent(location: str, content: bytes, algorithm: str = "MD5") -> Sent:
    """Name a file with the digest and the size of its content."""
    name = algorithm.lower().replace("-", "")
    return Sent(
        location=location, algorithm=algorithm, digest=hashlib.new(name, content).hexdigest(), size_bytes=len(content)
    )


def put_release(folder: Path, sending: Sending, files: dict[str, bytes] | None = None, name: str = "") -> Path:
    """Write a message into a release's folder, and files beside it; give the message's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"{folder.name}.xml")
    path.write_bytes(sending.content())
    for location, content in (files or {}).items():
        target = folder / location
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return path


def _leaf(name: str, text: object) -> str:
    return f"<{name}>{escape(str(text))}</{name}>" if text not in ("", None) else ""


def _element(name: str, body: str) -> str:
    return f"<{name}>{body}</{name}>"


def _header(sending: Sending) -> str:
    sender = _leaf("PartyId", sending.sender) + _element("PartyName", _leaf("FullName", "Seed Distribution"))
    recipient = _leaf("PartyId", "PADPIDA0000000001R") + _element("PartyName", _leaf("FullName", "A shop"))
    control = _leaf("MessageControlType", "TestMessage" if sending.is_test else "LiveMessage")
    return _element(
        "MessageHeader",
        _leaf("MessageThreadId", sending.thread_id)
        + _leaf("MessageId", sending.message_id)
        + _element("MessageSender", sender)
        + _element("MessageRecipient", recipient)
        + _leaf("MessageCreatedDateTime", sending.created)
        + control,
    )


def _parties(sending: Sending) -> str:
    names = [("PLabel", sending.label)]
    names += [(f"PArtist{number}", track.artist) for number, track in enumerate(sending.tracks, 1)]
    return _element(
        "PartyList",
        "".join(
            _element("Party", _leaf("PartyReference", reference) + _element("PartyName", _leaf("FullName", name)))
            for reference, name in names
        ),
    )


def _resources(sending: Sending) -> Iterable[str]:
    for number, track in enumerate(sending.tracks, 1):
        yield _recording(sending, track, number, track.reference or f"A{number}")
    for kind, locations in (("Image", sending.images), ("Video", sending.videos)):
        for number, location in enumerate(locations, 1):
            reference = _leaf("ResourceReference", f"{kind[0]}{number}")
            if sending.version in ERN_3:
                technical = _element(f"Technical{kind}Details", _file(sending, location))
                body = _element(f"{kind}DetailsByTerritory", _leaf("TerritoryCode", "Worldwide") + technical)
            else:
                body = _element("TechnicalDetails", _file(sending, location))
            yield _element(kind, reference + body)


def _recording(sending: Sending, track: Track, number: int, reference: str) -> str:
    isrc, resource = _leaf("ISRC", track.isrc), _leaf("ResourceReference", reference)
    if sending.version in ERN_3:
        titles = _element("ReferenceTitle", _leaf("TitleText", track.title) + _leaf("SubTitle", track.subtitle))
        artist = _element("DisplayArtist", _element("PartyName", _leaf("FullName", track.artist)))
        technical = "".join(
            _element(
                "TechnicalSoundRecordingDetails",
                _leaf("TechnicalResourceDetailsReference", f"T{number}_{each}")
                + _leaf("AudioCodecType", "FLAC")
                + (_leaf("IsPreview", "true") if track.is_clip else "")
                + _file(sending, file),
            )
            for each, file in enumerate(track.files, 1)
        )
        by_territory = _leaf("TerritoryCode", "Worldwide") + artist + technical
        details = _element("SoundRecordingDetailsByTerritory", by_territory)
        return _element(
            "SoundRecording",
            _element("SoundRecordingId", isrc) + resource + titles + _leaf("Duration", "PT3M5S") + details,
        )
    title = _element("DisplayTitle", _leaf("TitleText", track.title) + _leaf("SubTitle", track.subtitle))
    artist = _element("DisplayArtist", _leaf("ArtistPartyReference", f"PArtist{number}"))
    titles = _leaf("DisplayTitleText", track.title) + title
    clip = "IsClip" if sending.version in ERN_4_3 else "IsPreview"
    flags = (_leaf(clip, "true") if track.is_clip else "") + (
        "" if track.is_provided is None else _leaf("IsProvidedInDelivery", str(track.is_provided).lower())
    )
    if sending.version in ERN_4_1:
        technical = "".join(
            _element(
                "TechnicalDetails",
                _leaf("TechnicalResourceDetailsReference", f"T{number}_{each}") + flags + _file(sending, file),
            )
            for each, file in enumerate(track.files, 1)
        )
        return _element("SoundRecording", resource + _element("ResourceId", isrc) + titles + artist + technical)
    technical = "".join(
        _element(
            "TechnicalDetails",
            _leaf("TechnicalResourceDetailsReference", f"T{number}_{each}")
            + flags
            + _element("DeliveryFile", _leaf("Type", "AudioFile") + _file(sending, file)),
        )
        for each, file in enumerate(track.files, 1)
    )
    edition = _element("SoundRecordingEdition", _element("ResourceId", isrc) + technical)
    return _element("SoundRecording", resource + edition + titles + artist)


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
    return _element("File", where + hash_sum + _leaf("FileSize", named.size_bytes))


def _ids(sending: Sending) -> str:
    return _leaf("GRid", sending.grid) + _leaf("ICPN", sending.icpn) + _leaf("CatalogNumber", sending.catalog_number)


def _releases(sending: Sending) -> str:
    ids = _element("ReleaseId", _ids(sending))
    if sending.version in ERN_3:
        main = _element(
            "Release",
            ids
            + _leaf("ReleaseReference", "R0")
            + _element("ReferenceTitle", _leaf("TitleText", sending.title))
            + _element("ReleaseDetailsByTerritory", _leaf("LabelName", sending.label)),
        ).replace("<Release>", '<Release IsMainRelease="true">')
        track = _element(
            "Release", _element("ReleaseId", _leaf("ISRC", "QZES71982312")) + _leaf("ReleaseReference", "R1")
        )
        return _element("ReleaseList", track + main)
    main = _element(
        "Release",
        _leaf("ReleaseReference", "R0")
        + ids
        + _leaf("DisplayTitleText", sending.title)
        + _element("DisplayTitle", _leaf("TitleText", sending.title))
        + _leaf("ReleaseLabelReference", "PLabel"),
    )
    track = _element(
        "TrackRelease", _leaf("ReleaseReference", "R1") + _element("ReleaseId", _leaf("ISRC", "QZES71982312"))
    )
    return _element("ReleaseList", main + track)


def _deals(sending: Sending) -> str:
    """Write what fills most of a real message, and says nothing of files."""
    terms = _leaf("CommercialModelType", "SubscriptionModel") + _element("Usage", _leaf("UseType", "OnDemandStream"))
    terms += "".join(_leaf("TerritoryCode", code) for code in ("DE", "FR", "GB", "US"))
    terms += _element("ValidityPeriod", _leaf("StartDate", "2026-11-20"))
    deals = (
        _element(
            "ReleaseDeal", _leaf("DealReleaseReference", f"R{number}") + _element("Deal", _element("DealTerms", terms))
        )
        for number, _ in enumerate((None, *sending.tracks))
    )
    return _element("DealList", "".join(deals))
