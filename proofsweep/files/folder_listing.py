"""What a walk gives of a folder: its files, and what it leaves out and why. Pure."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import translate
from typing import Final

from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Ineligible
from proofsweep.files.names import caseless, is_hidden_name

FOLDERS_KEPT = 1_024  # of which is remembered what was found out

# Endings that producers give to files which they still write.
_UNFINISHED = (
    *(".part", ".partial", ".tmp", ".temp", ".filepart", ".crdownload", ".aria2", ".!ut", ".!qb", ".opdownload"),
    *(".lftp-pget-status", "~"),
)

# Of these, and of others, those by which a downloader marks the file of the name before them, which has its full name
# and perhaps its full size already. A program's copy for safety (`~`, `.tmp`) says nothing of the file beside it.
_MARKS = (
    *(".part", ".partial", ".filepart", ".crdownload", ".aria2", ".!ut", ".!qb", ".!bt", ".opdownload", ".download"),
    *(".lftp-pget-status", ".st"),
)
# What lies in the folder of a cloud in place of a file that is not downloaded: iCloud, Nextcloud, ownCloud, odrive,
# Dropbox.
_PLACEHOLDER_ENDINGS = (".icloud", ".nextcloud", ".owncloud", ".cloud", ".dropbox")
_PLACEHOLDER = re.compile(r"\.(.+)\.icloud|(.+)\.(?:nextcloud|owncloud|cloud|dropbox)", re.IGNORECASE | re.DOTALL)

_NOTHING = "(?!)"  # as a pattern

# Recycle bins, snapshots and own data of file systems: Synology, QNAP, NetApp, ZFS, Btrfs, Windows, Linux, Macs; and
# the folder for answers to the senders of deliveries.
_SYSTEM = re.compile(
    r"[#@.]recycle|#snapshot|@eadir|@tmp|@recently-snapshot|\.@(__thumb|upload_cache)|[.~]snapshots?|\.zfs|lost\+found"
    r"|\$recycle\.bin|system volume information|\.trash(es|-.*)?|\.(appledouble|appledb|fseventsd|spotlight-.*)"
    r"|\.(temporaryitems|documentrevisions-.*)|\.proofsweep-.*|acknowledgements"
)


class Cause(StrEnum):
    """Why an entry of a folder became no row."""

    NOT_AUDIO = "not_audio"
    HIDDEN = "hidden"  # its name begins with one dot
    SYSTEM_FOLDERS = "system_folders"
    EXCLUDED = "excluded"
    UNFINISHED = "unfinished"  # its name, or a mark beside it, says that it is still written
    NOT_DOWNLOADED = "not_downloaded"  # a cloud's folder holds its placeholder
    ORPHAN_SIDECARS = "orphan_sidecars"  # no audio beside the sidecar has its name
    UNREADABLE = "unreadable"  # without an ending of audio; also devices, and links out of the catalog's root
    REPEATED_FOLDERS = "repeated_folders"  # links to folders that are walked elsewhere; each file is a row once
    CHECKSUM_LISTS = "checksum_lists"  # those that were read
    UNUSED_CHECKSUMS = "unused_checksums"  # lines and cells that are not compared, and lists that cannot be read
    SIDECARS_BESIDE = "sidecars_beside"  # of a manifest without a column for them; they are sent
    ARCHIVES = "archives"  # what is in them is not read
    EMPTY_ROWS = "empty_rows"  # of manifests
    NOTES_BELOW = "notes_below"  # a manifest's last rows, such as totals, which name no file
    ERROR_CELLS = "error_cells"  # tags that show an error such as #N/A, or are formulas that were not calculated
    BINARY_CELLS = "binary_cells"  # tags that are bytes and no text


def ignored_words(counts: Mapping[str, int] | Mapping[Cause, int]) -> str:
    words = list[str]()
    for cause, count in counts.items():
        if count:
            noun = cause.replace("_", " ")
            words.append(f"{count:,} {noun}")
    return ", ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    location: str  # of the folder itself
    files: list[str]  # names of all that is no folder; links that lead nowhere are among them
    left_out: Mapping[Cause, list[str]] = field(default_factory=dict)  # names of files and folders; none is walked
    known: Mapping[str, FileFacts] = field(default_factory=dict)  # facts of files by name, if the listing gave them
    refused: Ineligible | None = None  # why the folder was not walked, and its files are not known
    is_empty: bool = False  # a folder of this machine that holds nothing, no folder either
    is_repeated: bool = False  # a link leads to a folder that is walked elsewhere; its files are given there


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    # Each pattern matches what it means, and what it is: a name that a person copies may have brackets of its own.
    forms = list[str]()
    for pattern in patterns:
        forms += [translate(pattern), re.escape(pattern)]
    return re.compile("|".join(forms) or _NOTHING)


class ListingRule:
    def __init__(self, exclude: Iterable[str] = ()) -> None:
        """Take patterns of names, or of paths if they hold a slash."""
        plain = [caseless(pattern).rstrip("/") for pattern in exclude]
        self._names = _any_of(pattern for pattern in plain if "/" not in pattern)
        self._paths = _any_of(pattern for pattern in plain if "/" in pattern)

    def why(self, path: str, *, is_folder: bool) -> Cause | None:
        """Return why an entry is left out, by its path as seen from the top of the listing; None if it is not."""
        name = posixpath.basename(path)
        if is_folder and _SYSTEM.fullmatch(name.lower()):
            return Cause.SYSTEM_FOLDERS
        if self._names.fullmatch(caseless(name)) or self._paths.fullmatch(caseless(path)):
            return Cause.EXCLUDED
        awaited = None if is_folder else why_awaited(name)
        # The placeholder of a file that would be left out is left out for the same cause.
        if awaited is Cause.NOT_DOWNLOADED:
            folder = posixpath.dirname(path)
            file = posixpath.join(folder, awaited_name(name))
            return self.why(file, is_folder=False) or awaited
        if is_hidden_name(name):
            return Cause.HIDDEN
        return awaited

    def is_excluded(self, path: str) -> bool:
        parts = path.split("/")
        for end in range(1, len(parts)):
            folder = "/".join(parts[:end])
            if self.why(folder, is_folder=True) is Cause.EXCLUDED:
                return True
        return self.why(path, is_folder=False) is Cause.EXCLUDED


USUAL_RULE: Final = ListingRule()


def why_awaited(name: str) -> Cause | None:
    """Return why a file is not whole yet, by its own name; None if that says nothing."""
    lower = name.lower()
    if lower.endswith(_PLACEHOLDER_ENDINGS) and _PLACEHOLDER.fullmatch(name):
        return Cause.NOT_DOWNLOADED
    if lower.endswith(_UNFINISHED):
        return Cause.UNFINISHED
    return None


def awaited_name(name: str) -> str:
    """Return the name that an unfinished or not downloaded file has once it is whole; its own for any other file."""
    placeholder = _PLACEHOLDER.fullmatch(name)
    if placeholder is not None:
        return placeholder[1] or placeholder[2]
    lower = name.lower()
    for ending in (*_UNFINISHED, *_MARKS):
        if lower.endswith(ending):
            return name[: -len(ending)] or name
    return name


def placeholders_of(name: str) -> Iterator[str]:
    """Name what may lie in the folder of a cloud in place of a file."""
    yield f".{name}{_PLACEHOLDER_ENDINGS[0]}"
    yield from (f"{name}{ending}" for ending in _PLACEHOLDER_ENDINGS[1:])


def marks_in(names: Iterable[str]) -> Mapping[str, str]:
    """Return the marks that downloaders keep beside files, by the names of these files in one case."""
    marks = dict[str, str]()
    for name in names:
        if name.lower().endswith(_MARKS):
            marked = caseless(awaited_name(name))
            marks[marked] = name
    return marks


def without_marked(files: list[str], left_out: dict[Cause, list[str]]) -> list[str]:
    """Return the files of a folder that nobody still writes; the others join those that are left out."""
    marks = marks_in([*files, *left_out.get(Cause.UNFINISHED, ())])
    if not marks:
        return files
    whole, marked = list[str](), list[str]()
    for name in files:
        if caseless(name) in marks:
            marked.append(name)
        else:
            whole.append(name)
    if marked:
        left_out.setdefault(Cause.UNFINISHED, []).extend(marked)
    return whole
