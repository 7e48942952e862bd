"""Which of several messages of a release is in force. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from proofsweep.catalog.deliveries.messages import ErnMessage

_NEVER: Final = (float("-inf"), "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What decides between messages, without what they say of recordings.

    Attributes:
        number: counts the messages of a scan.
        location: of the message's file.
        ids: of its release, with their kinds.
    """

    number: int
    location: str
    is_purge: bool
    is_test: bool
    has_files: bool
    created: float
    sender: str
    message_id: str
    thread_id: str
    ids: tuple[str, ...]
    release_id: str

    @property
    def order(self) -> tuple[float, str, str]:
        """Sort messages from the oldest to the newest; a purge without a date withdraws all."""
        return self.created or (float("inf") if self.is_purge else 0.0), self.message_id, self.location


def header_of(message: ErnMessage, number: int, location: str) -> Header:
    """Return what decides between a message and others."""
    return Header(
        number=number,
        location=location,
        is_purge=message.is_purge,
        is_test=message.is_test,
        has_files=message.has_files,
        created=message.created,
        sender=message.sender,
        message_id=message.message_id,
        thread_id=message.thread_id,
        ids=message.ids,
        release_id=message.release_id,
    )


class Threads:
    """The messages of each release, from the oldest to the newest, and when it was withdrawn."""

    def __init__(self, headers: Iterable[Header]) -> None:
        """Sort the messages of a whole scan."""
        self._threads: dict[int, list[Header]] = {}
        self._withdrawn: dict[tuple[str, ...], tuple[float, str, str]] = {}
        by_key: dict[tuple[str, ...], list[Header]] = {}
        for header in sorted(headers, key=lambda each: each.order):
            keys = _keys_of(header)
            if header.is_purge:
                if not header.is_test:
                    self._withdrawn.update(dict.fromkeys(keys, header.order))
                continue
            thread = next((by_key[key] for key in keys if key in by_key), None) or []
            by_key.update(dict.fromkeys(keys, thread))
            thread.append(header)
            self._threads[header.number] = thread

    def thread_of(self, number: int) -> Sequence[Header]:
        """Return all messages of the release of a message, the newest last; none of one that withdraws a release."""
        return self._threads.get(number, ())

    @property
    def releases(self) -> int:
        """Return how many releases there are; one that is only withdrawn is none."""
        return len({id(thread) for thread in self._threads.values()})

    def is_withdrawn(self, header: Header) -> bool:
        """Whether the sender withdrew the release after this message."""
        times = (self._withdrawn.get(key, _NEVER) for key in _keys_of(header))
        return header.is_purge or (not header.is_test and max(times, default=_NEVER) > header.order)


def _keys_of(header: Header) -> list[tuple[str, ...]]:
    """Return by what a release is known again: each of its IDs, of one sender; without any, the thread, or nothing."""
    kind = "test" if header.is_test else "live"
    ids = header.ids or ((f"thread:{header.thread_id}",) if header.thread_id else (f"message:{header.location}",))
    return [(kind, header.sender, each) for each in ids]
