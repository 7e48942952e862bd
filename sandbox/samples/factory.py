"""The factory: where the bytes of samples are made, with an operator who issues proofs for them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Unpack

from sandbox.operator_client import Issued, IssueOptions, Operator

Sound = Callable[[float, Random], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleContent:
    """The bytes of a sample before it has a name; `size_bytes` stretches the audio by a hole in the file."""

    audio: bytes
    sidecar: bytes | None = None
    size_bytes: int | None = None


class SampleFactory:
    """Makes audio of `seconds` length at a desk, a folder of its own; chance brings its seed along."""

    def __init__(self, operator: Operator, desk: Path, chance: Random, seconds: float) -> None:
        self.operator = operator
        self._chance = chance
        self._seconds = seconds
        self._source = desk / "source"
        self._sealed = desk / "sealed"

    def sound(self, of: Sound) -> bytes:
        """Return new audio."""
        return of(self._seconds, self._chance)

    def issue(self, audio: bytes, **options: Unpack[IssueOptions]) -> tuple[bytes, Issued]:
        """Return what is sealed for this audio: a credentialed copy or a sidecar."""
        self._source.write_bytes(audio)
        options.setdefault("song", f"Song {self._chance.getrandbits(32):08x}")
        issued = self.operator.issue(self._source, self._sealed, **options)
        return self._sealed.read_bytes(), issued

    def pair(self, of: Sound, **options: Unpack[IssueOptions]) -> SampleContent:
        """Return audio with its sidecar."""
        audio = self.sound(of)
        options["legacy"] = True
        sidecar, _ = self.issue(audio, **options)
        return SampleContent(audio=audio, sidecar=sidecar)
