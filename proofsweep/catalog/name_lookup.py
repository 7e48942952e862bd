"""Find the file that a written location means, part by part, in the listings of its folders."""

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from proofsweep.files.locations import is_within, path_within
from proofsweep.files.names import caseless, composed

_KEPT = 64  # folders whose names are kept


class NameLookup:
    """Looks names up in folders, whose names it is given; those above the top are taken as they are written."""

    def __init__(self, names_in: Callable[[str], Iterable[str]], top: str) -> None:
        self._top = top
        self._names = lru_cache(_KEPT)(lambda folder: _by_caseless(names_in(folder)))

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


def other_case(location: str | None, root: str) -> str:
    """Say in brackets that a file is there whose name differs only in case; nothing if there is none."""
    return "" if location is None else f" (in other upper and lower case there is {path_within(location, root)})"


def _by_caseless(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        found[caseless(name)].append(name)
    return found
