"""Kinds of samples: each kind makes a file that gets its verdict for the real reason.

To add one, append it to `KINDS`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Unpack

from proofsweep_sandbox.operator_client import IssueOptions
from proofsweep_sandbox.options import SLOT_BYTES
from proofsweep_sandbox.samples import sounds
from proofsweep_sandbox.samples.factory import SampleContent, SampleFactory, Sound

Make = Callable[[SampleFactory], SampleContent]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleKind:
    """How to make one kind of sample.

    `verdict` is the service's verdict, None if no call may be made for it. A catalog has one sample of each kind;
    `weight` is the kind's relative share of the further files.
    """

    name: str
    suffix: str
    verdict: str | None
    make: Make
    weight: int = 1


def _one_file(**options: Unpack[IssueOptions]) -> Make:
    return lambda factory: SampleContent(audio=factory.issue(factory.sound(sounds.wav), **options)[0])


def _pair(of: Sound, **options: Unpack[IssueOptions]) -> Make:
    return lambda factory: factory.pair(of, **options)


def _bare(of: Sound) -> Make:
    return lambda factory: SampleContent(audio=factory.sound(of))


def _one_file_with_altered_audio(factory: SampleFactory) -> SampleContent:
    sealed, _ = factory.issue(factory.sound(sounds.wav))
    at = sealed.index(b"data") + 8
    return SampleContent(audio=sealed[:at] + bytes([sealed[at] ^ 0xFF]) + sealed[at + 1 :])


def _one_file_with_edited_identity(factory: SampleFactory) -> SampleContent:
    """Put another proof id of the same length into the manifest, so that no offset changes."""
    sealed, issued = factory.issue(factory.sound(sounds.wav))
    edited = issued.proof_id[:-1] + ("0" if issued.proof_id[-1] != "0" else "1")
    return SampleContent(audio=sealed.replace(issued.proof_id.encode(), edited.encode()))


def _erased_one_file(factory: SampleFactory) -> SampleContent:
    sealed, issued = factory.issue(factory.sound(sounds.wav))
    factory.operator.erase(issued.proof_id)
    return SampleContent(audio=sealed)


def _pair_with_altered_audio(factory: SampleFactory) -> SampleContent:
    pair = factory.pair(sounds.wav)
    return replace(pair, audio=pair.audio[:-1] + bytes([pair.audio[-1] ^ 0xFF]))


def _pair_with_edited_song(factory: SampleFactory) -> SampleContent:
    pair = factory.pair(sounds.aiff)
    sealed = json.loads(pair.sidecar or b"")
    sealed["document"]["song"] += " (remix)"
    return replace(pair, sidecar=json.dumps(sealed).encode())


def _pair_with_edited_signature(factory: SampleFactory) -> SampleContent:
    pair = factory.pair(sounds.mp3)
    sealed = json.loads(pair.sidecar or b"")
    sealed["signature"] = sealed["signature"][::-1].replace("=", "A")
    return replace(pair, sidecar=json.dumps(sealed).encode())


def _pair_with_garbled_sidecar(factory: SampleFactory) -> SampleContent:
    return replace(factory.pair(sounds.wav), sidecar=b"this was a proof file once")


def _too_large(_studio: SampleFactory) -> SampleContent:
    size_bytes = SLOT_BYTES + 2
    return SampleContent(audio=sounds.wav_header(size_bytes - 44), size_bytes=size_bytes)


# The first six have each verdict once, so that a catalog of six files has them all.
KINDS = (
    SampleKind(name="one_file", suffix=".wav", verdict="valid", make=_one_file(), weight=40),
    SampleKind(name="pair_with_altered_audio", suffix=".wav", verdict="audioChanged", make=_pair_with_altered_audio),
    SampleKind(name="pair_with_edited_song", suffix=".aiff", verdict="tampered", make=_pair_with_edited_song),
    SampleKind(
        name="one_file_of_stranger", suffix=".wav", verdict="unregistered", make=_one_file(sealed_by="stranger")
    ),
    SampleKind(
        name="one_file_with_altered_audio", suffix=".wav", verdict="unreadable", make=_one_file_with_altered_audio
    ),
    SampleKind(
        name="one_file_of_device",
        suffix=".wav",
        verdict="local_seal",
        make=_one_file(sealed_by="device", registered=False),
    ),
    SampleKind(name="pair_of_mp3", suffix=".mp3", verdict="valid", make=_pair(sounds.mp3), weight=14),
    SampleKind(name="pair_of_aiff", suffix=".aiff", verdict="valid", make=_pair(sounds.aiff), weight=8),
    SampleKind(name="pair_of_m4a", suffix=".m4a", verdict="valid", make=_pair(sounds.m4a), weight=8),
    SampleKind(name="pair_of_wav", suffix=".wav", verdict="valid", make=_pair(sounds.wav), weight=8),
    SampleKind(name="pair_of_caf", suffix=".caf", verdict="valid", make=_pair(sounds.caf), weight=2),
    SampleKind(name="bare_mp3", suffix=".mp3", verdict=None, make=_bare(sounds.mp3)),
    SampleKind(name="empty", suffix=".wav", verdict=None, make=lambda _: SampleContent(audio=b"")),
    SampleKind(name="too_large", suffix=".wav", verdict=None, make=_too_large, weight=0),
    SampleKind(name="flac", suffix=".flac", verdict=None, make=_bare(sounds.flac)),
    SampleKind(name="ogg", suffix=".ogg", verdict=None, make=_bare(sounds.ogg)),
    SampleKind(name="plain_wav", suffix=".wav", verdict="unreadable", make=_bare(sounds.wav), weight=3),
    SampleKind(
        name="one_file_with_edited_identity", suffix=".wav", verdict="tampered", make=_one_file_with_edited_identity
    ),
    SampleKind(name="pair_with_edited_signature", suffix=".mp3", verdict="tampered", make=_pair_with_edited_signature),
    SampleKind(name="pair_with_garbled_sidecar", suffix=".wav", verdict="unreadable", make=_pair_with_garbled_sidecar),
    SampleKind(name="one_file_unregistered", suffix=".wav", verdict="unregistered", make=_one_file(registered=False)),
    SampleKind(name="one_file_erased", suffix=".wav", verdict="unregistered", make=_erased_one_file),
    SampleKind(
        name="pair_unregistered", suffix=".m4a", verdict="unregistered", make=_pair(sounds.m4a, registered=False)
    ),
    SampleKind(name="one_file_pending", suffix=".wav", verdict="unregistered", make=_one_file(pending=True)),
    SampleKind(
        name="pair_of_device",
        suffix=".mp3",
        verdict="local_seal",
        make=_pair(sounds.mp3, sealed_by="device", registered=False),
    ),
    SampleKind(
        name="one_file_of_registered_device", suffix=".wav", verdict="valid", make=_one_file(sealed_by="device")
    ),
)
