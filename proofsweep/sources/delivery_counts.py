"""What a scan found of deliveries, as numbers and in one line. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class DeliveryCounts:
    batches: int = 0
    releases: int = 0
    senders: int = 0  # of messages that can be read
    files: int = 0  # that messages name as audio of recordings
    missing: int = 0  # named files, and messages that a manifest names, that are not there
    unnamed: int = 0  # audio of releases that no message names
    unreadable: int = 0
    without_files: int = 0  # messages that name no audio: updates of metadata alone, and those that withdraw a release

    @property
    def in_words(self) -> str:
        """Return what was found and what is wrong with it in one line, without what there is none of."""
        found = f"{_counted(self.batches, 'batch', 'batches')}, {_counted(self.releases, 'release')}"
        found = f"{found} of {_counted(self.senders, 'sender')}, {_counted(self.files, 'file')}"
        return "; ".join([found, *self._findings()])

    def _findings(self) -> Iterator[str]:
        if self.missing:
            yield f"{_counted(self.missing, 'named file')} {'is' if self.missing == 1 else 'are'} not there"
        if self.unnamed:
            yield f"{_counted(self.unnamed, 'file')} no message names"
        if self.unreadable:
            yield f"{_counted(self.unreadable, 'message')} cannot be read"
        if self.without_files:
            yield f"{_counted(self.without_files, 'message')} without files"


def _counted(count: int, one: str, more: str = "") -> str:
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"
