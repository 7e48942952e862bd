"""Move a verified file by its verdict: copy it, read the copy back, and only then remove it."""

from dataclasses import dataclass

from proofsweep.domain.ingest import Disposition, targets_of
from proofsweep.domain.reasons import Reason
from proofsweep.errors import NameTaken, SourceError
from proofsweep.storage.files.moves import Moves


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A file that has its outcome; the digests are of what was verified."""

    outcome: str
    audio: str
    sidecar: str | None
    audio_sha256: str | None
    sidecar_sha256: str | None


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a file is now, and why it was not moved if it should have been."""

    disposition: Disposition
    audio: str | None = None
    sidecar: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposal:
    """Where the files of a watched folder go; None leaves them where they are."""

    moves: Moves
    watched: str
    accepted: str | None
    quarantine: str | None

    @property
    def is_wanted(self) -> bool:
        """Say whether any file is moved."""
        return self.accepted is not None or self.quarantine is not None

    def place(self, file: Verified) -> Placed:
        """Move a file as its verdict says; do it again for one whose move was interrupted.

        Only a verdict moves a file: one that failed or is ineligible, or has no answer yet, stays.
        """
        target = self._target_of(file.outcome)
        if target is None:
            return Placed(Disposition.LEFT)
        if not file.audio.startswith(f"{self.watched.rstrip('/')}/"):
            return Placed(Disposition.LEFT, detail="It lies outside the watched folder.")
        if file.audio_sha256 is None or (file.sidecar is not None and file.sidecar_sha256 is None):
            return Placed(Disposition.LEFT, detail="The digest of what was verified is not known.")
        digests = (file.audio_sha256, file.sidecar_sha256)
        for audio, sidecar in targets_of(self.watched, target, file.audio, file.sidecar, digests):
            try:
                return self._moved(file, audio, sidecar)
            except NameTaken:
                continue
            except SourceError as error:
                is_gone = error.reason in {Reason.MISSING_AUDIO, Reason.SOURCE_CHANGED}
                return Placed(Disposition.GONE if is_gone else Disposition.LEFT, detail=error.message)
        return Placed(Disposition.LEFT, detail="Other files have its names at the target.")

    def _target_of(self, outcome: str) -> str | None:
        return {"accepted": self.accepted, "rejected": self.quarantine}.get(outcome)

    def _moved(self, file: Verified, audio: str, sidecar: str | None) -> Placed:
        """Copy both, the sidecar first, and then remove both, the audio first.

        So no audio is ever without its sidecar: it would be taken for another delivery.
        """
        sidecar_facts = None
        if file.sidecar is not None and sidecar is not None:
            sidecar_facts = self.moves.copy(file.sidecar, sidecar, file.sidecar_sha256 or "")
        audio_facts = self.moves.copy(file.audio, audio, file.audio_sha256 or "")
        try:
            if audio_facts is not None:
                self.moves.remove(file.audio, audio_facts)
            if sidecar_facts is not None and file.sidecar is not None:
                self.moves.remove(file.sidecar, sidecar_facts)
        except SourceError as error:
            return Placed(Disposition.LEFT, detail=f"It was copied, but not removed. {error.message}")
        moved = Disposition.ACCEPTED if file.outcome == "accepted" else Disposition.QUARANTINED
        return Placed(moved, audio, sidecar)
