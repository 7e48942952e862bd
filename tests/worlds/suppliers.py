"""Suppliers who deliver into a watched folder, each in the ways of the trade, and where each of their bytes belongs."""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .ddex_messages import Sending, Track, batch_manifest, purge, sent

Stage = dict[str, bytes]
"""Files that are laid down together, by their paths below the supplier's folder."""
_FORMAT = b"fmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0"
_CREDENTIAL = b"C2PA\x08\0\0\0issued !"


def song_of(number: int) -> bytes:
    """Return a WAV with a credential inside, other than all others."""
    data = b"data\x08\0\0\0" + number.to_bytes(8, "big")
    chunks = b"WAVE" + _FORMAT + data + _CREDENTIAL
    return b"RIFF" + len(chunks).to_bytes(4, "little") + chunks


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Suppliers:
    """Deliveries that come in stages; a stage comes when those before it were laid down, and perhaps taken away."""

    folder: Path  # the watched one
    verdicts: dict[str, str]  # of the service, by the digest of the audio
    chance: random.Random
    suppliers: int = 12
    accepted: Counter[str] = field(default_factory=Counter)  # the digests of all that belongs there in the end
    quarantined: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    paid: set[str] = field(default_factory=set)  # the digests of the audio that must be sent, each once
    laid: Counter[str] = field(default_factory=Counter)
    _number: int = 0
    _deliveries: int = 0
    _coming: list[tuple[str, Iterator[Stage]]] = field(default_factory=list)

    @property
    def kinds(self) -> list[Callable[[str], Iterator[Stage]]]:
        return [
            *(self._loose, self._grows, self._resent, self._pair, self._own_list, self._folder_list, self._bag),
            *(self._single, self._batch, self._update, self._repeated, self._two_at_once, self._metadata),
            *(self._takedown, self._withdrawn, self._test, self._clip, self._late_message, self._corrected_message),
            *(self._cut_message, self._unlabelled, self._healed_batch, self._healed_at_its_place, self._healed_file),
        ]

    def deliver(self, count: int) -> None:
        """Let so many deliveries begin, of all kinds in turn."""
        for _ in range(count):
            kind = self.kinds[self._deliveries % len(self.kinds)]
            supplier = f"supplier{self.chance.randrange(self.suppliers)}"
            place = f"{supplier}/{kind.__name__.strip('_')}{self._deliveries}"
            self._deliveries += 1
            self._coming.append((place, kind(place)))

    def lay_some(self) -> bool:
        """Lay down the next stage of most deliveries; say whether one is still to come."""
        left: list[tuple[str, Iterator[Stage]]] = []
        self.chance.shuffle(self._coming)
        for place, stages in self._coming:
            if self.chance.random() < 0.3:
                left.append((place, stages))
                continue
            stage = next(stages, None)
            if stage is None:
                continue
            left.append((place, stages))
            for name, content in stage.items():
                path = self.folder / place / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                self.laid[digest_of(content)] += 1
        self._coming = left
        return bool(left)

    # --- What files are

    def _song(self, *, is_good: bool = True, is_sent: bool = True) -> bytes:
        self._number += 1
        content = song_of(self._number)
        self.verdicts[digest_of(content)] = "valid" if is_good else "tampered"
        if is_sent:
            self.paid.add(digest_of(content))
        return content

    def _expect(self, where: Counter[str], *stages: Stage) -> None:
        for stage in stages:
            where.update(map(digest_of, stage.values()))

    def _drawn(self) -> tuple[bytes, Counter[str]]:
        """Make a song, with the place where its bytes belong."""
        is_good = self.chance.random() < 0.6
        return self._song(is_good=is_good), self.accepted if is_good else self.quarantined

    def _until_gone(self, place: str, name: str) -> Iterator[Stage]:
        """Come with nothing as long as a file lies where it was delivered."""
        while (self.folder / place / name).exists():
            yield {}

    def _message(self, place: str, *tracks: Track, day: int = 1, is_test: bool = False) -> bytes:
        icpn = f"{int(hashlib.sha256(place.encode()).hexdigest()[:10], 16):013}"
        sender = f"PADPIDA{place.split('/', maxsplit=1)[0][-6:].upper()}"
        created = f"2026-11-{day:02}T12:00:00+00:00"
        facts = {"message_id": f"M-{place}-{day}", "thread_id": place, "created": created, "icpn": icpn}
        return Sending(version="43", sender=sender, tracks=tracks, is_test=is_test, **facts).content()

    def _release(self, folder: str, place: str, day: int = 1, **songs: bytes) -> Stage:
        """Return the files of a release: its message, which declares their digests, its audio and its cover."""
        tracks = [Track(isrc=f"QZ{day}", files=[sent(f"resources/{name}.wav", song)]) for name, song in songs.items()]
        name = Path(folder or place).name
        message = self._message(place, *tracks, day=day)
        cover = {"resources/cover.jpg": f"\xff\xd8 {place} {folder} {day}".encode()}
        files = {f"resources/{each}.wav": song for each, song in songs.items()} | cover
        files[f"{name}.xml"] = message
        return {str(Path(folder, path)): content for path, content in files.items()}

    # --- Loose files

    def _loose(self, _place: str) -> Iterator[Stage]:
        song, where = self._drawn()
        stage = {"a.wav": song}
        self._expect(where, stage)
        yield stage

    def _grows(self, _place: str) -> Iterator[Stage]:
        song, where = self._drawn()
        yield {"a.wav": song[: len(song) // 2]}
        self._expect(where, {"a.wav": song})
        yield {"a.wav": song}

    def _resent(self, place: str) -> Iterator[Stage]:
        bad, good = {"a.wav": self._song(is_good=False)}, {"a.wav": self._song()}
        self._expect(self.quarantined, bad)
        yield bad
        yield from self._until_gone(place, "a.wav")
        self._expect(self.accepted, good)
        yield good

    def _pair(self, place: str) -> Iterator[Stage]:
        song, where = self._drawn()
        audio = b"ID3\x04\0\0\0\0\0\0\xff\xfb\x90\0" + song
        self.verdicts[digest_of(audio)] = self.verdicts.pop(digest_of(song))
        self.paid ^= {digest_of(song), digest_of(audio)}
        stages = [{"a.mp3": audio}, {"a.mp3.sidecar": f"proof {place}".encode()}]
        self.chance.shuffle(stages)
        self._expect(where, *stages)
        yield from stages

    def _own_list(self, _place: str) -> Iterator[Stage]:
        song = self._song()
        digest = hashlib.md5(song, usedforsecurity=False).hexdigest()
        yield {"a.wav": song, "a.wav.md5": f"{'0' * 32}  a.wav\n".encode()}
        right = {"a.wav.md5": f"{digest}  a.wav\n".encode()}
        self._expect(self.accepted, {"a.wav": song}, right)
        yield {}
        yield right

    def _folder_list(self, place: str) -> Iterator[Stage]:
        """Send a list of two files; the next take of one of them is none of the list's."""
        first, other, second = self._song(is_good=False), self._song(), self._song()
        digests = [hashlib.md5(song, usedforsecurity=False).hexdigest() for song in (first, other)]
        lists = {"md5sums.txt": f"{digests[0]}  a.wav\n{digests[1]}  b.wav\n".encode()}
        self._expect(self.quarantined, {"a.wav": first})
        self._expect(self.accepted, {"b.wav": other}, {"a.wav": second})
        self._expect(self.left, lists)
        yield {"a.wav": first} | lists
        yield from self._until_gone(place, "a.wav")
        yield {"a.wav": second}
        yield {"b.wav": other}

    def _bag(self, place: str) -> Iterator[Stage]:
        songs = {f"data/{name}.wav": self._song() for name in "ab"}
        lines = (f"{hashlib.md5(song, usedforsecurity=False).hexdigest()}  {name}\n" for name, song in songs.items())
        papers = {"bagit.txt": f"BagIt-Version: 1.0\n{place}".encode(), "manifest-md5.txt": "".join(lines).encode()}
        self._expect(self.accepted, songs)
        self._expect(self.left, papers)
        yield papers
        yield songs

    # --- Releases

    def _single(self, place: str) -> Iterator[Stage]:
        song, where = self._drawn()
        stage = self._release("", place, a=song)
        self._expect(where, stage)
        yield stage

    def _batch(self, place: str) -> Iterator[Stage]:
        """Send two releases, and say at the end that all is sent; one bad file holds all of it back."""
        batch = f"202611{self._number:011}"
        songs = [self._drawn() for _ in range(2)]
        stages = [self._release(f"{batch}/r{at}", f"{place}/{at}", a=song) for at, (song, _) in enumerate(songs)]
        stages.append({f"{batch}/manifest.xml": batch_manifest(place, ["r0/r0.xml", "r1/r1.xml"])})
        is_whole = all(where is self.accepted for _, where in songs)
        self._expect(self.accepted if is_whole else self.quarantined, *stages)
        yield from stages

    def _update(self, place: str) -> Iterator[Stage]:
        """Send a release with a bad file, of which the other comes late; and an update in another folder meanwhile."""
        first = self._release("r", place, a=self._song(is_good=False), b=self._song())
        late = {name: first.pop(name) for name in ["r/resources/b.wav"]}
        update = self._release("r_2", place, 2, a=self._song())
        self._expect(self.quarantined, {"a": first["r/resources/a.wav"]})
        whole = {name: content for name, content in first.items() if name != "r/resources/a.wav"}
        self._expect(self.accepted, update, late, whole)
        yield first
        yield update | late

    def _bad_batch(self, place: str) -> tuple[str, Stage, Stage]:
        """Return a batch's name, its good release with the completion file, and its bad release."""
        batch = f"202612{self._number:011}"
        good = self._release(f"{batch}/r0", f"{place}/0", a=self._song())
        good |= {f"{batch}/manifest.xml": batch_manifest(place, ["r0/r0.xml", "r1/r1.xml"])}
        return batch, good, self._release(f"{batch}/r1", f"{place}/1", a=self._song(is_good=False))

    def _healed_batch(self, place: str) -> Iterator[Stage]:
        """Send a batch with a bad release, and that release once more as a batch of its own."""
        batch, good, bad = self._bad_batch(place)
        audio = {name: content for name, content in bad.items() if name.endswith(".wav")}
        other = f"202701{self._number:011}"
        healed = self._release(f"{other}/r1", f"{place}/1", 2, a=self._song())
        healed |= {f"{other}/manifest.xml": batch_manifest(f"{place}/2", ["r1/r1.xml"])}
        papers = {name: content for name, content in bad.items() if name not in audio}
        self._expect(self.quarantined, audio)
        self._expect(self.accepted, good, papers, healed)
        yield bad
        yield good
        yield from self._until_gone(place, f"{batch}/manifest.xml")
        yield healed

    def _healed_at_its_place(self, place: str) -> Iterator[Stage]:
        """Send a batch with a bad release, and that release once more into the folder of the batch."""
        batch, good, bad = self._bad_batch(place)
        healed = self._release(f"{batch}/r1", f"{place}/1", 2, a=self._song())
        healed |= {f"{batch}/manifest.xml": batch_manifest(f"{place}/2", ["r1/r1.xml"])}
        replaced = {name: content for name, content in (good | bad).items() if name in healed}
        kept = {name: content for name, content in good.items() if name not in healed}
        self._expect(self.quarantined, replaced)
        self._expect(self.accepted, kept, healed)
        yield bad
        yield good
        yield from self._until_gone(place, f"{batch}/manifest.xml")
        yield healed

    def _healed_file(self, place: str) -> Iterator[Stage]:
        """Send a release with a bad file beside its message, and that file once more, alone."""
        tracks = [Track(isrc="QZ1", files=["a.wav"]), Track(isrc="QZ2", files=["b.wav"])]
        message = {f"{Path(place).name}.xml": self._message(place, *tracks)}
        good, bad, healed = {"a.wav": self._song()}, {"b.wav": self._song(is_good=False)}, {"b.wav": self._song()}
        self._expect(self.quarantined, bad)
        self._expect(self.accepted, message, good, healed)
        yield message | good | bad
        yield from self._until_gone(place, "b.wav")
        yield healed

    def _repeated(self, place: str) -> Iterator[Stage]:
        """Send a release, and all of it once more in another folder, in another order: it costs nothing."""
        song, other = self._song(), self._song()
        first, again = self._release("r", place, a=song, b=other), self._release("r_2", place, 2, b=other, a=song)
        self._expect(self.accepted, first, again)
        yield first
        yield from self._until_gone(place, "r/r.xml")
        yield again

    def _two_at_once(self, place: str) -> Iterator[Stage]:
        bad, good = (
            self._release(name, place, day, a=self._song(is_good=day == 2)) for day, name in ((1, "p"), (2, "q"))
        )
        self._expect(self.quarantined, bad)
        self._expect(self.accepted, good)
        yield bad | good

    def _metadata(self, place: str) -> Iterator[Stage]:
        stage = {f"{Path(place).name}.xml": self._message(place, Track(isrc="QZ1"))}
        self._expect(self.accepted, stage)
        yield stage

    def _takedown(self, place: str) -> Iterator[Stage]:
        release = self._release("r", place, a=self._song())
        takedown = {"purge/purge.xml": purge(self._purging(place))}
        self._expect(self.accepted, release, takedown)
        yield release
        yield from self._until_gone(place, "r/r.xml")
        yield takedown

    def _withdrawn(self, place: str) -> Iterator[Stage]:
        """Withdraw a release before anybody looks at it: both stay where they are."""
        stage = self._release("r", place, a=self._song(is_sent=False)) | {
            "purge/purge.xml": purge(self._purging(place))
        }
        self._expect(self.left, stage)
        yield stage

    def _purging(self, place: str) -> Sending:
        icpn = f"{int(hashlib.sha256(place.encode()).hexdigest()[:10], 16):013}"
        sender = f"PADPIDA{place.split('/', maxsplit=1)[0][-6:].upper()}"
        return Sending(version="43", sender=sender, icpn=icpn, created="2026-11-20T12:00:00+00:00", message_id=place)

    def _test(self, place: str) -> Iterator[Stage]:
        song = self._song(is_sent=False)
        message = self._message(place, Track(isrc="QZ1", files=["a.wav"]), is_test=True)
        stage = {f"{Path(place).name}.xml": message, "a.wav": song}
        self._expect(self.left, stage)
        yield stage

    def _clip(self, place: str) -> Iterator[Stage]:
        song, clip = self._song(), self._song(is_sent=False)
        tracks = [Track(isrc="QZ1", files=["a.wav"]), Track(isrc="QZ1", files=["clip.wav"], is_clip=True)]
        stage = {f"{Path(place).name}.xml": self._message(place, *tracks), "a.wav": song, "clip.wav": clip}
        self._expect(self.accepted, stage)
        yield stage

    def _late_message(self, place: str) -> Iterator[Stage]:
        song, where = self._drawn()
        release = self._release("", place, a=song)
        message = {name: release.pop(name) for name in [f"{Path(place).name}.xml"]}
        self._expect(where, release, message)
        yield release
        yield {}
        yield message

    def _corrected_message(self, place: str) -> Iterator[Stage]:
        """Declare a wrong digest, and correct it while another file of the release is still on its way."""
        song, other = self._song(), self._song()
        right = self._release("", place, a=song, b=other)
        name = f"{Path(place).name}.xml"
        wrong = right[name].replace(hashlib.md5(song, usedforsecurity=False).hexdigest().encode(), b"0" * 32)
        self._expect(self.accepted, right)
        late = {each: right.pop(each) for each in ("resources/b.wav", name)}
        yield right | {name: wrong}
        yield {}
        yield late

    def _cut_message(self, place: str) -> Iterator[Stage]:
        song, where = self._drawn()
        release = self._release("", place, a=song)
        name = f"{Path(place).name}.xml"
        message = release.pop(name)
        self._expect(where, release, {name: message})
        yield release | {name: message[: len(message) // 2]}
        yield {}
        yield {name: message}

    def _unlabelled(self, place: str) -> Iterator[Stage]:
        """Send what no pass can take, beside a song."""
        song = {"a.wav": self._song()}
        others = {"r.zip": f"PK\3\4{place}".encode(), "b.wav.part": f"RIFF {place}".encode()}
        self._expect(self.accepted, song)
        self._expect(self.left, others)
        yield song | others
