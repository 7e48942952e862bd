"""Find what is there under another spelling: names change on their way through lists, archives and file servers.

A written name and one that is there are compared in four ways, from the strictest: by their very letters, by their form
of Unicode, without regard to case, and without regard to what nobody sees or no Windows takes. The first way by which
exactly one name is the same decides; several that are the same are never told apart by a guess. Pure.
"""

import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Final, NamedTuple

from proofsweep.config.locations import one_line
from proofsweep.domain.items import FileFacts
from proofsweep.files.names import caseless, composed

# Most names are of plain letters: for these a loose form is the same in small letters.
_UNUSUAL = re.compile(r'[^ -~]|[:*?"<>|\\]|  | /|/ |\./|\A | \Z|\.\Z')
# Zero-width letters, marks of direction, and the soft hyphen.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\u2066-\u2069\ufeff]")
# A slash, the letters that no Windows takes, and the private ones that Macs, Samba and Cygwin write for them. On a
# Mac's disk a colon stands for a slash.
_EXCHANGED = re.compile('[/:*?"<>|\\\\\uf000-\uf0ff]')
_MARK = "\x01"
# The private letters of a blank and a dot at the end of a name.
_LAST_LETTERS = str.maketrans({"\uf028": " ", "\uf029": "."})

_LEAST_LIKENESS = 0.6
# Of a large folder, only so many names are compared, those next to the written one in the order of the alphabet.
_COMPARED_OF_FOLDER = 200
# So many comparisons take a second or two; a list whose names are all wrong needs no more examples.
_MOST_COMPARISONS = 20_000
_MOST_NAMES_SHOWN = 5


def loose(path: str) -> str:
    """Return the same text for paths that may mean the same file, whatever program wrote them."""
    if _UNUSUAL.search(path) is None:
        return path.lower().replace("/", _MARK)
    return _MARK.join(map(_loose_name, path.split("/")))


def _loose_name(name: str) -> str:
    visible = _INVISIBLE.sub("", name.translate(_LAST_LETTERS))
    text = " ".join(caseless(visible).split())
    return _EXCHANGED.sub(_MARK, text.rstrip(". ") or text)


_FORMS: Final[tuple[Callable[[str], str], ...]] = (str, composed, caseless, loose)


class Match(NamedTuple):
    """What a written location finds."""

    location: str | None = None  # as it is spelled there; None if nothing, or no single file, is meant
    several: tuple[str, ...] = ()  # what it may mean, if that is more than one
    absent: str = ""  # the first name of it that is not there
    nearest: str | None = None  # the name in the same folder that is most like that one

    def __bool__(self) -> bool:
        return self.location is not None or bool(self.several)

    @property
    def words(self) -> str:
        """Return sentences for the row of a file that is not there, each after a blank; empty if nothing is known."""
        if self.several:
            names = ", ".join(_quoted(location) for location in self.several[:_MOST_NAMES_SHOWN])
            return f" Several names differ from it in case or in letters that nobody sees: {names}."
        if self.nearest is not None:
            return f" There is no {_quoted(self.absent)}; the nearest is {_quoted(self.nearest)}."
        return ""


def _quoted(name: str) -> str:
    return f"'{one_line(posixpath.basename(name))}'"


def match_of(written: str, alike: Iterable[str]) -> Match:
    """Choose among locations that have the same loose form as a written one."""
    locations = list(dict.fromkeys(alike))
    for form in _FORMS:
        wanted = form(written)
        same = [location for location in locations if form(location) == wanted]
        if len(same) == 1:
            return Match(same[0])
        if same:
            return Match(several=tuple(sorted(same)))
    return Match()


class KnownPaths:
    """Paths that are found by any spelling."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._alike: dict[str, list[str]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        paths = self._alike.setdefault(loose(path), [])
        paths.append(path)

    def alike(self, written: str) -> list[str]:
        return self._alike.get(loose(written), [])

    def match(self, written: str) -> Match:
        return match_of(written, self.alike(written))


class FolderNames:
    """The names in one folder, each with the facts that its listing has."""

    def __init__(self, known: Mapping[str, FileFacts | None]) -> None:
        self.known = known

    @cached_property
    def _paths(self) -> KnownPaths:
        return KnownPaths(self.known)

    @cached_property
    def by_stem(self) -> list[tuple[str, str]]:
        return by_stem(self.known)

    def alike(self, written: str) -> list[str]:
        return self._paths.alike(written)


class Likeness:
    """Finds the name that is most like a missing one, as long as that takes little time."""

    def __init__(self) -> None:
        self._left = _MOST_COMPARISONS

    def nearest(self, written: str, names: Sequence[tuple[str, str]]) -> str | None:
        """Return the most similar of some names, as `by_stem` gives them. Equal endings make no likeness."""
        written_stem = _stem(written)
        middle = bisect_left(names, (written_stem,))
        first = max(0, middle - _COMPARED_OF_FOLDER // 2)
        near = names[first : middle + _COMPARED_OF_FOLDER // 2]
        if len(near) > self._left:
            return None
        self._left -= len(near)
        stems = dict.fromkeys(stem for stem, _ in near)
        nearest_stem = get_close_matches(written_stem, stems, 1, _LEAST_LIKENESS)
        candidates = list[str]()
        for stem, name in near:
            is_its_audio = written.startswith(f"{name}.")
            if stem in nearest_stem and not is_its_audio:
                candidates.append(name)
        nearest = get_close_matches(written, candidates, 1, 0)
        return nearest[0] if nearest else None


def by_stem(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names of a folder sorted by their stems in one case, each after this stem."""
    return sorted((_stem(name), name) for name in names)


def _stem(name: str) -> str:
    stem, _ = posixpath.splitext(caseless(name))
    return stem


class Spellings:
    """Walks from a top folder to what a location may mean, folder by folder; `names_in` gives a folder's names.

    It gives None for a folder that cannot be listed: what lies in it is taken as it is written.
    """

    def __init__(self, names_in: Callable[[str], FolderNames | None]) -> None:
        self._names_in = names_in
        self._likeness = Likeness()

    def match(self, location: str, top: str) -> Match:
        """Find a location below the top; nothing above it is ever looked at."""
        start = top.rstrip("/")
        parts = location[len(start) :].strip("/").split("/")
        return match_of(location, self._alike(start, parts)) or self._absent(start, parts)

    def _alike(self, folder: str, parts: list[str]) -> Iterator[str]:
        """Yield all paths with the same loose form."""
        names = self._names_in(folder or "/")
        if names is None:
            yield "/".join([folder, *parts])
            return
        # On a Mac's disk a colon stands for a slash, so several parts may be one name.
        for end in range(1, len(parts) + 1):
            for name in names.alike("/".join(parts[:end])):
                here = f"{folder}/{name}"
                if end == len(parts):
                    yield here
                else:
                    yield from self._alike(here, parts[end:])

    def _absent(self, folder: str, parts: list[str]) -> Match:
        """Say at which of its names a location ends, and what is most like that name."""
        for part in parts:
            names = self._names_in(folder or "/")
            if names is None:
                break
            name = match_of(part, names.alike(part)).location
            if name is None:
                return Match(absent=part, nearest=self._likeness.nearest(part, names.by_stem))
            folder = f"{folder}/{name}"
        return Match()
