"""Move files by their verdicts, one by one or a delivery as a whole: copy, read the copy back, and only then remove."""

import hashlib
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from proofsweep.config.locations import is_within, one_line
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.domain.items import FileFacts, WorkItem, utf8_text
from proofsweep.domain.reasons import Reason
from proofsweep.ingest.deliveries import DeliveredBatch
from proofsweep.ingest.rules import Disposition, PastAnswer
from proofsweep.sources.moves import Moves

AT_ONCE = 4  # files that are moved at once, which mostly wait for a store
_GONE = {Reason.MISSING_AUDIO, Reason.SOURCE_CHANGED}
_NAMES_TAKEN = "Other files have its names at the target."


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMove:
    source: str
    target: str
    sha256: str  # of its bytes, in hex; a file with others is not moved
    owns: bool = True  # whether the name was free, so that what is there later is a copy of this move


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Files that belong together, with the names that were chosen for all of them before anything was copied.

    The last file is the sign that the others are there: it is copied last and removed first. That is the audio of a
    pair; of a batch the completion file, else a message.
    """

    files: tuple[FileMove, ...]
    items: tuple[tuple[WorkItem, PastAnswer], ...]
    disposition: Disposition  # of all items, after the move
    folder: str | None = None  # the folder of a delivery that moves as a whole; None for the files of one item

    @property
    def name(self) -> str:
        """Where the last file goes, which tells moves apart."""
        return self.files[-1].target


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
        """Whether any file is moved."""
        return self.accepted is not None or self.quarantine is not None

    def target(self, disposition: Disposition) -> str | None:
        """Return where files go; None if they stay."""
        return {Disposition.ACCEPTED: self.accepted, Disposition.QUARANTINED: self.quarantine}.get(disposition)

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
            move = self._with_free_names(item, answer, disposition, target)
        except SourceError as error:
            return DisposalResult(Disposition.LEFT, detail=error.message + self._bound_for(target))
        return move or DisposalResult(Disposition.LEFT, detail=_NAMES_TAKEN + self._bound_for(target))

    def chosen_for_batch(
        self, batch: DeliveredBatch, answered: Sequence[tuple[WorkItem, PastAnswer]]
    ) -> Move | DisposalResult:
        """Choose the names for all files of a batch, whose items have their answers; or say why it stays.

        All go where the worst one goes. Files of tests and of withdrawn releases stay. Nothing is changed.
        """
        is_accepted = all(answer.outcome == "accepted" for _, answer in answered)
        disposition = Disposition.ACCEPTED if is_accepted else Disposition.QUARANTINED
        target = self.target(disposition)
        if target is None or not answered:
            return DisposalResult(Disposition.LEFT)
        try:
            files = self._files_of(batch)
            if any(map(self.moves.is_link, files)):
                return DisposalResult(Disposition.LEFT, detail="It holds a link, and links are not moved.")
            chosen = self._with_free_names_for_batch(batch, target, files)
        except SourceError as error:
            return DisposalResult(Disposition.LEFT, detail=error.message)
        if chosen is None:
            return DisposalResult(Disposition.LEFT, detail=_NAMES_TAKEN + self._bound_for(target))
        return Move(files=chosen, items=tuple(answered), disposition=disposition, folder=batch.location)

    def moved(self, move: Move) -> list[DisposalResult]:
        """Copy all files, the last one after the others, then remove them, the last one first; for each item a result.

        Or go on with a move that was begun. If a file cannot be copied, no copy is left.
        """
        try:
            copied = list(some_at_once(move.files[:-1], partial(self._copied, move), AT_ONCE))
            copied.append(self._copied(move, move.files[-1]))
        except (NameTaken, SourceError) as error:
            is_of_source = isinstance(error, SourceError) and error.reason in _GONE
            disposition = Disposition.GONE if is_of_source and move.folder is None else Disposition.LEFT
            to = "" if is_of_source else self._bound_for(*(each.target for each in move.files))
            result = DisposalResult(disposition, detail=error.message + to, is_half=not self._is_undone(move))
            return [result] * len(move.items)
        if not any(each.is_there for each in copied):
            return [DisposalResult(Disposition.GONE, detail="It is no longer there.")] * len(move.items)
        try:
            self._remove(copied[-1])
            list(some_at_once(copied[:-1], self._remove, AT_ONCE))
        except SourceError as error:
            detail = f"It was copied, but not removed. {error.message}"
            return [DisposalResult(Disposition.LEFT, detail=detail, is_half=True)] * len(move.items)
        if move.folder not in {None, self.watched}:
            self.moves.remove_empty(move.folder or "")
        targets = {file.source: file.target for file in move.files}
        return [
            DisposalResult(move.disposition, targets.get(item.audio), targets.get(item.sidecar or ""))
            for item, _ in move.items
        ]

    def _with_free_names(
        self, item: WorkItem, answer: PastAnswer, disposition: Disposition, target: str
    ) -> Move | None:
        """Return the first names that are free, or that have these bytes already; the sidecar is copied first.

        So no audio is ever without its sidecar: it would be taken for another delivery.
        """
        digests = (answer.audio_sha256, answer.sidecar_sha256)
        for place in places_of(self.watched, target, item.audio, digests):
            beside = item.sidecar and posixpath.join(posixpath.dirname(place), posixpath.basename(item.sidecar))
            names = (place, beside)
            pair = zip((item.audio, item.sidecar), names, digests, strict=True)
            files = [self._free_name(*each) for each in pair if None not in each]  # type: ignore[arg-type]  # none is None
            if None not in files:
                return Move(
                    files=tuple(filter(None, reversed(files))), items=((item, answer),), disposition=disposition
                )
        return None

    def _with_free_names_for_batch(
        self, batch: DeliveredBatch, target: str, files: list[str]
    ) -> tuple[FileMove, ...] | None:
        digests = self._digests(batch, files)
        order = sorted(files, key=lambda file: (file == batch.completion, file.lower().endswith(".xml"), file))
        for place in places_of(self.watched, target, batch.location, [digests[file] for file in order]):
            moves = [(file, f"{place}{file[len(batch.location) :]}", digests[file]) for file in order]
            chosen = list(some_at_once(moves, lambda each: self._free_name(*each), AT_ONCE))
            if None not in chosen:
                return tuple(filter(None, chosen))
        return None

    def _free_name(self, source: str, target: str, sha256: str) -> FileMove | None:
        """Return how a file goes to a name; None if another file has it."""
        held = self.moves.digest(target)
        is_free = held in {None, sha256}
        return FileMove(source=source, target=target, sha256=sha256, owns=held is None) if is_free else None

    def _files_of(self, batch: DeliveredBatch) -> list[str]:
        apart = [at for at, release in batch.releases.items() if release.is_apart]
        files = self.moves.files_below(batch.location)
        return [file for file in files if not any(is_within(file, at) for at in apart)]

    def _digests(self, batch: DeliveredBatch, files: list[str]) -> Mapping[str, str]:
        known: dict[str | None, str | None] = {}
        for each in batch.rows:
            if each.answer is not None:
                known[each.row.sidecar] = each.answer.sidecar_sha256
                known[each.row.audio] = each.answer.audio_sha256

        def digest(file: str) -> str:
            found = known.get(file) or self.moves.digest(file)
            if found is None:
                raise SourceError("A file of it is no longer there.", reason="missing_audio")
            return found

        return dict(zip(files, some_at_once(files, digest, AT_ONCE), strict=True))

    def _bound_for(self, *paths: str) -> str:
        """Say after a message where files with these names should go, and which setting says so."""
        settings = {"ingest.accepted": self.accepted or "", "ingest.quarantine": self.quarantine or ""}
        used = (name for name, target in settings.items() if target and any(is_within(path, target) for path in paths))
        return f" It should go to {' and to '.join(f'{one_line(settings[name])} ({name})' for name in used)}."

    def _copied(self, move: Move, file: FileMove) -> _CopiedFile:
        try:
            return _CopiedFile(file=file, facts=self.moves.copy(file.source, file.target, file.sha256))
        except (NameTaken, SourceError) as error:
            if move.folder is None:
                raise
            is_missing = isinstance(error, SourceError) and error.reason == Reason.MISSING_AUDIO
            # Of a batch, the last file is removed first, and only when all are copied: then what is neither here nor
            # there was taken from the target meanwhile.
            if is_missing and self.moves.digest(move.files[-1].source) is None:
                return _CopiedFile(file=file, facts=None, is_there=False)
            error.message = f"{utf8_text(posixpath.basename(file.source))}: {error.message}"
            raise

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


def places_of(watched: str, target: str, location: str, digests: Sequence[str | None]) -> list[str]:
    """Return where a file or a folder goes below a target, the preferred place first.

    The second place lies in a folder named by the content: names that exist are never overwritten, and what belongs
    together by its names keeps these.
    """
    above, name = posixpath.split(location[len(watched.rstrip("/")) :].strip("/"))
    by_content = hashlib.sha256("|".join(digest or "" for digest in digests).encode()).hexdigest()[:12]
    return [posixpath.join(target.rstrip("/"), above, more, name).rstrip("/") for more in ("", by_content)]
