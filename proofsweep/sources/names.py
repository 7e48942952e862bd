"""What names of files say: which are one, which are audio, which are left out, and which are sidecars. Pure."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fnmatch import translate
from typing import Final
from unicodedata import normalize

from proofsweep.domain.tags import NAME, STEM

_PCM = {".wav", ".wave", ".bwf", ".rf64", ".bw64", ".w64", ".aif", ".aiff", ".aifc", ".afc", ".caf", ".au", ".snd"}
_CODED = {".mp3", ".m4a", ".m4b", ".mp4", ".flac", ".ogg", ".oga", ".opus", ".mp2", ".aac", ".alac", ".wma", ".ape"}
_UNLISTED = {".wv", ".dsf", ".dff", ".mpc", ".tta", ".ofr", ".mka", ".ac3", ".eac3", ".ec3", ".dts", ".amr"}
_AUDIO_EXTENSIONS = frozenset(_PCM | _CODED | _UNLISTED)

_WAVE_EXTENSIONS = frozenset({".wav", ".wave", ".bwf", ".rf64", ".bw64"})
_PAIR_EXTENSIONS = _WAVE_EXTENSIONS | {".aif", ".aiff", ".aifc", ".afc", ".caf", ".mp3", ".m4a", ".m4b", ".mp4"}

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

_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".rar", ".7z")
_NOTHING = "(?!)"  # as a pattern

# Recycle bins, snapshots and own data of file systems: Synology, QNAP, NetApp, ZFS, Btrfs, Windows, Linux, Macs; and
# the folder for answers to the senders of deliveries.
_SYSTEM = re.compile(
    r"[#@.]recycle|#snapshot|@eadir|@tmp|@recently-snapshot|\.@(__thumb|upload_cache)|[.~]snapshots?|\.zfs|lost\+found"
    r"|\$recycle\.bin|system volume information|\.trash(es|-.*)?|\.(appledouble|appledb|fseventsd|spotlight-.*)"
    r"|\.(temporaryitems|documentrevisions-.*)|\.proofsweep-.*|acknowledgements"
)


def composed(name: str) -> str:
    """Return the one form of Unicode in which names are compared (NFC): file systems and archives change it."""
    if name.isascii():
        return name
    return normalize("NFC", name)


def caseless(name: str) -> str:
    """Return the same text for names that differ only in case or in their form of Unicode."""
    return composed(composed(name).casefold())


def is_audio_name(path: str) -> bool:
    return _extension(path) in _AUDIO_EXTENSIONS


def may_be_video(path: str) -> bool:
    """Whether the name is one that audio and videos have."""
    return path.lower().endswith(".mp4")


def is_archive_name(path: str) -> bool:
    return path.lower().endswith(_ARCHIVES)


def is_wave_name(path: str) -> bool:
    """Whether a file may be sent alone, by its name."""
    return _extension(path) in _WAVE_EXTENSIONS


def is_pair_name(path: str) -> bool:
    """Whether a file may be sent with a sidecar, by its name."""
    return _extension(path) in _PAIR_EXTENSIONS


def _extension(path: str) -> str:
    _, extension = posixpath.splitext(path)
    return extension.lower()


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
        if name.startswith(".") and not name.startswith(".."):
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


class SidecarNames:
    """The patterns that name a sidecar after its audio: those of the full name first, then in the order given.

    `{name}` is the audio's file name; `{stem}` is the same without its last extension.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(sorted(patterns, key=lambda pattern: STEM in pattern))
        forms = list[str]()
        for pattern in self.patterns:
            escaped = re.escape(caseless(pattern))
            forms.append(re.sub(r"\\{(name|stem)\\}", ".+", escaped))
        self._any = re.compile("|".join(forms) or _NOTHING, re.DOTALL)

    def covers(self, name: str) -> bool:
        """Return whether a file of this name could be a sidecar, in upper or lower case."""
        return self._any.fullmatch(caseless(name)) is not None


class Sidecars:
    """The sidecars of one folder, each with the one audio file that it belongs to.

    A full name belongs to one file: to the one that has it exactly, if others differ from it in case or in their form
    of Unicode. If several files share a stem, their sidecar belongs to the only one of them that needs one; if there
    are more, it is nobody's. The very name goes before one in another case or form of Unicode.
    """

    def __init__(
        self,
        names: SidecarNames,
        sidecars: Iterable[str],
        audio: Iterable[str],
        needs_one: Callable[[str], bool] = lambda _name: True,
    ) -> None:
        """Pair a folder's files; `needs_one` says of an audio file whether it is not verified alone.

        That is asked only of files that claim the same sidecar.
        """
        self.of_audio: dict[str, str] = {}
        self.contested: dict[str, str] = {}  # the sidecar that several audio files claim, for each of them
        self._sidecars = set(sidecars)
        self._free = set(self._sidecars)
        # Of two that differ in case alone, the first in order counts for both.
        self._by_caseless = {caseless(name): name for name in sorted(self._sidecars, reverse=True)}
        waiting = set(audio) if self._sidecars else set()
        for pattern in names.patterns:
            for sidecar, claimants in self._claims(pattern, waiting).items():
                owners = claimants
                if STEM not in pattern:
                    owners = _with_the_name(pattern, sidecar, claimants)
                waiting.difference_update(owners)
                self._give(sidecar, owners, needs_one)
        self.orphans = sorted(self._free)

    def _claims(self, pattern: str, waiting: Iterable[str]) -> Mapping[str, list[str]]:
        """Return the sidecars that a pattern names, each with the audio files that claim it."""
        claims: dict[str, list[str]] = defaultdict(list)
        for audio_name in waiting:
            name = _sidecar_name(pattern, audio_name)
            sidecar = name if name in self._sidecars else self._by_caseless.get(caseless(name))
            if sidecar in self._free:
                claims[sidecar].append(audio_name)
        return claims

    def _give(self, sidecar: str, owners: list[str], needs_one: Callable[[str], bool]) -> None:
        # Of several, only the one that is not verified alone needs the sidecar. It is looked into only then.
        needy = owners
        if len(owners) > 1:
            needy = [name for name in owners if needs_one(name)]
        if needy:
            self._free.remove(sidecar)
        if len(needy) == 1:
            self.of_audio[needy[0]] = sidecar
        else:
            self.contested.update(dict.fromkeys(needy, sidecar))


def _sidecar_name(pattern: str, audio_name: str) -> str:
    if STEM in pattern:
        stem, _ = posixpath.splitext(audio_name)
        return pattern.replace(STEM, stem)
    return pattern.replace(NAME, audio_name)


def _with_the_name(pattern: str, sidecar: str, claimants: list[str]) -> list[str]:
    """Return the one file whose full name a sidecar has, exactly or at least in its case; else all that claim it."""
    # Files of one folder may differ in case or in their form of Unicode alone. Their sidecars then do, too.
    full_names = {name: _sidecar_name(pattern, name) for name in claimants}
    exact = [name for name in claimants if full_names[name] == sidecar]
    if len(exact) == 1:
        return exact
    in_its_case = [name for name in claimants if composed(full_names[name]) == composed(sidecar)]
    if len(in_its_case) == 1:
        return in_its_case
    return claimants
