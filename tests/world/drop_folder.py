"""A watched folder of a world: suppliers who deliver songs into it, and the places to which passes move them."""

import hashlib
import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from disk import SHARES
from kernel import here
from music import Music, Song, lay_file, wav_of

_NUMBERS_FROM = 500  # above those of the songs of the catalog
_ACCEPTED_SHARE = 0.7
_CREDENTIAL = b"C2PA\x04\x00\x00\x00here"  # the chunk by which a WAV is known as a delivery of one file
_LONGEST_DELIVERY = 60.0  # seconds, until the last file of one is there
_AT_WORK_SECONDS = 1.0  # in which what was begun on a share before it went may still be written below it


class DeliveredSong(Song):
    """A WAV with a credential inside, or an MP3 with a sidecar beside it."""

    @property
    def audio(self) -> bytes:
        mark = f"delivery {self.number} take {self.take}".encode()
        return b"ID3\x04\x00\x00\x00\x00\x00\x00\xff\xfb\x90\x00" + mark if self.is_pair else wav_of(mark, _CREDENTIAL)


@dataclass(slots=True)
class Content:
    """Bytes that a supplier has laid down whole at a place in the watched folder."""

    name: str
    content: bytes
    at: float  # in seconds of the world
    withdrawn_at: float = math.inf  # when its supplier laid other bytes over it, where it still lay

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass
class DropFolder:
    """The watched folder; `above` holds it and the two places to which files are moved."""

    above: Path
    music: Music
    songs: list[DeliveredSong] = field(default_factory=list)
    contents: list[Content] = field(default_factory=list)
    pieces: list[tuple[str, bytes]] = field(default_factory=list)  # all that was laid down, halves of files too
    below: list[str] = field(default_factory=list)  # what was written below the mount points of shares that were away

    def __post_init__(self) -> None:
        SHARES.clear()
        self.random = here().stream("drop folder")
        self.folder, self.accepted = self.above / "drops", self.above / "accepted"
        self.quarantine = self.above / "quarantine"
        self._begun_below: dict[Path, set[Path]] = {}
        self.folder.mkdir()

    @property
    def config(self) -> str:
        return f'[ingest]\naccepted = "{self.accepted}"\nquarantine = "{self.quarantine}"\n'

    # --- Its shares

    @property
    def places(self) -> tuple[Path, ...]:
        return self.folder, self.accepted, self.quarantine

    def mount(self) -> None:
        """Let each place be a share of its own from now on."""
        for place in self.places:
            place.mkdir(exist_ok=True)
            SHARES.mounted.add(str(place))

    def take_away(self, place: Path, how: str) -> None:
        """Let a share go: its mount point is `gone`, `empty`, or `fails`. Suppliers reach the server all the same.

        Of a target where no pass has written down that it found a share, nobody can say that it is away.
        """
        if _server_of(place).exists() or (place != self.folder and str(place) not in SHARES.seen):
            return
        here().tell("SHARE AWAY", place.name, of="world")
        place.rename(_server_of(place))
        SHARES.mounted.discard(str(place))
        if how != "gone":
            place.mkdir()
        if how == "fails":
            SHARES.unlisted.add(str(place))
        here().at(here().now + _AT_WORK_SECONDS, lambda: self._look_below(place))

    def give_back(self, place: Path) -> None:
        if not _server_of(place).exists():
            return
        here().tell("SHARE BACK", place.name, of="world")
        self._look_below(place, self._begun_below.pop(place, {*place.rglob("*")}))
        shutil.rmtree(place, ignore_errors=True)
        _server_of(place).rename(place)
        SHARES.mounted.add(str(place))
        SHARES.unlisted.discard(str(place))

    def _look_below(self, place: Path, before: set[Path] | None = None) -> None:
        """Remember what lies below a share that is away; name what came there since the first look."""
        there = {*place.rglob("*")} if _server_of(place).exists() else set()
        if before is None:
            self._begun_below[place] = there
        else:
            self.below += [str(path.relative_to(self.above)) for path in sorted(there - before)]

    # --- What suppliers do

    def expect(self, since: float) -> None:
        """Let some songs be delivered from a time on, and what was refused before be delivered once more."""
        for song in list(self.songs):
            if self.random.random() < 0.5:
                here().at(since + self.random.uniform(0.0, 30.0), lambda song=song: self._resend(song))
        for _ in range(self.random.randint(1, 4)):
            here().at(since + self.random.choice((0.0, 0.0, self.random.uniform(0.0, 20.0))), self._deliver)

    def _deliver(self) -> None:
        random, number = self.random, _NUMBERS_FROM + len(self.songs)
        supplier = random.choice(("", "north/", "south/"))
        is_pair = random.random() < 0.35
        song = DeliveredSong(f"{supplier}{number}.{'mp3' if is_pair else 'wav'}", number, is_pair=is_pair)
        self.songs.append(song)
        self._lay(song)

    def _resend(self, song: DeliveredSong) -> None:
        """Deliver a song again: a corrected one if it was refused, else the same bytes under the same name."""
        lying = [_there(self.folder) / name for name in (song.name, f"{song.name}.sidecar")]
        if any(path.exists() for path in lying):  # perhaps a half of it, and its supplier has not sent the other one
            if self.random.random() < 0.3:  # its supplier does not wait for an answer
                self._correct(song)
        elif song.digest in digests_below(_there(self.quarantine)):
            self._correct(song)
        else:
            self._lay(song)

    def _correct(self, song: DeliveredSong) -> None:
        song.take += 1
        self._lay(song)

    def _lay(self, song: DeliveredSong) -> None:
        """Lay the files of a song down, at once or one after the other, and the audio whole or in two pieces."""
        random, world = self.random, here()
        self.music.judge(song, _ACCEPTED_SHARE, random)
        later = world.now + random.uniform(0.0, _LONGEST_DELIVERY)
        ways = ("at once", "sidecar first", "sidecar later") if song.is_pair else ("at once", "at once", "grows")
        way = random.choice(ways)
        world.tell("delivered", song.name, f"take {song.take}", way, of="supplier")
        if way == "grows":
            self._write(song.name, song.audio[: len(song.audio) // 2], is_whole=False)
        elif way == "sidecar first":
            self._write(f"{song.name}.sidecar", song.sidecar)
        else:
            self._write(song.name, song.audio)
        at = later if way != "at once" else world.now
        world.at(at, lambda take=song.take, since=world.now: self._finish(song, take, since))

    def _finish(self, song: DeliveredSong, take: int, since: float) -> None:
        """Lay down what lacks of a song, unless a newer take of it came meanwhile."""
        if song.take != take:
            return
        if song.is_pair:
            self._write(f"{song.name}.sidecar", song.sidecar)
        if not any(each.at >= since and each.content == song.audio for each in self.contents):
            self._write(song.name, song.audio)

    def _write(self, name: str, content: bytes, *, is_whole: bool = True) -> None:
        path = _there(self.folder) / name
        if path.exists():
            before = path.read_bytes()
            if before == content:
                return
            for each in self.contents:
                if each.name == name and each.content == before:
                    each.withdrawn_at = min(each.withdrawn_at, here().now)
        path.parent.mkdir(exist_ok=True)
        lay_file(path, content)
        self.pieces.append((name, content))
        if is_whole:
            self.contents.append(Content(name, content, here().now))

    # --- What lies there

    def was_laid_twice(self, audio: str) -> bool:
        """Whether a place in the watched folder held different bytes, one after the other."""
        return sum(str(self.folder / name) == audio for name, _ in self.pieces) > 1

    def was_withdrawn(self, content: Content) -> bool:
        """Whether its supplier laid other bytes over it where it lay, and it was not delivered again since."""
        same = [each for each in self.contents if each.content == content.content]
        return same[-1].withdrawn_at < math.inf

    @staticmethod
    def files_of(place: Path) -> Iterator[Path]:
        """Name the files in a place and below it, but those that moves hide for a moment."""
        yield from (path for path in _files_below(place) if not _is_hidden(path, place))

    @staticmethod
    def hidden_in(place: Path) -> Iterator[Path]:
        yield from (path for path in _files_below(place) if _is_hidden(path, place))


def _server_of(place: Path) -> Path:
    """Return where a share lies while it is not mounted."""
    return place.with_name(f"{place.name} server")


def _there(place: Path) -> Path:
    return _server_of(place) if _server_of(place).exists() else place


def digests_below(place: Path) -> set[str]:
    return {hashlib.sha256(path.read_bytes()).hexdigest() for path in _files_below(place)}


def _files_below(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*") if path.is_file())


def _is_hidden(path: Path, place: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(place).parts)
