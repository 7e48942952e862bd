"""The sample factory: make audio, and issue proofs for it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Unpack

from proofsweep_sandbox.operator_client import Issued, IssueOptions, Operator

Sound = Callable[[float, Random], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleContent:
    """The bytes of a sample; `size_bytes` extends the audio to a sparse file of that size."""

    audio: bytes
    sidecar: bytes | None = None
    size_bytes: int | None = None


class SampleFactory:
    """Makes audio of `seconds` length with the random numbers of `chance`; `folder` holds its temporary files."""

    def __init__(self, operator: Operator, folder: Path, chance: Random, seconds: float) -> None:
        self.operator = operator
        self._chance = chance
        self._seconds = seconds
        self._source = folder / "source"
        self._sealed = folder / "sealed"

    def sound(self, of: Sound) -> bytes:
        """Return new audio."""
        return of(self._seconds, self._chance)

    def issue(self, audio: bytes, **options: Unpack[IssueOptions]) -> tuple[bytes, Issued]:
        """Issue a proof for this audio; return the bytes of the credentialed copy or of the sidecar."""
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
