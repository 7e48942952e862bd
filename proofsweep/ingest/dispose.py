"""Move files by their verdicts: choose all names, copy, read the copies back, and only then remove the files."""

import posixpath
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from proofsweep.config.locations import is_within, one_line
from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.domain.items import FileFacts, WorkItem, printable
from proofsweep.domain.reasons import Reason
from proofsweep.ingest.moves import FileMove, Move, MovedItem, targets_of
from proofsweep.ingest.rules import Disposition, PastAnswer
from proofsweep.sources.moves import Moves

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
            error.message = f"{printable(posixpath.basename(file.source))}: {error.message}"
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
