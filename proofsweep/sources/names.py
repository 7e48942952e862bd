"""What names of files say: which are one, which are audio, and which of a listing are left out. Pure."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from fnmatch import translate
from typing import Final
from unicodedata import normalize

_PCM = {".wav", ".wave", ".bwf", ".rf64", ".bw64", ".w64", ".aif", ".aiff", ".aifc", ".afc", ".caf", ".au", ".snd"}
_CODED = {".mp3", ".m4a", ".m4b", ".mp4", ".flac", ".ogg", ".oga", ".opus", ".mp2", ".aac", ".alac", ".wma", ".ape"}
_UNLISTED = {".wv", ".dsf", ".dff", ".mpc", ".tta", ".ofr", ".mka", ".ac3", ".eac3", ".ec3", ".dts", ".amr"}
_AUDIO_EXTENSIONS = frozenset(_PCM | _CODED | _UNLISTED)

# Recycle bins, snapshots and own data of file systems: Synology, QNAP, NetApp, ZFS, Btrfs, Windows, Linux, Macs.
_SYSTEM = re.compile(
    r"[#@.]recycle|#snapshot|@eadir|@tmp|@recently-snapshot|\.@(__thumb|upload_cache)|[.~]snapshots?|\.zfs|lost\+found"
    r"|\$recycle\.bin|system volume information|\.trash(es|-.*)?|\.(appledouble|appledb|fseventsd|spotlight-.*)"
    r"|\.(temporaryitems|documentrevisions-.*)|\.proofsweep-.*"
)


def composed(name: str) -> str:
    """Return the one form of Unicode in which names are compared (NFC): file systems and archives change it."""
    return name if name.isascii() else normalize("NFC", name)


def caseless(name: str) -> str:
    """Return the same of names that differ in upper and lower case."""
    return composed(composed(name).casefold())


def is_audio_name(path: str) -> bool:
    return posixpath.splitext(path)[1].lower() in _AUDIO_EXTENSIONS


class LeftOut(StrEnum):
    HIDDEN = "hidden"  # its name begins with one dot
    HIDDEN_AUDIO = "hidden_audio"  # such a file, or one in such a folder, by the ending of its name
    SYSTEM_FOLDERS = "system_folders"
    EXCLUDED = "excluded"
    UNFINISHED = "unfinished"  # counted once for a file and what lies beside it


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)) or "(?!)")


class ListingRule:
    def __init__(self, exclude: Iterable[str] = (), unfinished: Iterable[str] = ()) -> None:
        """Take patterns of names, or of paths if they hold a slash, and patterns of names that producers give.

        A producer's pattern such as `*.part` also means the file beside it, without that ending.
        """
        plain = [caseless(pattern).rstrip("/") for pattern in exclude]
        self._names = _any_of(pattern for pattern in plain if "/" not in pattern)
        self._paths = _any_of(pattern for pattern in plain if "/" in pattern)
        producers = [pattern.lower() for pattern in unfinished]
        self._unfinished = _any_of(producers)
        self._endings = [pattern[1:] for pattern in producers if re.fullmatch(r"\*\.[^*?[]+", pattern)]

    def why(self, path: str, *, is_folder: bool) -> LeftOut | None:
        """Return why an entry is left out, by its path as seen from the top of the listing; None if it is not."""
        name = posixpath.basename(path)
        if is_folder and _SYSTEM.fullmatch(name.lower()):
            return LeftOut.SYSTEM_FOLDERS
        if self._names.fullmatch(caseless(name)) or self._paths.fullmatch(caseless(path)):
            return LeftOut.EXCLUDED
        if not name.startswith(".") or name.startswith(".."):
            return None
        is_audio = not is_folder and is_audio_name(name) and not name.startswith("._")  # what Macs keep beside a file
        return LeftOut.HIDDEN_AUDIO if is_audio else LeftOut.HIDDEN

    def is_excluded(self, path: str) -> bool:
        parts = path.split("/")
        return any(
            self.why("/".join(parts[:end]), is_folder=end < len(parts)) is LeftOut.EXCLUDED
            for end in range(1, len(parts) + 1)
        )

    def unfinished_in(self, names: Iterable[str]) -> Mapping[str, str]:
        """Return the names of files that are still written, and the name that each will have."""
        found: dict[str, str] = {}
        for name in names:
            if self._unfinished.fullmatch(name.lower()):
                ending = next((each for each in self._endings if name.lower().endswith(each)), "")
                final = name[: len(name) - len(ending)]
                found |= {name: final, final: final}
        return found


USUAL_RULE: Final = ListingRule()
