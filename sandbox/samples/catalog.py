"""The catalog: samples under odd names in release folders, between things that are no audio."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from sandbox.operator_client import Operator
from sandbox.samples.factory import SampleContent, SampleFactory
from sandbox.samples.kinds import KINDS, SampleKind
from sandbox.samples.titles import folder_of, stem_of

# Sealing takes some milliseconds. Beyond so many of a kind the bytes recur under other names: large catalogs are quick.
_CONTENTS_PER_KIND = 24
_STEM_EVERY = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One audio file of a catalog, and the answer that it must get; None where no call may be spent on it."""

    audio: Path
    sidecar: Path | None
    verdict: str | None
    kind: str

    @property
    def is_ineligible(self) -> bool:
        """Whether this file can never be sent."""
        return self.verdict is None


def write_catalog(folder: Path, operator: Operator, *, files: int, seed: int = 1, seconds: float = 0.1) -> list[Sample]:
    """Write a catalog of `files` audio files into `folder` and say how each must be answered.

    From 26 files on every kind of sample is there at least once, from 6 on every verdict. Names, kinds and their order
    depend on the seed alone. Each release folder also holds a picture and a text, and the first one an orphan sidecar.
    """
    chance = Random(seed)  # noqa: S311 - repeatable on purpose
    kinds = _drawn(files, chance)
    with TemporaryDirectory() as desk:
        masters = _masters(SampleFactory(operator, Path(desk), chance, seconds), kinds)
        samples = [_written(folder, at, kind, next(masters[kind.name])) for at, kind in enumerate(kinds)]
    for release in dict.fromkeys(sample.audio.parent for sample in samples):
        (release / "cover.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00")
        (release / "notes.txt").write_text("Recorded at home.\n")
    if samples:
        (samples[0].audio.parent / "Lost Tape.wav.sidecar").write_text("{}")
    return samples


def _drawn(files: int, chance: Random) -> list[SampleKind]:
    """Return one of each kind and then a weighted choice, shuffled."""
    rest = chance.choices(KINDS, [kind.weight for kind in KINDS], k=max(0, files - len(KINDS)))
    drawn = [*KINDS[:files], *rest]
    chance.shuffle(drawn)
    return drawn


def _masters(factory: SampleFactory, kinds: list[SampleKind]) -> dict[str, Iterator[SampleContent]]:
    return {kind.name: _recurring(factory, kind) for kind in kinds}


def _recurring(factory: SampleFactory, kind: SampleKind) -> Iterator[SampleContent]:
    """Yield new masters as long as they may be new, then the same ones over again."""
    made: list[SampleContent] = []
    for master in (kind.make(factory) for _ in range(_CONTENTS_PER_KIND)):
        made.append(master)
        yield master
    while True:
        yield from made


def _written(folder: Path, at: int, kind: SampleKind, master: SampleContent) -> Sample:
    release = folder / folder_of(at)
    release.mkdir(parents=True, exist_ok=True)
    stem = stem_of(at)
    audio = release / f"{stem}{kind.suffix}"
    audio.write_bytes(master.audio)
    if master.size_bytes is not None:
        os.truncate(audio, master.size_bytes)
    if master.sidecar is None:
        return Sample(audio=audio, sidecar=None, verdict=kind.verdict, kind=kind.name)
    sidecar = release / f"{stem if at % _STEM_EVERY == 0 else audio.name}.sidecar"
    sidecar.write_bytes(master.sidecar)
    return Sample(audio=audio, sidecar=sidecar, verdict=kind.verdict, kind=kind.name)
