"""The studio: where the bytes of samples are made, with an operator who issues proofs for them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Unpack

from sandbox.operator import Issued, Operator, Order

Sound = Callable[[float, Random], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Master:
    """The bytes of a sample before it has a name; `size_bytes` stretches the audio by a hole in the file."""

    audio: bytes
    sidecar: bytes | None = None
    size_bytes: int | None = None


class Studio:
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

    def issue(self, audio: bytes, **order: Unpack[Order]) -> tuple[bytes, Issued]:
        """Return what is sealed for this audio: a credentialed copy or a sidecar."""
        self._source.write_bytes(audio)
        order.setdefault("song", f"Song {self._chance.getrandbits(32):08x}")
        issued = self.operator.issue(self._source, self._sealed, **order)
        return self._sealed.read_bytes(), issued

    def pair(self, of: Sound, **order: Unpack[Order]) -> Master:
        """Return audio with its sidecar."""
        audio = self.sound(of)
        order["legacy"] = True
        sidecar, _ = self.issue(audio, **order)
        return Master(audio=audio, sidecar=sidecar)
