"""The audio files of a world, and what its partner says about each."""

import base64
import hashlib
import os
import random
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path

from kernel import EPOCH, here
from partner import Judgement, Partner

_REFUSALS = ("tampered", "unregistered", "unreadable", "local_seal", "quantumSealed")
_CONTRADICTING_SHARE = 0.03  # answers whose `good` and verdict say different things
_ACCEPTED_SHARE = 0.85  # most of a catalog is genuine, else a leg rightly doubts its registry


@dataclass(slots=True)
class Song:
    name: str
    number: int
    take: int = 1  # grows when other bytes are delivered under the same name
    is_pair: bool = False
    twin_of: int | None = None  # another song with the same bytes
    is_there: bool = True

    @property
    def audio(self) -> bytes:
        return wav_of(f"song {self.twin_of or self.number} take {self.take}".encode())

    @property
    def sidecar(self) -> bytes:
        return f"proof of {self.number} take {self.take}".encode()

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.audio).hexdigest()

    @property
    def proof(self) -> str:
        return f"p-{self.number:03}-{self.take}"

    @property
    def key(self) -> tuple[str, str]:
        """Return what the partner knows it by: the digests of its audio and of its sidecar on the wire."""
        wire = base64.b64encode(self.sidecar)
        return self.digest, hashlib.sha256(wire).hexdigest() if self.is_pair else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """What came to lie under a name: the digest of an item's audio, or the items of a list; empty for nothing."""

    at: float
    name: str
    digest: str = ""
    items: tuple[str, ...] = ()


@dataclass
class Music:
    """A folder of songs. Its history tells what lay there when."""

    folder: Path
    partner: Partner
    songs: list[Song] = field(default_factory=list)
    history: list[Laid] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = here().stream("music")
        self._contradictions = here().stream("contradictions")

    def make(self, count: int) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for _ in range(count):
            self.add()

    def add(self) -> Song:
        random = self.random
        number = len(self.songs) + 1
        album = random.choice(("", "a/", "b/"))
        song = Song(f"{album}{number:03}.wav", number, is_pair=random.random() < 0.2)
        if number > 3 and random.random() < 0.1 and not song.is_pair:
            song.twin_of = random.randrange(1, number - 1)
        self.songs.append(song)
        self.write(song)
        return song

    def write(self, song: Song) -> None:
        """Lay the bytes of a song into the folder; the partner knows them."""
        path = self.folder / song.name
        path.parent.mkdir(parents=True, exist_ok=True)
        lay_file(path, song.audio)
        self.history.append(Laid(at=here().now, name=self.item_of(song.name), digest=song.key[0]))
        if song.is_pair:
            lay_file(path.with_name(f"{path.name}.sidecar"), song.sidecar)
        self.judge(song, _ACCEPTED_SHARE, self.random)

    def judge(self, song: Song, accepted_share: float, chance: random.Random) -> None:
        """Let the partner know the bytes of a song."""
        is_good = chance.random() < accepted_share
        verdict = "valid" if is_good else chance.choice(_REFUSALS)
        judgement = Judgement(verdict, song.proof)
        judgement.contradicts_itself = self._contradictions.random() < _CONTRADICTING_SHARE
        self.partner.judgements.setdefault(song.key, judgement)

    def change(self, song: Song) -> None:
        """Deliver other bytes under the same name."""
        song.take += 1
        song.twin_of = None
        self.write(song)

    def remove(self, song: Song) -> None:
        song.is_there = False
        self.history.append(Laid(at=here().now, name=self.item_of(song.name)))
        path = self.folder / song.name
        path.unlink()
        if path.parent != self.folder and not any(path.parent.iterdir()):
            path.parent.rmdir()  # an empty folder may be the point of a mount whose share is away

    def item_of(self, name: str) -> str:
        """Return the ID that a song has as an item of the folder."""
        return hashlib.sha256(f"{self.folder.name}\0{name}\0".encode()).hexdigest()[:32]

    @property
    def there(self) -> list[Song]:
        return [song for song in self.songs if song.is_there]

    def write_list(self, name: str, songs: list[Song]) -> Path:
        """Write a manifest of some songs beside the folder; each has the ID that the folder gives it."""
        path = self.folder.parent / name
        lines = ["id,audio,sidecar"]
        for song in songs:
            sidecar = f"{self.folder.name}/{song.name}.sidecar" if song.is_pair else ""
            lines.append(f"{self.item_of(song.name)},{self.folder.name}/{song.name},{sidecar}")
        self.history.append(Laid(at=here().now, name=str(path), items=tuple(self.item_of(song.name) for song in songs)))
        lay_file(path, "\n".join(lines).encode())
        return path


def lay_file(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    modified_at = EPOCH - 86_400 + here().now
    os.utime(path, (modified_at, modified_at))


def wav_of(mark: bytes, more_chunks: bytes = b"") -> bytes:
    data = mark.ljust(64, b"\0")
    data_chunk = b"data" + struct.pack("<I", len(data)) + data
    form = struct.pack("<HHIIHH", 1, 1, 8_000, 16_000, 2, 16)
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + data_chunk + more_chunks
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks
