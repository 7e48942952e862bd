"""A sample delivery: two batches of DDEX messages (ERN 4.3), whose releases have different fates."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from xml.etree.ElementTree import Element, SubElement, tostring

from proofsweep_sandbox.operator_client import Operator
from proofsweep_sandbox.samples.catalog import Sample
from proofsweep_sandbox.samples.factory import SampleFactory
from proofsweep_sandbox.samples.kinds import KINDS

_SENDER = ("PADPIDA2026112301S", "Sample Distribution")
_ERN = "http://ddex.net/xml/ern/43"
_FIRST, _SECOND = "20261123183000001", "20261123214500002"
_KINDS = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording of a release.

    Attributes:
        kind: of the sample that is its file.
        fate: what happens on the way: None, `damaged` or `lost`.
    """

    title: str
    kind: str = "one_file"
    fate: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRelease:
    """A release with its recordings."""

    icpn: str
    title: str
    recordings: Sequence[Recording]
    is_withdrawn: bool = False
    extra: Sequence[str] = field(default_factory=tuple)  # names of audio that its message does not name


_RELEASES = {
    _FIRST: (
        SampleRelease(
            icpn="4006408126001",
            title="First Light",
            recordings=[
                Recording(title="Intro"),
                Recording(title="Night Drive"),
                Recording(title="Señorita Café", kind="one_file_with_altered_audio"),
            ],
        ),
        SampleRelease(
            icpn="4006408126002",
            title="Volume #2",
            recordings=[Recording(title="Take #9"), Recording(title="Don't Look", fate="damaged")],
        ),
        SampleRelease(
            icpn="4006408126003", title="Live at 99%", recordings=[Recording(title="Harbour")], is_withdrawn=True
        ),
    ),
    _SECOND: (
        SampleRelease(
            icpn="4006408126004",
            title="B-Sides & Rarities",
            recordings=[Recording(title="Low Tide"), Recording(title="High Tide", fate="lost")],
            extra=["demo take.wav"],
        ),
        SampleRelease(icpn="4006408126005", title="Harbour Lights", recordings=[Recording(title="Ebb")]),
    ),
}


def write_deliveries(folder: Path, operator: Operator, *, seed: int = 1, seconds: float = 0.1) -> list[Sample]:
    """Write the batches into `folder` and return their audio files, with those that never came.

    The first batch is complete: one release is good but for one file, one has a file that was damaged on its way, and
    one was withdrawn. The second is incomplete: a named file and the sign that all is there are missing, and no message
    names one of its files.
    """
    chance = Random(seed)  # noqa: S311 - repeatable on purpose
    samples: list[Sample] = []
    with TemporaryDirectory() as work_folder:
        factory = SampleFactory(operator, Path(work_folder), chance, seconds)
        for batch, releases in _RELEASES.items():
            for release in releases:
                samples += _written(folder / batch / release.icpn, release, factory)
            for release in (each for each in releases if each.is_withdrawn):
                _put(folder / batch / f"{release.icpn}_purge" / "purge.xml", _purge(release))
    _put(folder / _FIRST / "manifest.xml", _manifest(_FIRST, _RELEASES[_FIRST]))
    return samples


def _written(folder: Path, release: SampleRelease, factory: SampleFactory) -> Iterable[Sample]:
    """Write a release; what was declared of a file is of its bytes before anything happened to it."""
    resources, files, samples = folder / "resources", [], []
    resources.mkdir(parents=True)
    for number, recording in enumerate(release.recordings, 1):
        kind = _KINDS[recording.kind]
        content, path = kind.make(factory).audio, resources / f"{release.icpn}_01_{number:03}.wav"
        files.append((recording, path.name, content))
        is_sent = recording.fate is None and not release.is_withdrawn
        samples.append(Sample(audio=path, sidecar=None, verdict=kind.verdict if is_sent else None, kind=kind.name))
        if recording.fate != "lost":
            path.write_bytes(content if recording.fate is None else content[:-1] + bytes([content[-1] ^ 0xFF]))
    for name in release.extra:
        (resources / name).write_bytes(_KINDS["one_file"].make(factory).audio)
        samples.append(Sample(audio=resources / name, sidecar=None, verdict=None, kind="one_file"))
    _put(folder / f"{release.icpn}.xml", _new_release(release, files))
    return samples


def _new_release(release: SampleRelease, files: Iterable[tuple[Recording, str, bytes]]) -> Element:
    root = Element("ern:NewReleaseMessage", {"xmlns:ern": _ERN})
    _head(root, release)
    _add(root, "PartyList/Party", PartyReference="P1").append(_named("Sample Records"))
    recordings = SubElement(root, "ResourceList")
    for number, (recording, name, content) in enumerate(files, 1):
        sound = _add(recordings, "SoundRecording", ResourceReference=f"A{number}", Type="MusicalWorkSoundRecording")
        edition = SubElement(sound, "SoundRecordingEdition")
        _add(edition, "ResourceId", ISRC=f"QZSAM26{release.icpn[-3:]}{number:02}")
        technical = _add(edition, "TechnicalDetails", TechnicalResourceDetailsReference=f"T{number}")
        file = _add(_add(technical, "DeliveryFile", Type="AudioFile"), "File", URI=f"resources/{name}")
        _add(file, "HashSum", Algorithm="MD5", HashSumValue=hashlib.md5(content, usedforsecurity=False).hexdigest())
        SubElement(file, "FileSize").text = str(len(content))
        SubElement(sound, "DisplayTitleText").text = recording.title
        SubElement(sound, "DisplayArtistName").text = "Mara & the Tides"
    of_release = _add(root, "ReleaseList/Release", ReleaseReference="R0", ReleaseType="Album")
    _add(of_release, "ReleaseId", ICPN=release.icpn)
    _add(of_release, DisplayTitleText=release.title, ReleaseLabelReference="P1")
    return root


def _purge(release: SampleRelease) -> Element:
    root = Element("ern:PurgeReleaseMessage", {"xmlns:ern": _ERN})
    _head(root, release, hour=19)
    _add(_add(root, "PurgedRelease"), "ReleaseId", ICPN=release.icpn)
    return root


def _manifest(batch: str, releases: Iterable[SampleRelease]) -> Element:
    root = Element("echo:ManifestMessage", {"xmlns:echo": "http://ddex.net/xml/2011/echo/12"})
    for release in releases:
        _add(root, "MessageInBatch", MessageType="NewReleaseMessage", URL=f"{batch}/{release.icpn}/{release.icpn}.xml")
    return root


def _head(root: Element, release: SampleRelease, hour: int = 18) -> None:
    thread = f"T-{release.icpn}"
    header = _add(root, "MessageHeader", MessageThreadId=thread, MessageId=f"{thread}-{hour}")
    _add(header, "MessageSender", PartyId=_SENDER[0]).append(_named(_SENDER[1]))
    _add(header, MessageCreatedDateTime=f"2026-11-23T{hour}:00:00+00:00", MessageControlType="LiveMessage")


def _named(name: str) -> Element:
    party = Element("PartyName")
    SubElement(party, "FullName").text = name
    return party


def _add(parent: Element, path: str = "", **leaves: str) -> Element:
    """Add elements along a path below a parent, then leaves below the last one, which is returned."""
    for name in filter(None, path.split("/")):
        parent = SubElement(parent, name)
    for name, text in leaves.items():
        SubElement(parent, name).text = text
    return parent


def _put(path: Path, root: Element) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tostring(root, encoding="utf-8", xml_declaration=True))
