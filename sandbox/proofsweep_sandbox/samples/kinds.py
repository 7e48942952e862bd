"""Kinds of samples: each kind makes a file that gets its verdict for the real reason, with a proof from the operator.

To add one, name it at the end of `SampleKind`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from random import Random
from typing import Unpack

from proofsweep_sandbox.operator_client import Issued, IssueOptions, Operator
from proofsweep_sandbox.options import SLOT_BYTES
from proofsweep_sandbox.samples import sounds

_SECONDS = 0.1

Sound = Callable[[float, Random], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleContent:
    """The bytes of a sample; `size_bytes` extends the audio to a sparse file of that size."""

    audio: bytes
    sidecar: bytes | None = None
    size_bytes: int | None = None


class SampleFactory:
    """Makes audio with the random numbers of `chance`; `folder` holds its temporary files."""

    def __init__(self, operator: Operator, folder: Path, chance: Random) -> None:
        self.operator = operator
        self._chance = chance
        self._source = folder / "source"
        self._sealed = folder / "sealed"

    def sound(self, of: Sound) -> bytes:
        return of(_SECONDS, self._chance)

    def issue(self, audio: bytes, **options: Unpack[IssueOptions]) -> tuple[bytes, Issued]:
        """Issue a proof for this audio; return the bytes of the credentialed copy or of the sidecar."""
        self._source.write_bytes(audio)
        number = self._chance.getrandbits(32)
        options.setdefault("song", f"Song {number:08x}")
        issued = self.operator.issue(self._source, self._sealed, **options)
        return self._sealed.read_bytes(), issued

    def pair(self, of: Sound, **options: Unpack[IssueOptions]) -> SampleContent:
        audio = self.sound(of)
        options["legacy"] = True
        sidecar, _ = self.issue(audio, **options)
        return SampleContent(audio=audio, sidecar=sidecar)


Make = Callable[[SampleFactory], SampleContent]


def _one_file(**options: Unpack[IssueOptions]) -> Make:
    def make(factory: SampleFactory) -> SampleContent:
        sealed, _ = factory.issue(factory.sound(sounds.wav), **options)
        return SampleContent(audio=sealed)

    return make


def _pair(of: Sound, **options: Unpack[IssueOptions]) -> Make:
    return lambda factory: factory.pair(of, **options)


def _bare(of: Sound) -> Make:
    return lambda factory: SampleContent(audio=factory.sound(of))


def _empty(_factory: SampleFactory) -> SampleContent:
    return SampleContent(audio=b"")


def _one_file_with_altered_audio(factory: SampleFactory) -> SampleContent:
    sealed, _ = factory.issue(factory.sound(sounds.wav))
    # The first byte of the tone comes after the label and the size of its chunk, of four bytes each.
    first = sealed.index(b"data") + 8
    audio = bytearray(sealed)
    audio[first] ^= 0xFF
    return SampleContent(audio=bytes(audio))


def _one_file_with_edited_identity(factory: SampleFactory) -> SampleContent:
    sealed, issued = factory.issue(factory.sound(sounds.wav))
    # Another proof id of the same length, so that no offset in the manifest changes.
    last = "1" if issued.proof_id.endswith("0") else "0"
    edited = issued.proof_id[:-1] + last
    audio = sealed.replace(issued.proof_id.encode(), edited.encode())
    return SampleContent(audio=audio)


def _erased_one_file(factory: SampleFactory) -> SampleContent:
    sealed, issued = factory.issue(factory.sound(sounds.wav))
    factory.operator.erase(issued.proof_id)
    return SampleContent(audio=sealed)


def _pair_with_altered_audio(factory: SampleFactory) -> SampleContent:
    pair = factory.pair(sounds.wav)
    audio = bytearray(pair.audio)
    audio[-1] ^= 0xFF
    return replace(pair, audio=bytes(audio))


def _pair_with_edited_song(factory: SampleFactory) -> SampleContent:
    pair = factory.pair(sounds.aiff)
    sealed = json.loads(pair.sidecar or b"")
    sealed["document"]["song"] += " (remix)"
    return replace(pair, sidecar=json.dumps(sealed).encode())


def _pair_with_edited_signature(factory: SampleFactory) -> SampleContent:
    pair = factory.pair(sounds.mp3)
    sealed = json.loads(pair.sidecar or b"")
    # It still reads as base64: only the signature is wrong.
    backwards = sealed["signature"][::-1]
    sealed["signature"] = backwards.replace("=", "A")
    return replace(pair, sidecar=json.dumps(sealed).encode())


def _pair_with_garbled_sidecar(factory: SampleFactory) -> SampleContent:
    return replace(factory.pair(sounds.wav), sidecar=b"this was a proof file once")


def _too_large(_factory: SampleFactory) -> SampleContent:
    # Only the header is written: the rest is a hole in the file, and needs no room on the disk.
    size_bytes = SLOT_BYTES + 2
    return SampleContent(audio=sounds.wav_header(size_bytes - 44), size_bytes=size_bytes)


class SampleKind(Enum):
    """The kinds, each with the suffix of its file names, its verdict, and how it is made.

    `verdict` is the service's verdict, None if no call may be made for it. A catalog has one sample of each kind;
    `weight` is the kind's relative share of the further files.
    """

    # The first six have each verdict once, so that a catalog of six files has them all.
    one_file = (".wav", "valid", _one_file(), 40)
    pair_with_altered_audio = (".wav", "audioChanged", _pair_with_altered_audio)
    pair_with_edited_song = (".aiff", "tampered", _pair_with_edited_song)
    one_file_of_stranger = (".wav", "unregistered", _one_file(sealed_by="stranger"))
    one_file_with_altered_audio = (".wav", "unreadable", _one_file_with_altered_audio)
    one_file_of_device = (".wav", "local_seal", _one_file(sealed_by="device", registered=False))
    pair_of_mp3 = (".mp3", "valid", _pair(sounds.mp3), 14)
    pair_of_aiff = (".aiff", "valid", _pair(sounds.aiff), 8)
    pair_of_m4a = (".m4a", "valid", _pair(sounds.m4a), 8)
    pair_of_wav = (".wav", "valid", _pair(sounds.wav), 8)
    pair_of_caf = (".caf", "valid", _pair(sounds.caf), 2)
    bare_mp3 = (".mp3", None, _bare(sounds.mp3))
    empty = (".wav", None, _empty)
    # One is enough: whoever copies the catalog or hashes its files reads 65 MiB of it.
    too_large = (".wav", None, _too_large, 0)
    flac = (".flac", None, _bare(sounds.flac))
    ogg = (".ogg", None, _bare(sounds.ogg))
    plain_wav = (".wav", "unreadable", _bare(sounds.wav), 3)
    one_file_with_edited_identity = (".wav", "tampered", _one_file_with_edited_identity)
    pair_with_edited_signature = (".mp3", "tampered", _pair_with_edited_signature)
    pair_with_garbled_sidecar = (".wav", "unreadable", _pair_with_garbled_sidecar)
    one_file_unregistered = (".wav", "unregistered", _one_file(registered=False))
    one_file_erased = (".wav", "unregistered", _erased_one_file)
    pair_unregistered = (".m4a", "unregistered", _pair(sounds.m4a, registered=False))
    one_file_pending = (".wav", "unregistered", _one_file(pending=True))
    pair_of_device = (".mp3", "local_seal", _pair(sounds.mp3, sealed_by="device", registered=False))
    one_file_of_registered_device = (".wav", "valid", _one_file(sealed_by="device"))

    def __init__(self, suffix: str, verdict: str | None, make: Make, weight: int = 1) -> None:
        self.suffix = suffix
        self.verdict = verdict
        self.make = make
        self.weight = weight


KINDS = tuple(SampleKind)
