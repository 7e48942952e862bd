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
from proofsweep.files.audio import open_audio
from proofsweep.files.folder_listing import Cause
from proofsweep.ingest.deliveries import IN_BATCH, BatchRow, DeliveredBatch, DeliveredBatches
from proofsweep.ingest.disposal import Disposal
from proofsweep.ingest.records import IngestContext
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
from proofsweep.sources.catalog import Catalog, PartOfCatalog
from proofsweep.sources.ddex_delivery import Batch
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.pairing import needs_sidecar
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
    is_settling: bool = False  # whether a delivery in which all is there may still be written
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
        listed: list[tuple[str, ManifestRow]] = []
        places_of = Counter[str]()  # how many places each item has
        plain_ids: list[str] = []
        for row in self._resting(folder.rows(), half_moved):
            item_id = item_id_of(row, folder.name)
            listed.append((item_id, row))
            places_of[item_id] += 1
            if _is_missing(row):
                plain_ids.append(self._plain_id(row))
        if any(_is_unreadable_folder(row) for _, row in listed):
            # Nothing is known of the files in it: what waits there goes on waiting when the folder can be read again.
            places = {place_of(row) for _, row in listed}
            self.sightings = {place: sighting for place, sighting in before.items() if place not in places}
        answers = answers_of([*places_of, *plain_ids])
        rows: list[BatchRow] = []
        for item_id, row in listed:
            place = place_of(row)
            sighting = sighted(before.get(place), row, self.now)
            answer = self._answer_to(row, sighting, answers.get(item_id))
            decision = decide(sighting, answer, row, self.now, self.context.settings)
            # The newest answer of an item is of one of its places only: the others keep their own.
            is_shared = places_of[item_id] > 1 and answer is not None and answer.outcome in VERDICTS
            if decision is Decision.ANSWERED and is_shared:
                sighting = replace(sighting, answer=answer)
            self.sightings[place] = sighting
            was_accepted = self._was_accepted(item_id, row, answers)
            rows.append(BatchRow(item_id, row, decision, answer, was_accepted=was_accepted))
        self._sort_batches(_whole_batches(folder, half_moved), rows, before)
        for batch_row in rows:
            self._take_in(batch_row)
        self._name_others(folder)

    def _plain_id(self, row: ManifestRow) -> str:
        """Return the item that a file was before its message came."""
        return item_id_of(replace(row, item_id=None), self.catalog_name)

    def _was_accepted(self, item_id: str, row: ManifestRow, answers: Mapping[str, PastAnswer]) -> bool:
        """Whether a file that is not there was brought by an earlier delivery, and accepted."""
        if not _is_missing(row):
            return False
        # A message that was sent with accepted files is no more missing than they are.
        if row.audio in self.held:
            return True
        for answer in (answers.get(item_id), answers.get(self._plain_id(row))):
            if answer is not None and answer.outcome == "accepted":
                return True
        return False

    def _answer_to(self, row: ManifestRow, sighting: Sighting, newest: PastAnswer | None) -> PastAnswer | None:
        """Return the answer for the listed bytes, else one that may be for the same bytes; None if there is none."""
        last: PastAnswer | None = None
        for answer in (sighting.answer, newest):
            if answer is None or not answer.is_recent_enough(sighting, self.now):
                continue
            if is_answer(answer, row):
                return answer
            last = answer
        return last

    def _sort_batches(
        self, batches: Mapping[str, Batch], rows: Sequence[BatchRow], before: Mapping[str, Sighting]
    ) -> None:
        self.batches = DeliveredBatches(self.disposal.watched, batches, self.corrected).sorted(rows)
        for batch in self.batches:
            self._list_files(batch)
            since = [self.sightings[place_of(row.row)].since for row in batch.rows]
            if batch.files or not since:
                seen = self._seen(batch, before)
                since = since or [seen]
            batch.decide(self.now, min(since), self.context.settings)
            for row in batch.rows:
                tags = self._tags(row.row, batch)
                row.row = replace(row.row, batch=batch.location, tags=tags)

    def _list_files(self, batch: DeliveredBatch) -> None:
        """List the files of a delivery that may move, after its rows were made."""
        may_move = batch.is_sent and not batch.needs_message and not batch.is_apart
        if may_move and self.disposal.targets:
            with suppress(SourceError):  # its move will say why
                batch.files = self.disposal.files_of(batch)

    def _seen(self, batch: DeliveredBatch, before: Mapping[str, Sighting]) -> datetime:
        """Return since when a delivery lies there as it is now, and say whether it may still be written."""
        place = utf8_text(batch.location)
        version = _version_of_files(batch)
        sighting = before.get(place)
        # Rows are made of files that nobody has written since only if a listing before them has the same files as one
        # after them. So the first scan that lists these never finds them settled, however short the time is.
        is_listed_before = sighting is not None and sighting.version == version
        if sighting is None or not is_listed_before:
            sighting = Sighting(version=version, since=self.now)
        sighting = replace(sighting, since=min(sighting.since, self.now))  # a clock may be put back
        self.sightings[place] = sighting
        settle_time = timedelta(seconds=self.context.settings.settle_seconds)
        batch.is_settled = is_listed_before and self.now - sighting.since >= settle_time
        return sighting.since

    def _name_others(self, folder: Catalog) -> None:
        """Name what lies there, is no row, and would lie there for ever without a word."""
        for batch in self.batches:
            if batch.is_apart:
                self.waiting.append(waiting_row(batch.location, SET_ASIDE))
            elif not batch.rows and not batch.needs_message:
                why = WITHOUT_AUDIO if batch.is_answered else Decision.INCOMPLETE_BATCH
                self.waiting.append(waiting_row(batch.location, why, batch.missing))
            elif batch.is_settling and all(row.decision is Decision.ANSWERED for row in batch.rows):
                self.waiting.append(waiting_row(batch.location, Decision.SETTLING, batch.missing))
            self.is_settling = self.is_settling or batch.is_settling
        if isinstance(folder, FolderScan):
            self.withdrawn = folder.withdrawn
            # What a list has said is remembered as long as one of the lists lies there.
            lists = folder.checksum_lists
            spoken = self.spoken.items()
            self.spoken = {place: text for place, text in spoken if not lists.isdisjoint(text.split(","))}
            self._wait_for(folder.strays, STRAY)
            self._wait_for(folder.archives, ARCHIVE)
            self._wait_for(folder.orphans, Cause.ORPHAN_SIDECARS)
            self._wait_for(folder.unfinished, Cause.UNFINISHED)

    def _wait_for(self, files: Iterable[str], why: str) -> None:
        self.waiting += [waiting_row(file, why) for file in files]

    def _tags(self, row: ManifestRow, batch: DeliveredBatch) -> dict[str, str]:
        sender = row.tags.get("sender")
        release = batch.releases.get(row.release or "")
        if not sender and release is not None:
            sender = release.sender
        supplier = supplier_of(path_within(batch.location, self.disposal.watched))
        supplier = supplier or sender or batch.sender
        tags = {IN_BATCH: posixpath.basename(batch.location), **row.tags}
        if supplier:
            tags[SUPPLIER_TAG] = supplier
        return tags

    def _take_in(self, row: BatchRow) -> None:
        is_touched = may_be_same_bytes(row.answer, row.row)  # then its leg compares the bytes, before it sends any
        may_grow = not is_touched and self._may_grow(row)
        if row.decision is Decision.TAKE and may_grow and not self._is_complete(row.row):
            row.decision = Decision.INCOMPLETE
        # Of several places of one item, the others wait until the first one has its answer.
        if row.decision is Decision.TAKE and row.item_id in self._taken:
            row.decision = Decision.INCOMPLETE_BATCH
        self.decisions[row.decision] += 1
        match row.decision:
            case Decision.INCOMPLETE_BATCH | Decision.SETTLING | Decision.INCOMPLETE | Decision.RESTING:
                self.waiting.append(_waiting_for(row))
            case Decision.ANSWERED:
                self._keep_answered(row)
            case Decision.TAKE:
                self._taken.add(row.item_id)
                self.ready.append(replace(row.row, is_touched=is_touched))

    def _keep_answered(self, row: BatchRow) -> None:
        """Forget an answered file, unless its answer is known only here, or it is judged anew by another message."""
        place = place_of(row.row)
        sighting = self.sightings[place]
        is_needed = sighting.answer is not None or sighting.retry_at is not None
        may_be_judged_anew = bool(self.disposal.targets and row.row.judged_by)
        # A delivery must not wait once more for what an earlier one brought, when its other files have their answers.
        if not (is_needed or may_be_judged_anew or row.was_accepted):
            del self.sightings[place]
        if row.answer is not None and self.disposal.targets and row.batch is None:
            self.answered.append((self.item_of(row), row.answer))

    def item_of(self, row: BatchRow) -> WorkItem:
        return work_item_of(row.row, self.catalog_name, self.context.sidecar_field)

    def _may_grow(self, row: BatchRow) -> bool:
        """Whether the rest of a file is waited for: it is young, and nobody has said that all is sent."""
        if row.batch is not None and row.batch.needs_completion:
            return False
        age = self.now - self.sightings[place_of(row.row)].since
        return age < timedelta(seconds=self.context.settings.pair_seconds)

    def _resting(self, rows: Iterable[ManifestRow], half_moved: Collection[str]) -> Iterator[ManifestRow]:
        for row in rows:
            if _lies_in(row.audio or "", half_moved):
                continue
            # The rest is about files that are on their own: of a delivery, each row counts.
            if row.batch is not None:
                yield row
                continue
            reason = None if row.refused is None else row.refused.reason
            if reason is Reason.MISSING_AUDIO:
                continue  # it was moved, or is still on its way
            if row.refused is not None and row.refused.reason in _AWAITED:
                why = _AWAITED[row.refused.reason]
                self.waiting.append(waiting_row(row.audio, why, row.refused.detail))
            elif row.judged_by and self.spoken.get(place_of(row)) == row.judged_by:
                yield replace(row, declared=None, judged_by="")  # the list is of the file before
            else:
                yield row

    def _is_complete(self, row: ManifestRow) -> bool:
        """Whether nothing of a file is to be expected. What cannot be read now may be half of a pair, so it waits."""
        if row.refused is not None:  # such as a link that leads out, which is never opened
            return row.refused.reason is not Reason.SOURCE_UNAVAILABLE
        for facts in (row.audio_facts, row.sidecar_facts):
            if isinstance(facts, FileFacts) and facts.size_bytes == 0:
                return False
        try:
            with open_audio(row.audio or "") as audio:
                if audio.is_cut_short():
                    return False
                return row.sidecar is not None or not needs_sidecar(audio)
        except SourceError:
            return False  # once it has waited for so long, its row will say why


def _version_of_files(batch: DeliveredBatch) -> str:
    """Return what changes when a file of a delivery comes, goes or changes; of one that is not listed, a message."""
    if not batch.files:
        return batch.version
    digest = hashlib.sha256()
    for file, version in sorted(batch.files.items()):
        content = b"\0".join(map(raw_bytes, (file, version)))
        digest.update(content + b"\0\0")
    return digest.hexdigest()


def _lies_in(location: str, folders: Collection[str]) -> bool:
    return any(is_within(location, folder) for folder in folders)


def _is_missing(row: ManifestRow) -> bool:
    """Whether a message names a file that is not there."""
    if row.batch is None or row.refused is None:
        return False
    return row.refused.reason is Reason.MISSING_AUDIO


def _is_unreadable_folder(row: ManifestRow) -> bool:
    return row.refused is not None and row.refused.reason is Reason.UNREADABLE_FOLDER


def _whole_batches(folder: Catalog, half_moved: Collection[str]) -> dict[str, Batch]:
    """Return the deliveries that lie there; what is left of one that is half moved is none by itself."""
    if not isinstance(folder, FolderScan):
        return {}
    return {location: batch for location, batch in folder.batches.items() if not _lies_in(location, half_moved)}


def _waiting_for(row: BatchRow) -> Row:
    if _is_missing(row.row):
        return waiting_row(row.row.audio, ABSENT)
    detail = None if row.batch is None else row.batch.missing
    return waiting_row(row.row.audio, row.decision, detail)


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
            tags = dict(row.tags)
            supplier = supplier_of(row.named_audio)
            if supplier is not None and row.batch is None:
                tags[SUPPLIER_TAG] = supplier
            yield replace(row, number=number, tags=tags)

    def tag_names(self) -> list[str]:
        names = (*super().tag_names(), SUPPLIER_TAG, IN_BATCH)
        return list(dict.fromkeys(names))

    def digest(self) -> str:
        digest = hashlib.sha256()
        for row in self._rows:
            facts = (row.named_audio, row.named_sidecar, version_of(row))
            content = b"\0".join(map(raw_bytes, facts))
            digest.update(content + b"\0\0")
        return digest.hexdigest()
