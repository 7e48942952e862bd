"""The same bytes with the same sidecar need one verification: which item has them already, and its answer."""

from collections.abc import Callable
from dataclasses import dataclass

from proofsweep.config.threads import Future, Lock, StopSwitch
from proofsweep.domain.items import Mode
from proofsweep.domain.outcomes import Accepted, Deferred, Finished, Rejected
from proofsweep.sources.audio import AudioFile

_MOST_ANSWERS = 2_000  # of some 10 KiB each. A copy that stands further apart is sent again, which is never wrong
_STOP_CHECK_SECONDS = 0.2  # how soon an item that waits for another notices that the leg ends


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
        self._originals: dict[DuplicateKey, Future[Finished | None]] = {}  # the oldest first
        self._lock = Lock()

    def original_of(self, key: DuplicateKey, audio: AudioFile) -> Finished | None:
        """Give the answered item that has the same bytes, waiting for one in flight; None when the caller must verify.

        The first item with a key must `settle` it, however its work ends. RunMustStop if the leg ends meanwhile.
        """
        with self._lock:
            first = self._originals.get(key)
            if first is None:
                self._originals[key] = Future()
                return None
        if not first.done():
            self._make_room()
        while not first.done():
            self._stop.rest(_STOP_CHECK_SECONDS)
        original = first.result()
        answered = None if original is None else original.read
        # A sidecar may be corrected while its item waits for a fresh slot, so the key is not what was answered.
        if answered is None or answered.sidecar_sha256 != key.sidecar_sha256:
            return None
        return original if audio.read_through() == answered.sha256 else None

    def settle(self, key: DuplicateKey, done: Finished | Deferred | None) -> None:
        """Say what became of an item; only an answer serves others. A second call for a key does nothing."""
        with self._lock:
            first = self._originals.get(key)
            if first is None or first.done():
                return
            answered = done if isinstance(done, Finished) and isinstance(done.outcome, Accepted | Rejected) else None
            if answered is None:
                del self._originals[key]
            elif len(self._originals) > _MOST_ANSWERS:
                oldest = next((each for each, begun in self._originals.items() if begun.done()), None)
                if oldest is not None:
                    del self._originals[oldest]
            first.set_result(answered)

    def forget(self) -> None:
        """Forget all answers: a check has shown that they may be wrong."""
        with self._lock:
            for key in [key for key, first in self._originals.items() if first.done()]:
                del self._originals[key]
