"""A sample delivery: two batches of DDEX messages (ERN 4.3), whose releases have different fates."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

from proofsweep_sandbox.operator_client import Operator
from proofsweep_sandbox.samples.catalog import Sample
from proofsweep_sandbox.samples.kinds import KINDS, SampleFactory

_FIRST, _SECOND = "20261123183000001", "20261123214500002"
_KINDS = {kind.name: kind for kind in KINDS}
_ERN = 'xmlns:ern="http://ddex.net/xml/ern/43"'
_ECHO = 'xmlns:echo="http://ddex.net/xml/2011/echo/12"'
_SENDER = "<PartyId>PADPIDA2026112301S</PartyId><PartyName><FullName>Sample Distribution</FullName></PartyName>"


@dataclass(frozen=True, slots=True)
class _Release:
    """A release; of each recording the title, and what happens to its file: `good`, `altered`, `damaged` or `lost`."""

    icpn: str
    title: str
    recordings: tuple[tuple[str, str], ...]
    is_withdrawn: bool = False
    unnamed: str | None = None  # audio that its message does not name


_RELEASES = {
    _FIRST: (
        _Release(
            "4006408126001", "First Light", (("Intro", "good"), ("Night Drive", "good"), ("Señorita Café", "altered"))
        ),
        _Release("4006408126002", "Volume #2", (("Take #9", "good"), ("Don't Look", "damaged"))),
        _Release("4006408126003", "Live at 99%", (("Harbour", "good"),), is_withdrawn=True),
    ),
    _SECOND: (
        _Release(
            "4006408126004",
            "B-Sides & Rarities",
            (("Low Tide", "good"), ("High Tide", "lost")),
            unnamed="demo take.wav",
        ),
        _Release("4006408126005", "Harbour Lights", (("Ebb", "good"),)),
    ),
}


def write_deliveries(folder: Path, operator: Operator) -> list[Sample]:
    """Write the batches into `folder` and return their audio files, with those that never came.

    The first batch is complete: one release is good but for one file, one has a file that was damaged on its way, and
    one was withdrawn. The second is incomplete: a named file and the sign that all is there are missing, and no message
    names one of its files.
    """
    chance = Random(1)  # noqa: S311 - repeatable on purpose
    samples: list[Sample] = []
    with TemporaryDirectory() as work_folder:
        factory = SampleFactory(operator, Path(work_folder), chance)
        for batch, releases in _RELEASES.items():
            for release in releases:
                samples += _written(folder / batch / release.icpn, release, factory)
                if release.is_withdrawn:
                    _put(folder / batch / f"{release.icpn}_purge" / "purge.xml", _purge(release))
    _put(folder / _FIRST / "manifest.xml", _manifest(_FIRST))
    return samples


def _written(folder: Path, release: _Release, factory: SampleFactory) -> Iterable[Sample]:
    """Write a release; what was declared of a file is of its bytes before anything happened to it."""
    resources, listed = folder / "resources", ""
    resources.mkdir(parents=True)
    for number, (title, fate) in enumerate(release.recordings, 1):
        kind = _KINDS["one_file_with_altered_audio" if fate == "altered" else "one_file"]
        content, audio = kind.make(factory).audio, resources / f"{release.icpn}_01_{number:03}.wav"
        listed += _recording(release, number, title, audio.name, content)
        if fate != "lost":
            audio.write_bytes(content[:-1] + bytes([content[-1] ^ 0xFF]) if fate == "damaged" else content)
        is_sent = fate in {"good", "altered"} and not release.is_withdrawn
        yield Sample(audio=audio, sidecar=None, verdict=kind.verdict if is_sent else None, kind=kind.name)
    if release.unnamed:
        audio = resources / release.unnamed
        audio.write_bytes(_KINDS["one_file"].make(factory).audio)
        yield Sample(audio=audio, sidecar=None, verdict=None, kind="one_file")
    _put(
        folder / f"{release.icpn}.xml",
        f"<ern:NewReleaseMessage {_ERN}>{_header(release, 18)}"
        "<PartyList><Party><PartyReference>P1</PartyReference><PartyName><FullName>Sample Records</FullName>"
        f"</PartyName></Party></PartyList><ResourceList>{listed}</ResourceList><ReleaseList><Release>"
        "<ReleaseReference>R0</ReleaseReference><ReleaseType>Album</ReleaseType>"
        f"<ReleaseId><ICPN>{release.icpn}</ICPN></ReleaseId>"
        f"<DisplayTitleText>{escape(release.title)}</DisplayTitleText>"
        "<ReleaseLabelReference>P1</ReleaseLabelReference></Release></ReleaseList></ern:NewReleaseMessage>",
    )


def _recording(release: _Release, number: int, title: str, file: str, content: bytes) -> str:
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return (
        f"<SoundRecording><ResourceReference>A{number}</ResourceReference><Type>MusicalWorkSoundRecording</Type>"
        f"<SoundRecordingEdition><ResourceId><ISRC>QZSAM26{release.icpn[-3:]}{number:02}</ISRC></ResourceId>"
        f"<TechnicalDetails><TechnicalResourceDetailsReference>T{number}</TechnicalResourceDetailsReference>"
        f"<DeliveryFile><Type>AudioFile</Type><File><URI>resources/{file}</URI><HashSum><Algorithm>MD5</Algorithm>"
        f"<HashSumValue>{digest}</HashSumValue></HashSum><FileSize>{len(content)}</FileSize></File></DeliveryFile>"
        f"</TechnicalDetails></SoundRecordingEdition><DisplayTitleText>{escape(title)}</DisplayTitleText>"
        "<DisplayArtistName>Mara &amp; the Tides</DisplayArtistName></SoundRecording>"
    )


def _purge(release: _Release) -> str:
    released = f"<PurgedRelease><ReleaseId><ICPN>{release.icpn}</ICPN></ReleaseId></PurgedRelease>"
    return f"<ern:PurgeReleaseMessage {_ERN}>{_header(release, 19)}{released}</ern:PurgeReleaseMessage>"


def _manifest(batch: str) -> str:
    messages = "".join(
        f"<MessageInBatch><MessageType>NewReleaseMessage</MessageType>"
        f"<URL>{batch}/{release.icpn}/{release.icpn}.xml</URL></MessageInBatch>"
        for release in _RELEASES[batch]
    )
    return f"<echo:ManifestMessage {_ECHO}>{messages}</echo:ManifestMessage>"


def _header(release: _Release, hour: int) -> str:
    return (
        f"<MessageHeader><MessageThreadId>T-{release.icpn}</MessageThreadId><MessageId>T-{release.icpn}-{hour}"
        f"</MessageId><MessageSender>{_SENDER}</MessageSender>"
        f"<MessageCreatedDateTime>2026-11-23T{hour}:00:00+00:00</MessageCreatedDateTime>"
        "<MessageControlType>LiveMessage</MessageControlType></MessageHeader>"
    )


def _put(path: Path, xml: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<?xml version='1.0' encoding='utf-8'?>\n{xml}", encoding="utf-8")
