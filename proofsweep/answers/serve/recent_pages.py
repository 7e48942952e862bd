"""Pages that were made just now: many readers of a page cost as much as one."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# How old a page may be. Chosen: any value from 15 to 300 does; a run that begins or ends has another page at once.
_PAGE_SECONDS = 60.0

# Pages in memory; some have a megabyte. Chosen: what a few readers look at.
_MOST_PAGES = 16

# Pages that are made at once. Chosen: each may read the whole store with a gigabyte of memory.
_AT_ONCE = 2


@dataclass(slots=True)
class _Slot:
    lock: threading.Lock = field(default_factory=threading.Lock)
    text: str = ""
    made_at: float = float("-inf")


class RecentPages:
    """Makes each page at most once in a while, and never twice at the same time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._making = threading.Semaphore(_AT_ONCE)
        self._slots: dict[tuple[str, ...], _Slot] = {}

    def page(self, key: tuple[str, ...], make: Callable[[], str]) -> str:
        """Return the page of a key; whoever asks while it is made waits for it. An error is not kept."""
        with self._lock:
            slot = self._slots.pop(key, None) or _Slot()
            self._slots[key] = slot  # the last that was asked for
            while len(self._slots) > _MOST_PAGES:
                del self._slots[next(iter(self._slots))]
        with slot.lock:
            if self._clock() - slot.made_at > _PAGE_SECONDS:
                with self._making:
                    slot.text = make()
                slot.made_at = self._clock()
            return slot.text
