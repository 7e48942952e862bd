"""Move files by their verdicts, one by one or a delivery as a whole: copy, read the copy back, and only then remove."""

import hashlib
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Self

from proofsweep.config.locations import is_within, one_line
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.domain.items import FileFacts, WorkItem, utf8_text
from proofsweep.domain.reasons import HINDERS_NOTHING, Reason
from proofsweep.files.mounts import Mounts, mount_of
from proofsweep.files.moving import Moves
from proofsweep.files.presence import is_gone
from proofsweep.ingest.deliveries import DeliveredBatch
from proofsweep.ingest.move import FileMove, Move, beside, in_folder
from proofsweep.ingest.rules import Disposition, PastAnswer

AT_ONCE = 4  # files that are moved at once, which mostly wait for a store
_GONE = {Reason.MISSING_AUDIO, Reason.SOURCE_CHANGED}
_WITH_THE_REST = "It was accepted, and is in quarantine since another file of its delivery was not."
_REPLACED = "Another file came in its place during the move. What was verified lies in {lies}."
_OF_VERDICT = {"accepted": Disposition.ACCEPTED, "rejected": Disposition.QUARANTINED}


@dataclass(frozen=True, slots=True)
class DisposalResult:
    """Where a file is now, and why it was not moved if it should have been."""

    disposition: Disposition
    audio: str | None = None
    sidecar: str | None = None
    detail: str | None = None
    is_half: bool = False  # whether the move was begun, and can neither be finished nor undone now


class _CopiedFile(NamedTuple):
    """A file that is copied; without facts its source is gone, and without `is_there` its copy too."""

    file: FileMove
    facts: FileFacts | None
    disk: int | None  # on which the copy lies; None in a bucket
    is_there: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposal:
    moves: Moves
    watched: str
    targets: Mapping[Disposition, str]  # where its files go; those without a target stay
    mounts: Mounts = field(default_factory=Mounts)  # when the pass began

    def from_now_on(self) -> Self:
        """Return the same for one pass: it moves nothing while another disk lies at a place than lies there now."""
        return replace(self, mounts=Mounts.now(self.places))

    @property
    def places(self) -> tuple[str, ...]:
        """The watched folder, and where its files go; what does not exist yet may be among them."""
        return self.watched, *self.targets.values()

    def chosen(self, item: WorkItem, answer: PastAnswer, lists: Sequence[str] = ()) -> Move | DisposalResult:
        """Choose the names for a file as its verdict says; or say why it stays. Nothing is changed.

        `lists` are checksums of this file alone, which go with it.
        """
        # Only a verdict moves a file: one that failed or is ineligible, or has no answer yet, stays. So does a file of
        # a batch, which moves as a whole.
        disposition = _OF_VERDICT.get(answer.outcome, Disposition.LEFT)
        if disposition not in self.targets or item.is_delivered:
            return _stays()
        # The sidecar is copied first, and lists before it. Audio without its sidecar is taken for another delivery.
        digests: dict[str, str] = {}
        if item.sidecar is not None:
            digests[item.sidecar] = answer.sidecar_sha256 or ""
        digests[item.audio] = answer.audio_sha256 or ""
        if not item.audio.startswith(f"{self.watched.rstrip('/')}/"):
            return _stays("It lies outside the watched folder.")
        if not all(digests.values()):
            return _stays("The digest of what was verified is not known.")
        if any(map(self.moves.is_link, digests)):
            return _stays("It is a link, and links are not moved.")
        try:
            with_lists = self._digests_there(lists) | digests
            names = self._free_names(item.audio, with_lists, disposition, beside)
        except SourceError as error:
            return _stays(error.message + self._bound_for(disposition))
        mount = mount_of(names[-1].target)
        return Move(files=names, items=((item, answer),), disposition=disposition, mount=mount)

    def chosen_for_batch(
        self, batch: DeliveredBatch, answered: Sequence[tuple[WorkItem, PastAnswer]]
    ) -> Move | DisposalResult:
        """Choose the names for all files of a batch, whose items have their answers; or say why it stays.

        All go where the worst one goes. Files of tests and of withdrawn releases stay. Nothing is changed.
        """
        disposition = Disposition.ACCEPTED
        for _, answer in answered:
            if answer.outcome != "accepted" and answer.reason not in HINDERS_NOTHING:
                disposition = Disposition.QUARANTINED
        if disposition not in self.targets or batch.is_apart:
            return _stays()

        def order(file: str) -> tuple[bool, bool, str]:
            return file == batch.completion, file.lower().endswith(".xml"), file

        try:
            listed = self.moves.files_below(batch.location)
            versions = self._versions(listed, batch.holds, batch.named_audio)
            if any(map(self.moves.is_link, versions)):
                return _stays("It holds a link, and links are not moved.")
            # A file that came meanwhile, or is another one by now, is looked at by the next pass.
            if not versions or versions != batch.files:
                return _stays()
            digests = self._digests(batch, sorted(versions, key=order))
            name_at = partial(in_folder, batch.location)
            names = self._free_names(batch.location, digests, disposition, name_at)
        except SourceError as error:
            return _stays(error.message + self._bound_for(disposition))
        return Move(
            files=tuple(replace(name, version=versions[name.source]) for name in names),
            items=tuple(answered),
            disposition=disposition,
            folder=batch.location,
            folders=batch.folders_of(listed),
            mount=mount_of(names[-1].target),
        )

    def chosen_from_quarantine(self, held: Move, newest: Mapping[str, PastAnswer]) -> Move | DisposalResult | None:
        """Choose names in `accepted` for a delivery that went to quarantine and is whole by now; None if nothing goes.

        Those of its files go whose answer is still the newest one, if the bytes that were moved lie there. What a later
        delivery has replaced stays. Nothing is changed.
        """
        folder = held.folder or ""
        own: list[tuple[WorkItem, PastAnswer]] = []
        for item, answer in held.items:
            if _is_own(item, answer, newest):
                own.append((item, answer))
        wanted = held.files_with(own)
        try:
            self._refuse_away(replace(held, disposition=Disposition.ACCEPTED, delivered_in=folder))
            if self._is_any_there(wanted):
                return _stays()  # another delivery lies there, which moves first
            present = self._still_in_quarantine(wanted)
            if any(self.moves.is_link(target) for target in present):
                return None
            sha256_of = {file.source: file.sha256 for file in present.values()}
            own = [answered for answered in own if answered[0].audio in sha256_of]
            if not own:
                return None
            names = self._free_names(folder, sha256_of, Disposition.ACCEPTED, partial(in_folder, folder))
        except SourceError as error:
            lies = f" It lies in {one_line(held.target_folder)}."
            return _stays(error.message + lies + self._bound_for(Disposition.ACCEPTED))
        files = [replace(name, source=target) for name, target in zip(names, present, strict=True)]
        return Move(
            files=tuple(files),
            items=tuple(own),
            disposition=Disposition.ACCEPTED,
            folder=held.target_folder,
            delivered_in=folder,
            mount=mount_of(names[-1].target),
        )

    def _is_any_there(self, files: Sequence[FileMove]) -> bool:
        sources = [file.source for file in files]
        return any(some_at_once(sources, self.moves.digest, AT_ONCE))

    def _still_in_quarantine(self, files: Sequence[FileMove]) -> dict[str, FileMove]:
        """Return the files whose moved bytes still lie there, by their places: somebody may have put others there."""
        digests = some_at_once([file.target for file in files], self.moves.digest, AT_ONCE)
        present: dict[str, FileMove] = {}
        for file, digest in zip(files, digests, strict=True):
            if digest == file.sha256:
                present[file.target] = file
        return present

    def is_there(self, held: Move) -> bool:
        """Whether a delivery still lies in quarantine, as far as that can be seen."""
        with suppress(SourceError):
            return self.moves.digest(held.name) is not None
        return True

    def files_of(self, batch: DeliveredBatch) -> dict[str, str]:
        """Return the versions of the files that move with a batch, by location.

        SourceError if a folder in it cannot be listed, or is a link.
        """
        listed = self.moves.files_below(batch.location)
        return self._versions(listed, batch.holds, batch.named_audio)

    def _versions(
        self, listed: Mapping[str, FileFacts | None], is_held: Callable[[str], bool], named: Iterable[str]
    ) -> dict[str, str]:
        """Return the versions of listed files that are held, and of those that are named, also if they are hidden."""
        versions: dict[str, str] = {}
        for file, facts in listed.items():
            if is_held(file):
                versions[file] = "" if facts is None else facts.version
        for file in named:
            named_facts = None if file in versions else self.moves.facts(file)
            if named_facts is not None:
                versions[file] = named_facts.version
        return versions

    def moved(self, move: Move, note_copied: Callable[[Move], None] = lambda _move: None) -> list[DisposalResult]:
        """Copy all files, the last one after the others, then remove them, the last one first; for each item a result.

        Or go on with a move that was begun. If a file cannot be copied, no copy is left. `note_copied` is told of a
        delivery before its first file is removed: from then on, its move only goes forward.
        """
        *others, last = move.files
        try:
            copied = list(some_at_once(others, partial(self._copied, move), AT_ONCE))
            copied.append(self._copied(move, last))
        except (NameTaken, SourceError) as error:
            return [self._failed(move, error)] * move.results
        if not any(file.is_there for file in copied):
            return [DisposalResult(Disposition.GONE, detail="It is no longer there.")] * move.results
        try:
            # The supplier may write during the copy. While nothing is removed, all can still wait for the next pass.
            if self._was_written(move):
                self._take_back(move)
                return [_stays()] * move.results
            if move.folder is not None and not move.is_copied:
                note_copied(move)
            stayed = self._removed(move, copied)
            if move.files[-1].source in stayed:
                return [_replaced(move)] * move.results
        except SourceError as error:
            # Nobody needs the right to delete what lies in quarantine: a copy of it may stay there.
            if move.delivered_in is None or error.reason != Reason.SOURCE_FORBIDDEN:
                detail = f"It was copied, but not removed. {error.message}"
                return [DisposalResult(Disposition.LEFT, detail=detail, is_half=True)] * move.results
            stayed = set()
        if move.folder is not None and move.folder != self.watched:
            self.moves.remove_empty(move.folder)
        return _results_of(move, stayed)

    def _was_written(self, move: Move) -> bool:
        """Whether a delivery of which nothing was removed has other files than those that were chosen."""
        if move.folder is None or move.delivered_in is not None or move.is_copied:
            return False
        self._refuse_away(move)
        chosen = {file.source: file.version for file in move.files}
        listed = self.moves.files_below(move.folder)
        is_same = self._versions(listed, move.holds, chosen) == chosen
        self._refuse_away(move)  # below a mount point, all look as if they had gone
        return not is_same

    def _take_back(self, move: Move) -> None:
        """Delete the copies of a move that has removed nothing, the last one first."""
        for file in reversed(move.files):
            self._refuse_away(move)
            if file.owns:
                self.moves.discard(file.source, file.target, file.sha256)

    def _removed(self, move: Move, copied: Sequence[_CopiedFile]) -> set[str]:
        """Remove what was copied, the last file first; return those that are other files by now, which stay.

        If the last one is, all stay, and no copy is left.
        """
        *others, last = copied
        if not self._remove(move, last) and not move.is_copied:
            self._take_back(move)
            return {file.source for file in move.files}
        removals = some_at_once(others, partial(self._remove, move), AT_ONCE)
        stayed: set[str] = set()
        for other, is_removed in zip(others, removals, strict=True):
            if not is_removed:
                stayed.add(other.file.source)
        return stayed

    def _failed(self, move: Move, error: NameTaken | SourceError) -> DisposalResult:
        """Return what became of a move of which a file could not be copied; its copies are deleted if they can be."""
        is_gone = isinstance(error, SourceError) and error.reason in _GONE
        # Below a mount point that is away, each file looks as if its sender had taken it back.
        is_of_source = is_gone and not self._is_away(self.watched)
        target = self.targets.get(move.disposition, "no target")
        goes_elsewhere = not is_within(move.name, target)
        is_half = not self._undo(move)
        # A person may have set another target since the move was begun.
        if is_half and goes_elsewhere and self._holds_last(move):
            return _stays()  # nothing was removed, so it is chosen anew, by the new setting
        if is_of_source:
            disposition = Disposition.GONE if move.folder is None else Disposition.LEFT
            return DisposalResult(disposition, detail=error.message, is_half=is_half)
        detail = error.message
        if move.delivered_in is not None:
            detail += f" It lies in {one_line(move.folder or '')}."
        if goes_elsewhere:
            detail += f" Its move to {one_line(posixpath.dirname(move.name))} was begun."
        else:
            detail += self._bound_for(move.disposition)
        return DisposalResult(Disposition.LEFT, detail=detail, is_half=is_half)

    def _free_names(
        self,
        location: str,
        files: Mapping[str, str],
        disposition: Disposition,
        name_at: Callable[[str, str], str],
    ) -> tuple[FileMove, ...]:
        """Return the first names that are free, or have these bytes already, for files with their digests.

        SourceError if other files have names in both places.
        """
        # The second place lies in a folder named by the content. So no file there is overwritten, and what belongs
        # together by its names keeps these.
        below_watched = location[len(self.watched.rstrip("/")) :]
        above, name = posixpath.split(below_watched.strip("/"))
        target = self.targets[disposition].rstrip("/")
        content = "|".join(files.values()).encode()
        by_content = hashlib.sha256(content).hexdigest()[:12]
        for more in ("", by_content):
            place = posixpath.join(target, above, more, name).rstrip("/")
            wanted = [(file, name_at(place, file), digest) for file, digest in files.items()]
            moves = list(some_at_once(wanted, self._free_name, AT_ONCE))
            if None not in moves:
                return tuple(filter(None, moves))
        raise SourceError("Other files have its names at the target.", reason=Reason.UNREADABLE_FILE)

    def _free_name(self, wanted: tuple[str, str, str]) -> FileMove | None:
        """Return how a file goes to a name; None if another file has it."""
        source, target, sha256 = wanted
        held = self.moves.held(target)
        if held not in {None, sha256}:
            return None
        return FileMove(source=source, target=target, sha256=sha256, owns=held is None)

    def _digests_there(self, files: Iterable[str]) -> dict[str, str]:
        digests: dict[str, str] = {}
        for file in files:
            digest = self.moves.digest(file)
            if digest is not None:
                digests[file] = digest
        return digests

    def _digests(self, batch: DeliveredBatch, files: list[str]) -> Mapping[str, str]:
        # What was verified moves, and nothing that was put in its place since.
        verified: dict[str | None, str | None] = {}
        for row in batch.rows:
            if row.answer is not None:
                verified[row.row.sidecar] = row.answer.sidecar_sha256
                verified[row.row.audio] = row.answer.audio_sha256

        def digest_of(file: str) -> str:
            digest = verified.get(file) or self.moves.digest(file)
            if digest is None:
                raise SourceError("A file of it is no longer there.", reason="missing_audio")
            return digest

        digests = some_at_once(files, digest_of, AT_ONCE)
        return dict(zip(files, digests, strict=True))

    def _bound_for(self, disposition: Disposition) -> str:
        """Say after a message where files should go, and which setting says so."""
        setting = "accepted" if disposition is Disposition.ACCEPTED else "quarantine"
        return f" It should go to {one_line(self.targets[disposition])} (ingest.{setting})."

    def _is_away(self, place: str) -> bool:
        """Whether another disk lies there than when the pass began, or nothing where files were found."""
        return self.mounts.is_changed(place) or (place == self.watched and is_gone(place))

    def is_unmounted(self, move: Move) -> bool:
        """Whether the share is away on which a move began: copies may lie below its mount point, for nobody to see."""
        return len(mount_of(move.name)) < len(move.mount)

    def _refuse_away(self, move: Move) -> None:
        """Raise SourceError if a place of a move is away: a copy would fill the disk below, a file there look gone."""
        places = [self.watched, self.targets.get(move.disposition, self.watched)]
        if move.delivered_in is not None:
            places.append(self.targets.get(Disposition.QUARANTINED, self.watched))
        for place in places:
            if self._is_away(place):
                raise _away(place)
        if self.is_unmounted(move):
            raise _away(posixpath.dirname(move.name))

    def _copied(self, move: Move, file: FileMove) -> _CopiedFile:
        try:
            self._refuse_away(move)
            if move.delivered_in is not None:
                self.moves.clear(file.source)  # passes begin by this in the watched folder alone
            copy = self.moves.copy(file.source, file.target, file.sha256)
            if copy.source is None and not file.owns:
                self._refuse_other(file)
            return _CopiedFile(file, copy.source, copy.disk)
        except (NameTaken, SourceError) as error:
            if move.folder is None:
                raise
            reason = error.reason if isinstance(error, SourceError) else None
            # What is neither here nor there, although it was copied once, was taken from the target meanwhile.
            was_taken = move.is_copied and reason in _GONE
            # Of a batch without its last file, its sender may have taken back all.
            is_missing = reason == Reason.MISSING_AUDIO and self.moves.digest(move.files[-1].source) is None
            if was_taken or is_missing:
                return _CopiedFile(file, None, None, is_there=False)
            name = utf8_text(posixpath.basename(file.source))
            error.message = f"{name}: {error.message}"
            raise

    def _refuse_other(self, file: FileMove) -> None:
        # The bytes lay at the target before, and another file has come here with the time and size of the first.
        if self.moves.digest(file.source) not in {None, file.sha256}:
            raise SourceError("Another file lies here, to be verified.", reason=Reason.SOURCE_CHANGED)

    def _remove(self, move: Move, copied: _CopiedFile) -> bool:
        """Remove a file that was copied; False if there is another one by now, which stays."""
        self._refuse_away(move)
        is_removed = True
        if copied.facts is not None:
            # A copy that was made while another disk lay there is not found.
            if self.moves.disk(copied.file.target) != copied.disk:
                raise _away(copied.file.target)
            is_removed = self.moves.remove(copied.file.source, copied.facts)
            self._refuse_away(move)  # a share that goes meanwhile makes the file look as if it were gone already
        return is_removed

    def _holds_last(self, move: Move) -> bool:
        """Whether the file that is removed first is still where it was delivered."""
        last = move.files[-1]
        with suppress(SourceError):
            return self.moves.digest(last.source) == last.sha256
        return False

    def _undo(self, move: Move) -> bool:
        """Delete this move's copies; False if a later pass must go on with it."""
        try:
            self._refuse_away(move)
            # The last file is copied last: where its copy is, all copies are.
            last = move.files[-1]
            self.moves.clear(last.target)
            if self.moves.held(last.target) == last.sha256 and (move.folder is None or last.owns):
                return move.folder is None  # a batch is half moved, and the next pass goes on
            # A sidecar alone would be taken for another audio's. Where files may have been removed, only copies of what
            # still lies where it was delivered are deleted: a consumer may have taken the audio, and another copy may
            # be all that is left. Of a pair, nothing notes when its removal began.
            may_be_removed = move.folder is None or move.is_copied
            for file in move.files[:-1]:
                if not file.owns:
                    continue
                if not may_be_removed or self.moves.digest(file.source) == file.sha256:
                    self.moves.discard(file.source, file.target, file.sha256)
        except SourceError:
            return False
        return True


def _away(place: str) -> SourceError:
    message = f"{one_line(place)} is away: see whether its share is mounted."
    return SourceError(message, reason=Reason.SOURCE_UNAVAILABLE)


def _replaced(move: Move) -> DisposalResult:
    """Return what became of a move that stays, since another file took the place of the one that is removed first."""
    if move.folder is not None:
        return _stays()  # the next pass looks at the delivery as it is now
    return DisposalResult(Disposition.GONE, detail="Another file came in its place during the move.")


def _stays(detail: str | None = None) -> DisposalResult:
    return DisposalResult(Disposition.LEFT, detail=detail)


def _is_own(item: WorkItem, answer: PastAnswer, newest: Mapping[str, PastAnswer]) -> bool:
    """Whether a file of a delivery goes to `accepted` with it: no later delivery has brought another one."""
    last = newest.get(item.item_id)
    if answer.outcome != "accepted":
        return last is None and answer.reason in HINDERS_NOTHING
    if last is None:
        return False
    return last.run_id == answer.run_id and last.leg == answer.leg


def _results_of(move: Move, stayed: set[str]) -> list[DisposalResult]:
    """Return what became of each item of a move that is over; some of its files were replaced, and so stayed."""
    if not move.items:
        return [DisposalResult(move.disposition, posixpath.dirname(move.name))]
    targets = {move.delivered(file): file.target for file in move.files}
    results: list[DisposalResult] = []
    for item, answer in move.items:
        if not stayed.isdisjoint((item.audio, item.sidecar)):
            lies = one_line(targets.get(item.audio, move.target_folder))
            results.append(DisposalResult(Disposition.GONE, detail=_REPLACED.format(lies=lies)))
            continue
        is_held_back = move.disposition is Disposition.QUARANTINED and answer.outcome == "accepted"
        detail = _WITH_THE_REST if is_held_back else None
        sidecar = targets.get(item.sidecar or "")
        results.append(DisposalResult(move.disposition, targets.get(item.audio), sidecar, detail))
    return results
