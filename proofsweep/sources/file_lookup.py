"""Look up the files that rows name: of this machine one by one, part by part in folders, objects in listings."""

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from proofsweep.config.locations import is_bucket, is_within, one_line, path_within
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import FileFacts, Unlisted, proof_id_of
from proofsweep.sources.files import Files
from proofsweep.sources.names import caseless, composed

if TYPE_CHECKING:
    from proofsweep.sources.object_lookup import ObjectLookup


_KEPT = 64  # folders whose names are kept


class NameLookup:
    """Looks names up in folders, whose names it is given; those above the top are taken as they are written."""

    def __init__(self, names_in: Callable[[str], Iterable[str]], top: str) -> None:
        self._top = top
        self._names_in = names_in
        self._names = lru_cache(_KEPT)(self._by_caseless)

    def found(self, location: str, form: Callable[[str], str] = composed) -> str | None:
        """Return the location of what has a name, or the same one in that form; None if nothing has."""
        return next(self._alike(location, form), None)

    def _alike(self, location: str, form: Callable[[str], str]) -> Iterator[str]:
        folder, name = posixpath.split(location)
        for above in self._folders_alike(folder, form):
            same = [each for each in self._names(above).get(caseless(name), ()) if form(each) == form(name)]
            yield from (posixpath.join(above, each) for each in sorted(same, key=lambda each: (each != name, each)))

    def _folders_alike(self, folder: str, form: Callable[[str], str]) -> Iterator[str]:
        yield folder
        if folder != self._top and is_within(folder, self._top):
            yield from (each for each in self._alike(folder, form) if each != folder)

    def _by_caseless(self, folder: str) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name in self._names_in(folder):
            found[caseless(name)].append(name)
        return found


def other_case(location: str | None, root: str) -> str:
    """Say in brackets that a file is there whose name differs only in case; nothing if there is none."""
    return "" if location is None else f" (in other upper and lower case there is {path_within(location, root)})"


class FileLookup:
    """Finds files by what cells mean; the first object causes the listing of all that are wanted."""

    def __init__(self, files: Files, root: str, wanted: Callable[[], Iterable[str]], catalog: str) -> None:
        """Take the root, above which names are taken as they are, and what yields all locations of a named catalog."""
        self._files = files
        self._root = root
        self._catalog = catalog
        self._wanted = wanted
        self._names = NameLookup(files.names, root)

    def facts(self, location: str) -> FileFacts | Unlisted | None:
        """Return what is known of a file; CatalogError if objects cannot be listed, SourceError if it is this file."""
        if proof_id_of(location) is not None:
            return Unlisted.UNLISTED
        if not is_bucket(location):
            return self._files.facts(location) if location.startswith("/") else None
        self._files.refuse_outside(location)
        return self._objects.facts(location)

    def found(self, spellings: Sequence[str]) -> str | None:
        """Return the location that a cell means, whether a file is there or not; None if it has no spelling.

        The first spelling with a file counts, then the first with a file whose name has another form of Unicode.
        """
        if len(spellings) > 1 or not "".join(spellings).isascii():
            others = (self._instead_of(each, composed) for each in spellings)
            there = next((each for each in spellings if self._is_there(each)), None)
            if (found := there or next(filter(None, others), None)) is not None:
                return found
        return spellings[0] if spellings else None

    def hint(self, spellings: Sequence[str]) -> str:
        """Name in brackets a file whose name differs only in case from a missing one's; empty if none is there."""
        return next((hint for each in spellings if (hint := other_case(self._instead_of(each), self._root))), "")

    def _instead_of(self, location: str, form: Callable[[str], str] = caseless) -> str | None:
        if not is_bucket(location):
            return self._names.found(location, form)
        real = self._objects.instead_of(location)
        return real if real is None or form(real) == form(location) else None

    def _is_there(self, location: str) -> bool:
        with suppress(SourceError):
            return self.facts(location) is not None
        return False

    @cached_property
    def _objects(self) -> "ObjectLookup":
        from proofsweep.sources.object_lookup import ObjectLookup  # noqa: PLC0415 - only for buckets

        try:
            return ObjectLookup(self._inside(), self._files.buckets, self._root)
        except SourceError as error:
            cause = f"its objects cannot be listed. {error.message}"
            raise CatalogError(f"{one_line(self._catalog)}: {cause}") from error

    def _inside(self) -> Iterable[str]:
        """Yield the bucket URLs that are wanted, except those outside the root, of which nothing is asked."""
        for location in filter(is_bucket, self._wanted()):
            with suppress(SourceError):
                self._files.refuse_outside(location)
                yield location
