"""Move a delivery as a whole: all of its files, also those that are no audio, with names chosen for all of them."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from proofsweep.config.locations import is_within
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import ManifestRow, WorkItem
from proofsweep.ingest.deliveries import BatchRow, DeliveredBatch
from proofsweep.ingest.dispose import NAMES_TAKEN, Disposal, DisposalResult, at_once
from proofsweep.ingest.moves import FileMove, Move, MovedItem, folders_of
from proofsweep.ingest.rules import Disposition


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
