"""Scan a watched folder: which files are ready to be verified, which are answered, and what the others wait for."""

import hashlib
import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from proofsweep.config.locations import is_within, path_within
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts, ManifestRow, Row, WorkItem, item_id_of, raw_bytes, utf8_text
from proofsweep.domain.reasons import Reason
from proofsweep.domain.runs import INGEST
from proofsweep.domain.tags import SUPPLIER_TAG
from proofsweep.ingest.deliveries import IN_BATCH, BatchRow, DeliveredBatch, DeliveredBatches
from proofsweep.ingest.moves import Disposal
from proofsweep.ingest.rules import (
    VERDICTS,
    Decision,
    PastAnswer,
    Sighting,
    decide,
    is_answer,
    may_be_same_bytes,
    place_of,
    sighted,
    supplier_of,
    version_of,
)
from proofsweep.ingest.state import IngestContext
from proofsweep.sources.audio import open_audio
from proofsweep.sources.catalog import Catalog, PartOfCatalog
from proofsweep.sources.ddex_delivery import Batch
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.names import Cause
from proofsweep.sources.preflight import work_item_of

# What lies in a watched folder, is no row, and is named: why, and what to do.
STRAY, ARCHIVE, SET_ASIDE, WITHOUT_AUDIO = "stray_message", "archive", "set_aside", "without_audio"
ABSENT = "absent"

# Rows of files whose sidecars are on their way, and what such a file waits for.
_AWAITED = {Reason.UNFINISHED: Cause.UNFINISHED, Reason.STAND_IN: Cause.NOT_DOWNLOADED}


@dataclass(slots=True)
class Scan:
    """One scan of a watched folder, and what it found."""

    context: IngestContext
    disposal: Disposal
    now: datetime
    catalog_name: str = ""
    ready: list[ManifestRow] = field(default_factory=list)  # settled, complete and without an answer
    answered: list[tuple[WorkItem, PastAnswer]] = field(default_factory=list)  # files that still lie there
    sightings: dict[str, Sighting] = field(default_factory=dict)  # of all files that wait, by their places
    decisions: Counter[Decision] = field(default_factory=Counter)
    batches: Sequence[DeliveredBatch] = ()
    waiting: list[Row] = field(default_factory=list)
    spoken: dict[str, str] = field(default_factory=dict)  # lists that speak of files which have gone, by their places
    held: Collection[str] = ()  # where files were delivered that lie in quarantine with accepted ones
    corrected: Collection[str] = ()  # where those were that were not accepted, and may come once more
    withdrawn: Collection[tuple[str, str]] = ()  # releases, by their senders and IDs
    is_settling: bool = False  # whether a delivery without audio may still grow
    _taken: set[str] = field(default_factory=set)  # the items that are ready

    def read(
        self,
        folder: Catalog,
        before: Mapping[str, Sighting],
        answers_of: Callable[[Collection[str]], Mapping[str, PastAnswer]],
        half_moved: Collection[str] = (),
    ) -> None:
        """Decide about each listed file, by what is known of it at its place and by the newest answers of items, by ID.

        Files below the folders that are `half_moved` are left out. Of a file that is delivered in several places, one
        after another is verified, so that each has an answer for its own bytes.

        Raises:
            CatalogError: the folder cannot be listed; EmptyCatalog if it holds no audio.
        """
        self.catalog_name = folder.name
        listed = [(item_id_of(row, folder.name), row) for row in self._resting(folder.rows(), half_moved)]
        if any(row.refused is not None and row.refused.reason is Reason.UNREADABLE_FOLDER for _, row in listed):
            # Nothing is known of the files in it: what waits there goes on waiting when the folder can be read again.
            places = {place_of(row) for _, row in listed}
            self.sightings = {place: sighting for place, sighting in before.items() if place not in places}
        places_of = Counter(item_id for item_id, _ in listed)
        verdicts = answers_of([*places_of, *(self._plain_id(row) for _, row in listed if _is_missing(row))])
        rows: list[BatchRow] = []
        for item_id, row in listed:
            sighting = sighted(before.get(place_of(row)), row, self.now)
            answer = self._answer_to(row, sighting, verdicts.get(item_id))
            decision = decide(sighting, answer, row, self.now, self.context.settings)
            is_shared = places_of[item_id] > 1 and answer is not None and answer.outcome in VERDICTS
            if decision is Decision.ANSWERED and is_shared:
                sighting = replace(sighting, answer=answer)
            self.sightings[place_of(row)] = sighting
            known = (verdicts.get(item_id), verdicts.get(self._plain_id(row))) if _is_missing(row) else ()
            was_accepted = any(each is not None and each.outcome == "accepted" for each in known)
            # A message that was sent with accepted files is no more missing than they are.
            was_accepted = was_accepted or (_is_missing(row) and row.audio in self.held)
            rows.append(BatchRow(item_id, row, decision, answer, was_accepted=was_accepted))
        batches = folder.batches if isinstance(folder, FolderScan) else {}
        # What is left of a delivery that is half moved is none by itself.
        left = {location: batch for location, batch in batches.items() if not _lies_in(location, half_moved)}
        self._sort_batches(left, rows, before)
        for each in rows:
            self._take_in(each)
        for batch in (batch for batch in self.batches if self.disposal.targets and batch.is_answered):
            with suppress(SourceError):  # its move will say why
                batch.files = self.disposal.files_of(batch)
        self._name_others(folder)

    def _plain_id(self, row: ManifestRow) -> str:
        """Return the item that a file was before its message came."""
        return item_id_of(replace(row, item_id=None), self.catalog_name)

    def _answer_to(self, row: ManifestRow, sighting: Sighting, newest: PastAnswer | None) -> PastAnswer | None:
        """Return the answer for the listed bytes, else one that may be for the same bytes; None if there is none."""
        answers = [each for each in (sighting.answer, newest) if each and each.is_recent_enough(self.now)]
        own = (each for each in answers if is_answer(each, row))
        return next(own, answers[-1] if answers else None)

    def _sort_batches(
        self, batches: Mapping[str, Batch], rows: Sequence[BatchRow], before: Mapping[str, Sighting]
    ) -> None:
        self.batches = DeliveredBatches(self.disposal.watched, batches, self.corrected).sorted(rows)
        for batch in self.batches:
            since = [self.sightings[place_of(each.row)].since for each in batch.rows] or [self._seen(batch, before)]
            batch.decide(self.now, min(since), self.context.settings)
            for each in batch.rows:
                each.row = replace(each.row, batch=batch.location, tags=self._tags(each.row, batch))

    def _seen(self, batch: DeliveredBatch, before: Mapping[str, Sighting]) -> datetime:
        """Return since when a delivery without audio lies there as it is now, and say whether it may still grow."""
        place = utf8_text(batch.location)
        sighting = before.get(place)
        if sighting is None or sighting.version != batch.version:
            sighting = Sighting(version=batch.version, since=self.now)
        self.sightings[place] = sighting
        batch.is_settled = self.now - sighting.since >= timedelta(seconds=self.context.settings.settle_seconds)
        return sighting.since

    def _name_others(self, folder: Catalog) -> None:
        """Name what lies there, is no row, and would lie there for ever without a word."""
        for batch in self.batches:
            if batch.is_apart:
                self.waiting.append(waiting_row(batch.location, SET_ASIDE))
            elif not batch.rows and not batch.needs_message:
                why = WITHOUT_AUDIO if batch.is_answered else Decision.INCOMPLETE_BATCH
                self.waiting.append(waiting_row(batch.location, why, batch.missing))
                self.is_settling = self.is_settling or not batch.is_settled
        if isinstance(folder, FolderScan):
            lists = folder.checksum_lists
            self.spoken = {
                place: judged_by
                for place, judged_by in self.spoken.items()
                if not lists.isdisjoint(judged_by.split(","))
            }
            self.withdrawn = folder.withdrawn
            self.waiting += [waiting_row(file, STRAY) for file in folder.strays]
            self.waiting += [waiting_row(file, ARCHIVE) for file in folder.archives]
            self.waiting += [waiting_row(file, Cause.ORPHAN_SIDECARS) for file in folder.orphans]
            self.waiting += [waiting_row(file, Cause.UNFINISHED) for file in folder.unfinished]

    def _tags(self, row: ManifestRow, batch: DeliveredBatch) -> dict[str, str]:
        release = batch.releases.get(row.release or "")
        sender = row.tags.get("sender") or (release.sender if release is not None else "") or batch.sender
        supplier = supplier_of(path_within(batch.location, self.disposal.watched)) or sender
        tags = {IN_BATCH: posixpath.basename(batch.location), **row.tags}
        return tags | ({SUPPLIER_TAG: supplier} if supplier else {})

    def _take_in(self, each: BatchRow) -> None:
        is_touched = may_be_same_bytes(each.answer, each.row)  # then its leg compares the bytes, before it sends any
        may_grow = not is_touched and self._may_grow(each)
        if each.decision is Decision.TAKE and may_grow and not self._is_complete(each.row):
            each.decision = Decision.INCOMPLETE
        if each.decision is Decision.TAKE and each.item_id in self._taken:
            each.decision = Decision.INCOMPLETE_BATCH
        self.decisions[each.decision] += 1
        match each.decision:
            case Decision.INCOMPLETE_BATCH | Decision.SETTLING | Decision.INCOMPLETE | Decision.RESTING:
                missing = None if each.batch is None else each.batch.missing
                why = ABSENT if _is_missing(each.row) else each.decision
                detail = None if why == ABSENT else missing
                self.waiting.append(waiting_row(each.row.audio, why, detail))
            case Decision.ANSWERED:
                self._keep_answered(each)
            case Decision.TAKE:
                self._taken.add(each.item_id)
                self.ready.append(replace(each.row, is_touched=is_touched))

    def _keep_answered(self, each: BatchRow) -> None:
        """Forget an answered file, unless its answer is known only here, or it is judged anew by another message."""
        place = place_of(each.row)
        may_be_judged_anew = self.disposal.targets and each.row.judged_by
        # A delivery must not wait once more for what an earlier one brought, when its other files have their answers.
        if self.sightings[place].answer is None and not may_be_judged_anew and not each.was_accepted:
            del self.sightings[place]
        if each.answer is not None and self.disposal.targets and each.batch is None:
            self.answered.append((self.item_of(each), each.answer))

    def item_of(self, each: BatchRow) -> WorkItem:
        return work_item_of(each.row, self.catalog_name, self.context.sidecar_field)

    def _may_grow(self, each: BatchRow) -> bool:
        """Whether the rest of a file is waited for: it is young, and nobody has said that all is sent."""
        is_said_whole = each.batch is not None and each.batch.needs_completion
        age = self.now - self.sightings[place_of(each.row)].since
        return not is_said_whole and age < timedelta(seconds=self.context.settings.pair_seconds)

    def _resting(self, rows: Iterable[ManifestRow], half_moved: Collection[str]) -> Iterator[ManifestRow]:
        for row in rows:
            audio = row.audio or ""
            is_away = row.refused is not None and row.refused.reason is Reason.MISSING_AUDIO
            if (is_away and row.batch is None) or _lies_in(audio, half_moved):
                continue  # it was moved, or is still on its way
            if row.batch is None and row.judged_by and self.spoken.get(place_of(row)) == row.judged_by:
                row = replace(row, declared=None, judged_by="")  # noqa: PLW2901 - the list is of the file before
            if row.batch is None and row.refused is not None and row.refused.reason in _AWAITED:
                self.waiting.append(waiting_row(row.audio, _AWAITED[row.refused.reason], row.refused.detail))
                continue
            yield row

    def _is_complete(self, row: ManifestRow) -> bool:
        """Whether nothing of a file is to be expected. What cannot be read now may be half of a pair, so it waits."""
        if row.refused is not None:  # such as a link that leads out, which is never opened
            return row.refused.reason is not Reason.SOURCE_UNAVAILABLE
        facts = (row.audio_facts, row.sidecar_facts)
        if any(isinstance(each, FileFacts) and each.size_bytes == 0 for each in facts):
            return False
        try:
            with open_audio(row.audio or "") as audio:
                return not audio.is_cut_short() and (row.sidecar is not None or not audio.needs_sidecar())
        except SourceError:
            return False  # once it has waited for so long, its row will say why


def _lies_in(location: str, folders: Collection[str]) -> bool:
    return any(is_within(location, folder) for folder in folders)


def _is_missing(row: ManifestRow) -> bool:
    """Whether a message names a file that is not there."""
    return row.batch is not None and row.refused is not None and row.refused.reason is Reason.MISSING_AUDIO


def waiting_row(file: str | None, why: str, detail: str | None = None) -> Row:
    return {"file": utf8_text(file or ""), "why": str(why), "detail": detail}


class ReadyFiles(PartOfCatalog):
    """Chosen rows of a watched folder, numbered anew, each with its supplier as a tag."""

    def __init__(self, folder: Catalog, rows: Sequence[ManifestRow]) -> None:
        super().__init__(folder)
        self.kind, self.ignored = INGEST, Counter()
        self._rows = rows

    def rows(self) -> Iterator[ManifestRow]:
        for number, row in enumerate(self._rows):
            supplier = supplier_of(row.named_audio) if row.batch is None else None
            tags = {} if supplier is None else {SUPPLIER_TAG: supplier}
            yield replace(row, number=number, tags={**row.tags, **tags})

    def tag_names(self) -> list[str]:
        return [*dict.fromkeys((*super().tag_names(), SUPPLIER_TAG, IN_BATCH))]

    def digest(self) -> str:
        digest = hashlib.sha256()
        for row in self._rows:
            facts = (row.named_audio, row.named_sidecar, version_of(row))
            digest.update(b"\0".join(map(raw_bytes, facts)) + b"\0\0")
        return digest.hexdigest()
