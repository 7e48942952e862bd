"""The same bytes with the same sidecar need one verification: which item has them already, and its answer."""

from collections.abc import Callable
from dataclasses import dataclass

from proofsweep.config.threads import Future, Lock, StopSwitch
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.models import canonical_json
from proofsweep.domain.outcomes import Accepted, Deferred, Finished, Rejected
from proofsweep.files.audio import AudioFile, open_audio
from proofsweep.files.files import Files, kind_of

# A copy that stands further apart is sent again, which is never wrong.
_MOST_ANSWERS = 2_000
_MOST_LETTERS = 16 * 1024 * 1024  # of JSON, whose objects take several times as much memory: an answer has up to 2 MiB
_MOST_SIZES = 100_000  # that are known at once when a run is planned
_MOST_LOOKS = 10_000  # into files of one size; more files of one size may all be copies
_MOST_WAITED_FOR = 3  # items with the same bytes that get no answer, before a copy is sent beside them
_STOP_CHECK_SECONDS = 0.2  # how soon an item that waits for another notices that the leg ends


class PossibleCopies:
    """Counts the items of a plan that may have the bytes of one before them, and so may cost no call.

    Files of one size are looked into, up to a number. Objects are not: their versions tell copies apart.
    """

    def __init__(self, files: Files) -> None:
        self.count = 0
        self._files = files
        self._first: dict[tuple[Mode, int], WorkItem | None] = {}  # of each size, until a second one comes
        self._heads: set[tuple[Mode, int, int | str | None]] = set()
        self._looks = 0

    def add(self, item: WorkItem) -> None:
        if item.audio_bytes is None:
            return
        # A file is looked into only when a second one of its size comes.
        mode_and_size = item.mode, item.audio_bytes
        if mode_and_size not in self._first:
            if len(self._first) < _MOST_SIZES:
                self._first[mode_and_size] = item
            return
        first = self._first[mode_and_size]
        if first is not None:
            self._first[mode_and_size] = None
            self._heads.add((*mode_and_size, self._head_of(first)))
        head = (*mode_and_size, self._head_of(item))
        self.count += head in self._heads
        self._heads.add(head)

    def _head_of(self, item: WorkItem) -> int | str | None:
        """Return what copies have in common; None of a file that is not looked into, or cannot be."""
        if kind_of(item.audio).has_version_of_content:
            return item.audio_version
        if self._looks == _MOST_LOOKS:
            return None
        self._looks += 1
        try:
            with open_audio(item.audio, self._files) as audio:
                return audio.head_digest()
        except SourceError:
            return None


Turn = Future[Finished | None]
"""What an item holds that is sent: others with its key wait for its answer, or for None if it gets none."""


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """What files that may be the same have in common; the sha256 of what was answered then decides."""

    mode: Mode
    size_bytes: int
    head_digest: int  # a checksum of the first bytes
    sidecar_sha256: str | None  # None where there is no sidecar


class DuplicateCache:
    """The newest answers of a leg by duplicate key; safe to use from several threads.

    A file with a known key is read once more to compare its sha256, which costs less than sending it.
    """

    def __init__(self, stop: StopSwitch, make_room: Callable[[], None] = lambda: None) -> None:
        """Begin empty; an item that waits for another calls `make_room`, so that the next one begins."""
        self._stop = stop
        self._make_room = make_room
        self._originals: dict[DuplicateKey, Turn] = {}  # the oldest first
        self._lengths: dict[DuplicateKey, int] = {}  # of the answers among them, the oldest first
        self._lock = Lock()

    def original_of(self, key: DuplicateKey, audio: AudioFile) -> Finished | Turn | None:
        """Give the answered item that has the same bytes, waiting for one in flight.

        Else the caller must verify: with a turn that it must `resolve`, however its work ends, or beside others.
        RunMustStop if the leg ends meanwhile.
        """
        # If an item gets no answer, one of those that waited is sent, and the others wait for it: else all would be
        # paid at once. But copies of a file that always fails must not be sent one after the other for hours.
        for _ in range(_MOST_WAITED_FOR):
            with self._lock:
                first = self._originals.get(key)
                if first is None:
                    self._originals[key] = Turn()
                    return self._originals[key]
            # An item that waits for another makes no call meanwhile, so the next one begins.
            if not first.done():
                self._make_room()
            while not first.done():
                self._stop.rest(_STOP_CHECK_SECONDS)
            original = first.result()
            if original is not None:
                return _if_same(original, key, audio)
        return None

    def resolve(self, key: DuplicateKey, turn: Turn, done: Finished | Deferred | None) -> None:
        """Say what became of an item that has a turn; only an answer serves others, unless it was forgotten before."""
        with self._lock:
            if self._originals.get(key) is not turn:
                return
            if isinstance(done, Finished) and isinstance(done.outcome, Accepted | Rejected):
                response = done.outcome.answer.response
                members = (response.grade, response.interpretation, response.embedded_credential)
                texts = map(canonical_json, members)  # its other texts are short
                self._lengths[key] = sum(map(len, texts))
                turn.set_result(done)
                # An answer has up to 2 MiB, so the oldest ones are forgotten. Their copies are sent again.
                while len(self._lengths) > _MOST_ANSWERS or sum(self._lengths.values()) > _MOST_LETTERS:
                    self._drop(next(iter(self._lengths)))
            else:
                del self._originals[key]
                turn.set_result(None)

    def forget(self) -> None:
        """Forget all answers, also those on their way: a check has shown that they may be wrong."""
        with self._lock:
            for turn in self._originals.values():
                if not turn.done():
                    turn.set_result(None)
            self._originals.clear()
            self._lengths.clear()

    def _drop(self, key: DuplicateKey) -> None:
        del self._originals[key], self._lengths[key]


def _if_same(original: Finished, key: DuplicateKey, audio: AudioFile) -> Finished | None:
    answered = original.read
    # A sidecar may be corrected while its item waits for a fresh slot, so the key is not what was answered.
    if answered is None or answered.sidecar_sha256 != key.sidecar_sha256:
        return None
    return original if audio.read_through() == answered.sha256 else None
