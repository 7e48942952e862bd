"""The same bytes with the same sidecar need one verification only: who came first, and what it was answered."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.items import Mode
from proofsweep.domain.outcomes import Accepted, Deferred, Finished, Rejected
from proofsweep.storage.files.audio import AudioFile

MOST_KEPT = 2_000
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """What files that may be the same have in common; whether they are is for their sha256 to say.

    Attributes:
        glance: a checksum of the first bytes.
        sidecar_sha256: None where there is no sidecar.
    """

    mode: Mode
    size_bytes: int
    glance: int
    sidecar_sha256: str | None


class DuplicateCache:
    """Knows the newest answers of a leg by the mark of their files. Safe to use from several threads.

    A file of a known mark is read once more to compare its sha256, which costs less than sending it; any other file
    is read no more than without this.
    """

    def __init__(
        self, stop: StopSwitch, most_kept: int = MOST_KEPT, make_room: Callable[[], None] = lambda: None
    ) -> None:
        """Keep so many answers; whoever is to wait for another item lets the next one begin with `make_room`."""
        self._stop = stop
        self._most_kept = most_kept
        self._make_room = make_room
        self._firsts: OrderedDict[DuplicateKey, Future[Finished | None]] = OrderedDict()
        self._lock = Lock()

    def original_of(self, mark: DuplicateKey, audio: AudioFile) -> Finished | None:
        """Give the answered item that has the same bytes, waiting for one in hand; None when the caller must verify.

        Whoever comes first with a mark must `settle` it, however its item ends.

        Raises:
            RunMustStop: the leg ends while the first is still in hand.
            SourceError: the file cannot be read, or changes meanwhile.
        """
        with self._lock:
            first = self._firsts.get(mark)
            if first is None:
                self._firsts[mark] = Future()
                return None
        if not first.done():
            self._make_room()
        while not first.done():
            self._stop.rest(_LOOK_SECONDS)
        original = first.result()
        if original is None or original.read is None:
            return None
        return original if audio.read_through() == original.read.sha256 else None

    def settle(self, mark: DuplicateKey, done: Finished | Deferred | None) -> None:
        """Say what became of an item; unless it was answered, the next of its mark is on its own. Once is enough."""
        with self._lock:
            first = self._firsts.get(mark)
            if first is None or first.done():
                return
            is_answered = isinstance(done, Finished) and isinstance(done.outcome, Accepted | Rejected)
            if not is_answered:
                del self._firsts[mark]
            elif len(self._firsts) > self._most_kept:
                self._forget_oldest()
            first.set_result(done if is_answered and isinstance(done, Finished) else None)

    def _forget_oldest(self) -> None:
        oldest = next((mark for mark, first in self._firsts.items() if first.done()), None)
        if oldest is not None:
            del self._firsts[oldest]
