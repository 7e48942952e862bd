"""Move a verified file by its verdict: choose all names, copy, read the copies back, and only then remove the file."""

from dataclasses import dataclass

from proofsweep.errors import NameTaken, SourceError
from proofsweep.files.moves import Moves
from proofsweep.model.ingest import Disposition, Move, PastAnswer, targets_of
from proofsweep.model.items import WorkItem
from proofsweep.model.reasons import Reason

_GONE = frozenset({Reason.MISSING_AUDIO, Reason.SOURCE_CHANGED})


@dataclass(frozen=True, slots=True)
class DisposalResult:
    """Where a file is now, and why it was not moved if it should have been.

    Attributes:
        is_half: whether the move was begun, and can neither be finished nor undone now.
    """

    disposition: Disposition
    audio: str | None = None
    sidecar: str | None = None
    detail: str | None = None
    is_half: bool = False


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

    def chosen(self, item: WorkItem, answer: PastAnswer) -> Move | DisposalResult:
        """Choose the names for a file as its verdict says; or say why it stays. Nothing is changed.

        Only a verdict moves a file: one that failed or is ineligible, or has no answer yet, stays.
        """
        target = {"accepted": self.accepted, "rejected": self.quarantine}.get(answer.outcome)
        if target is None:
            return DisposalResult(Disposition.LEFT)
        if not item.audio.startswith(f"{self.watched.rstrip('/')}/"):
            return DisposalResult(Disposition.LEFT, detail="It lies outside the watched folder.")
        if answer.audio_sha256 is None or (item.sidecar is not None and answer.sidecar_sha256 is None):
            return DisposalResult(Disposition.LEFT, detail="The digest of what was verified is not known.")
        if any(map(self.moves.is_link, filter(None, (item.audio, item.sidecar)))):
            return DisposalResult(Disposition.LEFT, detail="It is a link, and links are not moved.")
        try:
            move = self._with_free_names(item, answer, target)
        except SourceError as error:
            return DisposalResult(Disposition.LEFT, detail=error.message)
        return move or DisposalResult(Disposition.LEFT, detail="Other files have its names at the target.")

    def _with_free_names(self, item: WorkItem, answer: PastAnswer, target: str) -> Move | None:
        """Return the first names that are free, or that have these bytes already."""
        digests = (answer.audio_sha256, answer.sidecar_sha256)
        for audio, sidecar in targets_of(self.watched, target, item.audio, item.sidecar, digests):
            held = None if sidecar is None else self.moves.digest(sidecar)
            if held in {None, digests[1]} and self.moves.digest(audio) in {None, digests[0]}:
                owns = sidecar is not None and held is None
                return Move(item=item, answer=answer, audio=audio, sidecar=sidecar, owns_sidecar=owns)
        return None

    def moved(self, move: Move) -> DisposalResult:
        """Copy both files, the sidecar first, then remove both, the audio first; or go on with a move that was begun.

        So no audio is ever without its sidecar: it would be taken for another delivery. If one of the two cannot be
        copied, no copy is left.
        """
        item, answer = move.item, move.answer
        sidecar_facts = None
        try:
            if item.sidecar is not None and move.sidecar is not None:
                sidecar_facts = self.moves.copy(item.sidecar, move.sidecar, answer.sidecar_sha256 or "")
            audio_facts = self.moves.copy(item.audio, move.audio, answer.audio_sha256 or "")
        except (NameTaken, SourceError) as error:
            is_gone = isinstance(error, SourceError) and error.reason in _GONE
            disposition = Disposition.GONE if is_gone else Disposition.LEFT
            return DisposalResult(disposition, detail=error.message, is_half=not self._is_undone(move))
        try:
            if audio_facts is not None:
                self.moves.remove(item.audio, audio_facts)
            if sidecar_facts is not None and item.sidecar is not None:
                self.moves.remove(item.sidecar, sidecar_facts)
        except SourceError as error:
            detail = f"It was copied, but not removed. {error.message}"
            return DisposalResult(Disposition.LEFT, detail=detail, is_half=True)
        moved = Disposition.ACCEPTED if answer.outcome == "accepted" else Disposition.QUARANTINED
        return DisposalResult(moved, move.audio, move.sidecar)

    def _is_undone(self, move: Move) -> bool:
        """Delete what was copied of a file that cannot be moved: alone, its sidecar would be taken for another's."""
        try:
            self.moves.clear(move.audio)
            is_copied = self.moves.digest(move.audio) == move.answer.audio_sha256
            if move.owns_sidecar and not is_copied:
                self.moves.discard(move.sidecar or "", move.answer.sidecar_sha256 or "")
        except SourceError:
            return False
        return True
