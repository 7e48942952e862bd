"""The port to where a catalog's files lie: what is asked of a folder tree, and of a bucket."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from proofsweep.domain.items import FileFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """One folder of a walk.

    Attributes:
        location: of the folder itself.
        files: names of its files; links that lead nowhere are among them.
        hidden: names of files and folders that begin with a dot; such folders are not walked.
        unreadable: names of entries that are neither file nor folder; `.` when the folder itself cannot be read or
            leads back to one that holds it.
        known: facts of files by name, where they came with the names.
    """

    location: str
    files: list[str]
    hidden: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    known: Mapping[str, FileFacts] = field(default_factory=dict)


class OpenFile(Protocol):
    """One file, held open, so that all reads are of the same one. Closed by leaving its `with` block."""

    def facts(self) -> FileFacts:
        """Give the file's facts as they are now."""
        ...

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Give at least one byte and at most so many, none at the end; SourceError when it cannot be read."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Source(Protocol):
    """Where files lie. Safe to use from several threads.

    A location at which nothing is gives None, also when no file could have such a name; one at which something is
    that cannot be read as a file raises SourceError with the reason `unreadable_file`.
    """

    def facts(self, location: str) -> FileFacts | None:
        """Give what is known of a file without opening it."""
        ...

    def open(self, location: str) -> OpenFile | None:
        """Open a file for reading; never waits for a writer."""
        ...

    def walk(self, location: str) -> Iterator[Folder]:
        """Give a folder and all below it, each before its own subfolders; all names sorted by their raw bytes."""
        ...
