"""Which sidecar lies beside which audio of a folder, by one rule for scans and lists."""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from proofsweep.config.locations import one_line
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.items import FileFacts, Mode
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.audio import AudioFile, is_audio, open_audio
from proofsweep.files.files import Files, kind_of, refuse_unavailable
from proofsweep.files.folder_listing import Cause, awaited_name, marks_in, why_awaited
from proofsweep.files.formats import LEAST_AUDIO_BYTES
from proofsweep.files.names import caseless, is_archive_name, is_audio_name, may_be_video
from proofsweep.sources.checksums import is_list_name
from proofsweep.sources.preflight import judge_content
from proofsweep.sources.sidecars import SidecarNames, Sidecars

_AWAITED_WORDS: Final[Mapping[Cause, tuple[Reason, str]]] = {
    Cause.UNFINISHED: (Reason.UNFINISHED, "is still being written"),
    Cause.NOT_DOWNLOADED: (Reason.STAND_IN, "is not downloaded: only its placeholder lies there"),
}

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What lies beside one audio file."""

    sidecar: str | None = None  # its location
    facts: FileFacts | None = None  # the sidecar's, if the folder's listing gave them
    contested: str | None = None  # the name of a sidecar that other audio claims too
    refused: Ineligible | None = None  # why the audio must not be sent, with this sidecar or without it


NOTHING_BESIDE: Final = Beside()


def looked_into(location: str, items: Iterable[Item], look: Callable[[Item], Result]) -> Iterator[Result]:
    """Look into files one after another on this machine, and side by side in a bucket, in the items' order."""
    at_once = kind_of(location).looks_at_once
    if at_once > 1:
        return some_at_once(items, look, at_once)
    return map(look, items)


def why_no_audio(path: str, source: Files, facts: FileFacts | None = None) -> Cause | None:
    """Judge by the name's ending; if that is not audio's, read the content, unless its size says enough."""
    if may_be_video(path) and _is_video(path, source):
        return Cause.NOT_AUDIO
    if is_audio_name(path):
        return None
    if is_list_name(posixpath.basename(path)):
        return Cause.CHECKSUM_LISTS
    if is_archive_name(path):
        return Cause.ARCHIVES
    if facts is not None and facts.size_bytes < LEAST_AUDIO_BYTES:
        return Cause.NOT_AUDIO
    return _why_no_audio_inside(path, source)


def _why_no_audio_inside(path: str, source: Files) -> Cause | None:
    try:
        file = source.open(path)
        if file is None:
            return Cause.UNREADABLE
        with file:
            return None if is_audio(file) else Cause.NOT_AUDIO
    except ResourceShortage:
        raise
    except SourceError:
        return Cause.UNREADABLE


def _is_video(path: str, source: Files) -> bool:
    # Nobody knows it of a file that cannot be read. The file's row says why.
    try:
        with open_audio(path, source) as audio:
            return audio.is_video()
    except ResourceShortage:
        raise
    except SourceError:
        return False


def needs_sidecar(audio: AudioFile) -> bool:
    """Whether audio may be sent as a pair, and is no WAV with a credential inside."""
    can_be_pair = judge_content(audio.audio_format, Mode.LEGACY_PAIR) is None
    return can_be_pair and not audio.has_credential()


def _claimant_needs_sidecar(source: Files, folder: str, name: str) -> bool:
    """Look into a file that shares a sidecar's name with others; one that cannot be read may need it."""
    location = posixpath.join(folder, name)
    try:
        with open_audio(location, source) as audio:
            return needs_sidecar(audio)
    except SourceError as error:
        refuse_unavailable(error, location)
        return error.reason != Reason.OUTSIDE_CATALOG


class AwaitedFiles:
    """The files of a folder that are not whole yet, or not downloaded: each by the name that it will have."""

    def __init__(self, left_out: Mapping[Cause, Iterable[str]]) -> None:
        self._causes = dict[str, Cause]()
        for cause in _AWAITED_WORDS:
            for name in left_out.get(cause, ()):
                self._causes[awaited_name(name)] = cause
        self._placeholders = left_out.get(Cause.NOT_DOWNLOADED, ())

    def names(self) -> Iterable[str]:
        return self._causes

    def audio_not_downloaded(self, files: Iterable[str]) -> Mapping[str, str]:
        """Return the names of audio that is not among the folder's files, each with the placeholder for it."""
        names = {*files}
        not_downloaded = dict[str, str]()
        for placeholder in self._placeholders:
            name = awaited_name(placeholder)
            if is_audio_name(name) and name not in names:
                not_downloaded[name] = placeholder
        return not_downloaded

    def refused(self, name: str) -> Ineligible | None:
        """Return why audio is not sent for which a file of this name is waited for; None if it is there."""
        cause = self._causes.get(name)
        if cause is None:
            return None
        reason, words = _AWAITED_WORDS[cause]
        return Ineligible(reason, f"Its sidecar {one_line(name)} {words}.")


class FolderPairs:
    """The audio of one folder, each with what lies beside it."""

    def __init__(
        self,
        folder: str,
        audio: Iterable[str],
        sidecars: Iterable[str],
        awaited: AwaitedFiles,
        *,
        patterns: SidecarNames,
        source: Files,
    ) -> None:
        self._folder = folder
        self._awaited = awaited
        names = {*sidecars}
        # A sidecar that is not whole yet belongs to its audio all the same: else the audio would be sent alone.
        expected = {name for name in awaited.names() if patterns.covers(name)}
        needs_one = partial(_claimant_needs_sidecar, source, folder)
        self._sidecars = Sidecars(patterns, names | expected, audio, needs_one)
        self.orphans = [name for name in self._sidecars.orphans if name in names]

    def beside(self, name: str, known: Mapping[str, FileFacts | None]) -> Beside:
        sidecar = self._sidecars.of_audio.get(name)
        if sidecar is not None:
            location = posixpath.join(self._folder, sidecar)
            refused = None if sidecar in known else self._awaited.refused(sidecar)
            return Beside(sidecar=location, facts=known.get(sidecar), refused=refused)
        contested = self._sidecars.contested.get(name)
        if contested is not None:
            return Beside(contested=contested)
        return NOTHING_BESIDE


def sidecars_in(folder: str, patterns: SidecarNames, files: Files) -> Mapping[str, Beside]:
    """Return what lies beside the audio of a folder, by the audio's location; nothing does beside the others."""
    if not (folder and patterns.patterns):
        return {}
    known = files.in_folder(folder)
    left_out: dict[Cause, list[str]] = {}
    others: list[str] = []
    sidecars: list[str] = []
    for name in known:
        if patterns.covers(name):
            sidecars.append(name)
        else:
            others.append(name)
        why = why_awaited(name)
        if why is not None:
            left_out.setdefault(why, []).append(name)

    def look(name: str) -> Cause | None:
        return why_no_audio(posixpath.join(folder, name), files, known[name])

    causes = zip(others, looked_into(folder, others, look), strict=True)
    audio = [name for name, cause in causes if cause is None]
    pairs = FolderPairs(folder, audio, sidecars, AwaitedFiles(left_out), patterns=patterns, source=files)
    marks = marks_in(known)
    by_location: dict[str, Beside] = {}
    for name in audio:
        beside = pairs.beside(name, known)
        mark = marks.get(caseless(name)) if marks else None
        if mark is not None:
            detail = f"Beside it lies {one_line(mark)}: its download is not finished."
            beside = replace(beside, refused=Ineligible(Reason.UNFINISHED, detail))
        if beside is not NOTHING_BESIDE:
            location = posixpath.join(folder, name)
            by_location[location] = beside
    return by_location
