"""Move files by their verdicts, one by one or a delivery as a whole: copy, read the copy back, and only then remove."""

import hashlib
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from proofsweep.config.locations import is_within, one_line
from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.domain.items import FileFacts, ManifestRow, WorkItem, utf8_text
from proofsweep.domain.reasons import Reason
from proofsweep.ingest.deliveries import BatchRow, DeliveredBatch
from proofsweep.ingest.rules import Disposition, PastAnswer
from proofsweep.sources.moves import Moves


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMove:
    source: str
    target: str
    sha256: str  # of its bytes, in hex; a file with others is not moved
    owns: bool = True  # whether the name was free, so that what is there later is a copy of this move


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedItem:
    """An item whose files are moved, its answer, and what it is after the move."""

    item: WorkItem
    answer: PastAnswer
    disposition: Disposition


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Files that belong together, with the names that were chosen for all of them before anything was copied."""

    # the last one is the sign that the others are there: it is copied last and removed first. That is the audio of a
    # pair; of a batch the completion file, else a message.
    files: tuple[FileMove, ...]
    items: tuple[MovedItem, ...]
    folder: str | None = None  # the folder of a delivery that moves as a whole; None for the files of one item

    @property
    def name(self) -> str:
        """Where the last file goes, which tells moves apart."""
        return self.files[-1].target


def targets_of(
    watched: str, target: str, audio: str, sidecar: str | None, digests: tuple[str | None, str | None]
) -> list[tuple[str, str | None]]:
    """Return the locations for a file and its sidecar below a target, the preferred ones first.

    The second ones lie in a folder named by the content: names that exist are never overwritten, and a pair keeps its
    names, by which it is a pair.
    """
    folder = posixpath.dirname(audio[len(watched.rstrip("/")) :].lstrip("/"))
    locations = [
        posixpath.join(target.rstrip("/"), folder),
        posixpath.join(target.rstrip("/"), folder, _short(digests)),
    ]
    return [
        (_in(location, audio), None if sidecar is None else _in(location, sidecar))
        for location in (each.rstrip("/") for each in locations)
    ]


def folders_of(watched: str, target: str, folder: str, digests: tuple[str | None, ...]) -> list[str]:
    """Return the folders below a target for a folder that moves as a whole, the preferred one first.

    The second one lies in a folder named by the content, and keeps its own name.
    """
    above, name = posixpath.split(folder[len(watched.rstrip("/")) :].strip("/"))
    locations = [posixpath.join(target.rstrip("/"), above, name)]
    locations.append(posixpath.join(target.rstrip("/"), above, _short(digests), name))
    return [location.rstrip("/") for location in locations]


def _short(digests: tuple[str | None, ...]) -> str:
    return hashlib.sha256("|".join(digest or "" for digest in digests).encode()).hexdigest()[:12]


def _in(folder: str, location: str) -> str:
    return f"{folder}/{posixpath.basename(location)}"


_GONE = frozenset({Reason.MISSING_AUDIO, Reason.SOURCE_CHANGED})

NAMES_TAKEN = "Other files have its names at the target."
# Files that are moved at once, which mostly wait for a store.
AT_ONCE = 4

_Of = TypeVar("_Of")
_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True)
class DisposalResult:
    """Where a file is now, and why it was not moved if it should have been."""

    disposition: Disposition
    audio: str | None = None
    sidecar: str | None = None
    detail: str | None = None
    is_half: bool = False  # whether the move was begun, and can neither be finished nor undone now


@dataclass(frozen=True, slots=True, kw_only=True)
class _CopiedFile:
    """A file that is copied; without facts its source is gone, and without `is_there` its copy too."""

    file: FileMove
    facts: FileFacts | None
    is_there: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposal:
    """Where the files of a watched folder go; None leaves them where they are."""

    moves: Moves
    watched: str
    accepted: str | None
    quarantine: str | None

    @property
    def is_wanted(self) -> bool:
        """Return whether any file is moved."""
        return self.accepted is not None or self.quarantine is not None

    def target(self, disposition: Disposition) -> str | None:
        """Return where files go; None if they stay."""
        return {Disposition.ACCEPTED: self.accepted, Disposition.QUARANTINED: self.quarantine}.get(disposition)

    def bound_for(self, *paths: str) -> str:
        """Say after a message where files with these names should go, and which setting says so."""
        settings = {"ingest.accepted": self.accepted or "", "ingest.quarantine": self.quarantine or ""}
        used = (name for name, target in settings.items() if target and any(is_within(path, target) for path in paths))
        return f" It should go to {' and to '.join(f'{one_line(settings[name])} ({name})' for name in used)}."

    def chosen(self, item: WorkItem, answer: PastAnswer) -> Move | DisposalResult:
        """Choose the names for a file as its verdict says; or say why it stays. Nothing is changed.

        Only a verdict moves a file: one that failed or is ineligible, or has no answer yet, stays. So does a file of a
        batch, which moves as a whole.
        """
        disposition = {"accepted": Disposition.ACCEPTED, "rejected": Disposition.QUARANTINED}.get(answer.outcome)
        target = None if disposition is None else self.target(disposition)
        if disposition is None or target is None or item.is_delivered:
            return DisposalResult(Disposition.LEFT)
        if not item.audio.startswith(f"{self.watched.rstrip('/')}/"):
            return DisposalResult(Disposition.LEFT, detail="It lies outside the watched folder.")
        if answer.audio_sha256 is None or (item.sidecar is not None and answer.sidecar_sha256 is None):
            return DisposalResult(Disposition.LEFT, detail="The digest of what was verified is not known.")
        if any(map(self.moves.is_link, filter(None, (item.audio, item.sidecar)))):
            return DisposalResult(Disposition.LEFT, detail="It is a link, and links are not moved.")
        try:
            move = self._with_free_names(MovedItem(item=item, answer=answer, disposition=disposition), target)
        except SourceError as error:
            return DisposalResult(Disposition.LEFT, detail=error.message + self.bound_for(target))
        return move or DisposalResult(Disposition.LEFT, detail=NAMES_TAKEN + self.bound_for(target))

    def _with_free_names(self, moved: MovedItem, target: str) -> Move | None:
        """Return the first names that are free, or that have these bytes already; the sidecar is copied first.

        So no audio is ever without its sidecar: it would be taken for another delivery.
        """
        item, answer = moved.item, moved.answer
        digests = (answer.audio_sha256, answer.sidecar_sha256)
        for names in targets_of(self.watched, target, item.audio, item.sidecar, digests):
            pair = zip((item.audio, item.sidecar), names, digests, strict=True)
            files = [self.free_name(*each) for each in pair if None not in each]  # type: ignore[arg-type]  # none is None
            if None not in files:
                return Move(files=tuple(filter(None, reversed(files))), items=(moved,))
        return None

    def free_name(self, source: str, target: str, sha256: str) -> FileMove | None:
        """Return how a file goes to a name; None if another file has it."""
        held = self.moves.digest(target)
        is_free = held in {None, sha256}
        return FileMove(source=source, target=target, sha256=sha256, owns=held is None) if is_free else None

    def moved(self, move: Move) -> list[DisposalResult]:
        """Copy all files, the last one after the others, then remove them, the last one first; for each item a result.

        Or go on with a move that was begun. If a file cannot be copied, no copy is left.
        """
        try:
            copied = [*at_once(lambda file: self._copied(move, file), move.files[:-1])]
            copied.append(self._copied(move, move.files[-1]))
        except (NameTaken, SourceError) as error:
            is_of_source = isinstance(error, SourceError) and error.reason in _GONE
            disposition = Disposition.GONE if is_of_source and move.folder is None else Disposition.LEFT
            to = "" if is_of_source else self.bound_for(*(each.target for each in move.files))
            result = DisposalResult(disposition, detail=error.message + to, is_half=not self._is_undone(move))
            return [result] * len(move.items)
        if not any(each.is_there for each in copied):
            return [DisposalResult(Disposition.GONE, detail="It is no longer there.")] * len(move.items)
        try:
            self._remove(copied[-1])
            at_once(self._remove, copied[:-1])
        except SourceError as error:
            detail = f"It was copied, but not removed. {error.message}"
            return [DisposalResult(Disposition.LEFT, detail=detail, is_half=True)] * len(move.items)
        if move.folder not in {None, self.watched}:
            self.moves.remove_empty(move.folder or "")
        targets = {file.source: file.target for file in move.files}
        return [
            DisposalResult(each.disposition, targets.get(each.item.audio), targets.get(each.item.sidecar or ""))
            for each in move.items
        ]

    def _copied(self, move: Move, file: FileMove) -> _CopiedFile:
        try:
            return _CopiedFile(file=file, facts=self.moves.copy(file.source, file.target, file.sha256))
        except (NameTaken, SourceError) as error:
            if move.folder is None:
                raise
            if isinstance(error, SourceError) and error.reason == Reason.MISSING_AUDIO and self._is_removing(move):
                return _CopiedFile(file=file, facts=None, is_there=False)
            error.message = f"{utf8_text(posixpath.basename(file.source))}: {error.message}"
            raise

    def _is_removing(self, move: Move) -> bool:
        """Whether all files of a batch were copied before: the last one is removed only then, and first.

        What is neither here nor there was taken from the target meanwhile.
        """
        return self.moves.digest(move.files[-1].source) is None

    def _remove(self, copied: _CopiedFile) -> None:
        if copied.facts is not None:
            self.moves.remove(copied.file.source, copied.facts)

    def _is_undone(self, move: Move) -> bool:
        """Delete what was copied of files that cannot be moved: alone, a sidecar would be taken for another's.

        Of a batch, only what still lies where it was delivered is deleted.
        """
        try:
            last = move.files[-1]
            self.moves.clear(last.target)
            if self.moves.digest(last.target) == last.sha256 and (move.folder is None or last.owns):
                return move.folder is None  # a batch is half moved, and the next pass goes on
            for file in filter(lambda each: each.owns, move.files[:-1]):
                if move.folder is None or self.moves.digest(file.source) == file.sha256:
                    self.moves.discard(file.target, file.sha256)
        except SourceError:
            return False
        return True


def at_once(act: Callable[[_Of], _Done], files: Sequence[_Of]) -> list[_Done]:
    """Do the same to some files, several at once; after an error no other one is begun."""
    if len(files) < AT_ONCE:
        return [act(file) for file in files]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            return list(pool.map(act, files))
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDisposal:
    """Where the deliveries of a watched folder go."""

    disposal: Disposal
    by_release: bool  # whether the releases of a batch go by their own verdicts, and not all where the worst one goes

    def chosen(self, batch: DeliveredBatch, item_of: Callable[[ManifestRow], WorkItem]) -> Move | DisposalResult:
        """Choose the names for all files of a batch whose rows have their answers; or say why it stays.

        Nothing is changed. Files of tests and of withdrawn releases stay where they are.
        """
        route = _Route(batch, by_release=self.by_release)
        going = {each for each in route.used() if self.disposal.target(each) is not None}
        try:
            files = list(self._going(batch, route, going))
            if not batch.moved_rows or not files:
                return DisposalResult(Disposition.LEFT)
            if any(map(self.disposal.moves.is_link, files)):
                return DisposalResult(Disposition.LEFT, detail="It holds a link, and links are not moved.")
            chosen = self._with_free_names(batch, route, files)
        except SourceError as error:
            return DisposalResult(Disposition.LEFT, detail=error.message)
        if chosen is None:
            targets = (self.disposal.target(each) or "" for each in going)
            return DisposalResult(Disposition.LEFT, detail=NAMES_TAKEN + self.disposal.bound_for(*targets))
        items = (
            MovedItem(item=item_of(each.row), answer=each.answer, disposition=route.of(each.row.audio or ""))
            for each in batch.moved_rows
            if each.answer is not None and route.of(each.row.audio or "") in going
        )
        return Move(files=chosen, items=tuple(items), folder=batch.location)

    def _going(self, batch: DeliveredBatch, route: "_Route", going: set[Disposition]) -> Iterator[str]:
        has_stays = len(going) < len(route.used())
        apart = {at for at, release in batch.releases.items() if release.is_test or release.is_purged}
        for file in self.disposal.moves.files_below(batch.location):
            release = route.release_of(file)
            stays = release in apart or (release is None and has_stays)
            if route.of(file) in going and not stays:
                yield file

    def _with_free_names(self, batch: DeliveredBatch, route: "_Route", files: list[str]) -> tuple[FileMove, ...] | None:
        digests = self._digests(batch, files)
        order = sorted(files, key=lambda file: (file == batch.completion, file.lower().endswith(".xml"), file))
        targets = {each: self.disposal.target(each) for each in route.used()}
        watched, whole = self.disposal.watched, tuple(digests[file] for file in order)
        for number in range(2):
            folders = {
                each: folders_of(watched, target, batch.location, whole)[number]
                for each, target in targets.items()
                if target is not None
            }
            names = [f"{folders[route.of(file)]}{file[len(batch.location) :]}" for file in order]
            chosen = at_once(lambda each: self.disposal.free_name(*each), [*zip(order, names, whole, strict=True)])
            if None not in chosen:
                return tuple(filter(None, chosen))
        return None

    def _digests(self, batch: DeliveredBatch, files: list[str]) -> Mapping[str, str]:
        known: dict[str | None, str | None] = {}
        for each in batch.rows:
            if each.answer is not None:
                known[each.row.sidecar] = each.answer.sidecar_sha256
                known[each.row.audio] = each.answer.audio_sha256
        read = at_once(partial(self._digest, known), files)
        return dict(zip(files, read, strict=True))

    def _digest(self, known: Mapping[str | None, str | None], file: str) -> str:
        found = known.get(file) or self.disposal.moves.digest(file)
        if found is None:
            raise SourceError("A file of it is no longer there.", reason="missing_audio")
        return found


class _Route:
    """Says for each file of a batch where it goes: by the verdicts of its release, or by those of all."""

    def __init__(self, batch: DeliveredBatch, *, by_release: bool) -> None:
        self._batch = batch
        rows = batch.moved_rows
        accepted = {at: all(map(_is_accepted, own)) for at, own in self._by_release(rows).items()}
        if by_release:
            self._of_batch = _disposition(is_accepted=any(accepted.values()))
            self._own = {at: _disposition(is_accepted=each) for at, each in accepted.items() if at is not None}
        else:
            self._of_batch = _disposition(is_accepted=all(accepted.values()))
            self._own = {}

    def of(self, file: str) -> Disposition:
        return self._own.get(self.release_of(file) or "", self._of_batch)

    def used(self) -> set[Disposition]:
        return {self._of_batch, *self._own.values()}

    def release_of(self, file: str) -> str | None:
        """Return the folder of the release in which a file lies; None for one of the batch itself."""
        above = posixpath.dirname(file)
        while is_within(above, self._batch.location):
            if above in self._batch.releases:
                return above
            above = posixpath.dirname(above)
        return None

    def _by_release(self, rows: list[BatchRow]) -> dict[str | None, list[BatchRow]]:
        found: dict[str | None, list[BatchRow]] = {}
        for each in rows:
            found.setdefault(self.release_of(each.row.audio or ""), []).append(each)
        return found


def _is_accepted(row: BatchRow) -> bool:
    return row.answer is not None and row.answer.outcome == "accepted"


def _disposition(*, is_accepted: bool) -> Disposition:
    return Disposition.ACCEPTED if is_accepted else Disposition.QUARANTINED
