"""Bring the lists of checksums and the bags of a catalog together with its rows."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from proofsweep.config.locations import is_windows, is_within, one_line, path_of
from proofsweep.domain.declared import Declared
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import ManifestRow
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.catalog import CatalogBase, Cause, Ignored
from proofsweep.sources.declared_files import DeclaredFile, DeclaredFiles
from proofsweep.sources.lists import (
    FETCH,
    PAYLOAD,
    ChecksumLine,
    algorithm_of_list,
    checked_name,
    fetched_path,
    is_blank,
    is_list_name,
    line_of,
    lines_of_list,
    path_in_bag,
    payload_manifests,
)
from proofsweep.sources.source import Source

# A file whose first lines hold no checksum is no list. To read all lines of one takes ten seconds.
_LINES_IN_VAIN = 1_000


class Checksums:
    """The lists of one reading of a catalog; what cannot be compared is counted in `ignored`, and is no damage."""

    def __init__(self, base: CatalogBase, source: Source, ignored: Ignored) -> None:
        self._base = base
        self._source = source
        self._ignored = ignored
        self._files: DeclaredFiles | None = None
        self._payloads: list[str] = []
        self._fetched: set[str] = set()

    def close(self) -> None:
        if self._files is not None:
            self._ignored[Cause.UNUSED_CHECKSUMS] += self._files.contradictions()
            self._files.close()
            self._files = None

    def read_named(self, lists: Sequence[str], source: Source) -> None:
        """Read the lists that a person names, wherever they lie; CatalogError if one has no checksum of ours."""
        for location in lists:
            folder = posixpath.dirname(location)
            folder = folder if is_within(folder, self._base.root) else self._base.root
            found = self._lines(location, source, algorithm_of_list(location))
            if not self._add(self._in_list(found, folder, is_named=True)):
                raise CatalogError(f"{one_line(location)}: all of its paths lead out of the catalog's root")

    def read_folder(self, folder: str, lists: Sequence[str], names: Sequence[str]) -> None:
        """Read the lists in a folder, of which `names` are all files; one that cannot be read is counted."""
        manifests = payload_manifests(names)
        if manifests:
            self._begin_bag(folder, manifests, has_fetch=FETCH in names)
        known = frozenset(names if lists else ())
        for name in lists:
            if name not in manifests:
                alone = checked if (checked := checked_name(name)) in known else None
                found = self._lines(posixpath.join(folder, name), self._source, algorithm_of_list(name))
                self._read_found(self._in_list(found, folder, checked=alone))
        if self._payloads and self._files is not None:
            self._files.note_seen(self._base.named(posixpath.join(folder, name)) for name in names)

    def with_declared(self, row: ManifestRow) -> ManifestRow:
        """Return a row with what the lists declare of its audio, beside what it has already."""
        if self._files is None or not row.audio:
            return row
        if row.release is not None and row.audio_facts is None:  # its message says that it is missing
            self._files.note_seen([row.named_audio])
        digests = self._files.digests_of(row.named_audio)
        if not digests:
            self._ignored[Cause.NOT_IN_BAG] += row.named_audio.startswith(tuple(self._payloads))
            return row
        return replace(row, declared=(row.declared or Declared()).with_others(Declared(digests=digests)))

    def missing(self) -> Iterator[tuple[str, Ineligible]]:
        """Yield the location of each payload file that is not there, and why its row cannot be sent."""
        for named, bag in () if self._files is None else self._files.missing():
            detail = f"The manifest of the bag {one_line(bag)} names this file, and it was not delivered."
            if named in self._fetched:
                detail += f" Its {FETCH} leaves it at an address, which is never asked: the bag is incomplete."
            yield posixpath.join(self._base.root, named), Ineligible(Reason.MISSING_AUDIO, detail)

    def _begin_bag(self, folder: str, manifests: Mapping[str, str | None], *, has_fetch: bool) -> None:
        self._payloads.append(self._base.named(posixpath.join(folder, PAYLOAD, "x"))[:-1])
        for name, algorithm in sorted(manifests.items()):
            found = self._lines(posixpath.join(folder, name), self._source, algorithm or "")
            self._read_found(self._in_bag(found, folder))
        if has_fetch:
            with suppress(CatalogError):
                lines = lines_of_list(posixpath.join(folder, FETCH), self._source)
                paths = filter(None, map(fetched_path, lines))
                self._fetched |= {self._base.named(posixpath.join(folder, path)) for path in paths}

    def _lines(self, location: str, source: Source, usual: str | None) -> Iterator[ChecksumLine]:
        unused, has_any = 0, False
        for line in lines_of_list(location, source):
            if (found := line_of(line, usual)) is not None:
                has_any = True
                yield found
            elif not is_blank(line):
                unused += 1
                self._ignored[Cause.UNUSED_CHECKSUMS] += 1
            if unused > _LINES_IN_VAIN and not has_any:
                break
        if not has_any:
            raise CatalogError(f"{one_line(location)}: there is no checksum in it that can be compared")

    def _in_bag(self, found: Iterable[ChecksumLine], folder: str) -> Iterator[DeclaredFile]:
        bag = self._base.named(folder)
        for each in found:
            path = path_in_bag(each.path)
            self._ignored[Cause.UNUSED_CHECKSUMS] += path is None
            if path is not None:
                yield DeclaredFile(self._base.named(posixpath.join(folder, path)), each.algorithm, each.digest, bag=bag)

    def _in_list(
        self, found: Iterable[ChecksumLine], folder: str, *, checked: str | None = None, is_named: bool = False
    ) -> Iterator[DeclaredFile]:
        """Yield what a list says; `checked` is the one file that `song.wav.md5` is the checksum of."""
        for each in found:
            names = self._named_by(each.path, folder, checked, is_named=is_named)
            self._ignored[Cause.UNUSED_CHECKSUMS] += not names
            yield from (DeclaredFile(named, each.algorithm, each.digest, is_named) for named in names)

    def _named_by(self, written: str, folder: str, checked: str | None, *, is_named: bool) -> list[str]:
        forward = written.replace("\\", "/")
        if checked is not None and posixpath.basename(forward) in {"", checked}:
            return [self._base.named(posixpath.join(folder, checked))]
        found = (self._named(path, folder, is_named=is_named) for path in dict.fromkeys((written, forward)))
        return [named for named in found if named is not None]

    def _named(self, path: str, folder: str, *, is_named: bool) -> str | None:
        """Return a path as seen from the root; a list that was found names no file above its own folder."""
        leads_up = posixpath.normpath(path).startswith("..") and not is_named
        if not path or leads_up or is_windows(path):
            return None
        with suppress(CatalogError):
            named = self._base.named(path_of(path, folder))
            is_outside = named.startswith("/") or "://" in named
            return None if is_outside and self._base.boundary is not None else named
        return None

    def _read_found(self, found: Iterable[DeclaredFile]) -> None:
        """Take a list that was found; one that cannot be read, or holds no checksum, is counted."""
        cause = Cause.UNREADABLE_LISTS
        with suppress(CatalogError):
            self._add(found)
            cause = Cause.CHECKSUM_LISTS
        self._ignored[cause] += 1

    def _add(self, found: Iterable[DeclaredFile]) -> int:
        self._files = self._files or DeclaredFiles()
        return self._files.add(found)


class ListsBeside:
    """Looks into each folder of this machine once. In buckets, where looking is a listing, no list is searched."""

    def __init__(self, checksums: Checksums, source: Source, root: str) -> None:
        self._checksums = checksums
        self._source = source
        self._root = root
        self._read: set[str] = set()
        self.unfinished: set[str] = set()  # locations of files in these folders that are still written

    def read_for(self, audio: str) -> None:
        """Read the lists of a file, those above it first, unless they were read for another one."""
        folder = posixpath.dirname(audio)
        if folder in self._read or not folder.startswith("/"):
            return
        self._read.add(folder)
        if folder != self._root and is_within(folder, self._root):
            self.read_for(folder)
        found = next(self._source.walk(folder))
        self.unfinished |= {posixpath.join(folder, name) for name in found.unfinished}
        self._checksums.read_folder(folder, [name for name in found.files if is_list_name(name)], found.files)
