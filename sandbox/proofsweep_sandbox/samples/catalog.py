"""A sample catalog: folders of samples with unusual names, and of other files."""

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from proofsweep_sandbox.operator_client import Operator
from proofsweep_sandbox.samples.kinds import KINDS, SampleContent, SampleFactory, SampleKind

_CONTENTS_PER_KIND = 24
_STEM_EVERY = 7

# File names that people use and that programs often handle wrongly.
_TITLES = (
    "Intro",
    "Night Drive",
    "100% Pure",
    "Take #9",
    "Don't Look",
    'The "Real" One',
    unicodedata.normalize("NFC", "Señorita Café"),
    unicodedata.normalize("NFD", "Überhöhe Naïve"),
    "夜明けの歌",
    "Two  Spaces",
    "A & B; C = D",
    "50%25 Off",
    "Что это",
    "Smile 😀",
    "[Brackets] {Braces} (Live)",
    "Comma, Semicolon",
    "Ends with dot.",
    "question mark",
    "back\\slash",
    "~tilde + plus",
)
_RELEASES = ("First Light", "Déjà Vu", "Volume #2", "B-Sides & Rarities", "Live at 99%", "静かな海")
_TRACKS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One audio file of a catalog, with its expected verdict; None if no call may be made for it."""

    audio: Path
    sidecar: Path | None
    verdict: str | None
    kind: str


def write_catalog(folder: Path, operator: Operator, *, files: int, seed: int = 1) -> list[Sample]:
    """Write a catalog of `files` audio files into `folder` and return its samples with their verdicts.

    A catalog of 6 files has every verdict; one of 26 files has every kind of sample. Names, kinds and order depend only
    on the seed. Each folder also holds a picture and a text; the first one holds a sidecar without audio.
    """
    chance = Random(seed)  # noqa: S311 - repeatable on purpose
    kinds = _drawn(files, chance)
    samples: list[Sample] = []
    with TemporaryDirectory() as work_folder:
        factory = SampleFactory(operator, Path(work_folder), chance)
        contents = {kind.name: _recurring(factory, kind) for kind in kinds}
        for index, kind in enumerate(kinds):
            content = next(contents[kind.name])
            samples.append(_written(folder, index, kind, content))
    for release in {sample.audio.parent for sample in samples}:
        (release / "cover.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00")
        (release / "notes.txt").write_text("Recorded at home.\n")
    if samples:
        lost = samples[0].audio.parent / "Lost Tape.wav.sidecar"
        lost.write_text("{}")
    return samples


def _drawn(files: int, chance: Random) -> list[SampleKind]:
    """Return one of each kind and then a weighted choice, shuffled."""
    weights = [kind.weight for kind in KINDS]
    further = max(0, files - len(KINDS))
    kinds = list(KINDS[:files])
    kinds += chance.choices(KINDS, weights, k=further)
    chance.shuffle(kinds)
    return kinds


def _recurring(factory: SampleFactory, kind: SampleKind) -> Iterator[SampleContent]:
    """Yield new contents up to the limit, then the same ones again and again."""
    # Each new content costs a call of the operator.
    made: list[SampleContent] = []
    for _ in range(_CONTENTS_PER_KIND):
        content = kind.make(factory)
        made.append(content)
        yield content
    while True:
        yield from made


def _written(folder: Path, index: int, kind: SampleKind, content: SampleContent) -> Sample:
    number, track = divmod(index, _TRACKS)
    release_title = _RELEASES[number % len(_RELEASES)]
    release = folder / f"{number + 1:03d} {release_title}"
    release.mkdir(parents=True, exist_ok=True)
    title = _TITLES[index % len(_TITLES)]
    stem = f"{track + 1:02d} {title}"
    audio = release / f"{stem}{kind.suffix}"
    audio.write_bytes(content.audio)
    if content.size_bytes is not None:
        os.truncate(audio, content.size_bytes)
    sidecar = None
    if content.sidecar is not None:
        # A sidecar is named by the audio's whole name; some by its stem alone.
        named_by = stem if index % _STEM_EVERY == 0 else audio.name
        sidecar = release / f"{named_by}.sidecar"
        sidecar.write_bytes(content.sidecar)
    return Sample(audio=audio, sidecar=sidecar, verdict=kind.verdict, kind=kind.name)
