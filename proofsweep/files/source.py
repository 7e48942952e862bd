"""The port to a catalog's files, in a folder tree or in a bucket."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

from proofsweep.model.items import FileFacts
from proofsweep.model.reasons import Ineligible


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """One folder of a walk.

    Attributes:
        location: of the folder itself.
        files: names of its files; links that lead nowhere are among them.
        hidden: names of files and folders that begin with a dot; the walk skips such folders.
        unreadable: names of entries that are neither file nor folder.
        known: facts of files by name, if the listing gave them.
        refused: why the folder was not walked, and its files are not known.
        is_repeated: a link leads to a folder that is walked elsewhere; its files are given there.
    """

    location: str
    files: list[str]
    hidden: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    known: Mapping[str, FileFacts] = field(default_factory=dict)
    refused: Ineligible | None = None
    is_repeated: bool = False


class OpenFile(Protocol):
    """One open file, so that all reads are of the same one. Leaving its `with` block closes it."""

    def facts(self) -> FileFacts:
        """Give the facts of what is read; those of a local file now, since it may change while it is open."""
        ...

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Give at least one byte and at most `most_bytes`, none at the end; SourceError if it cannot be read."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Source(Protocol):
    """A place of files. Safe to use from several threads.

    A location without a file gives None, even if no file can have such a name. A location of something else raises
    SourceError with the reason `unreadable_file`.
    """

    def facts(self, location: str) -> FileFacts | None:
        """Give what is known of a file without opening it."""
        ...

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile | None:
        """Open a file for reading, `is_whole` if all of it will be read; never waits for a writer."""
        ...

    def walk(self, location: str) -> Iterator[Folder]:
        """Give a folder and all below it, each before its own subfolders; a folder's names sorted by raw bytes."""
        ...
