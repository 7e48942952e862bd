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
    Decision,
    PastAnswer,
    Sighting,
    decide,
    is_answer,
    may_be_same_bytes,
    sighted,
    supplier_of,
    version_of,
)
from proofsweep.ingest.state import IngestContext
from proofsweep.sources.audio import open_audio
from proofsweep.sources.catalog import Catalog, PartOfCatalog
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.names import Cause
from proofsweep.sources.preflight import work_item_of

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
    sightings: dict[str, Sighting] = field(default_factory=dict)  # of all files without a verdict, by item ID
    decisions: Counter[Decision] = field(default_factory=Counter)
    batches: Sequence[DeliveredBatch] = ()
    waiting: list[Row] = field(default_factory=list)

    def read(
        self,
        folder: Catalog,
        before: Mapping[str, Sighting],
        answers_of: Callable[[Collection[str]], Mapping[str, PastAnswer]],
        half_moved: Collection[str] = (),
    ) -> None:
        """Decide about each listed file, by what is known of waiting files and by the newest answers of items, by ID.

        Files below the folders that are `half_moved` are left out. A file that is delivered in two places waits in
        the second one until it has left the first.

        Raises:
            CatalogError: the folder cannot be listed; EmptyCatalog if it holds no audio.
        """
        self.catalog_name = folder.name
        listed: dict[str, ManifestRow] = {}
        found = ((item_id_of(row, folder.name), row) for row in self._resting(folder.rows(), half_moved))
        rows = [
            BatchRow(item_id, row, Decision.INCOMPLETE_BATCH, None)
            for item_id, row in found
            if listed.setdefault(item_id, row) is not row
        ]
        if any(row.refused is not None and row.refused.reason is Reason.UNREADABLE_FOLDER for row in listed.values()):
            # Nothing is known of the files in it: what waits there goes on waiting when the folder can be read again.
            self.sightings = {item_id: each for item_id, each in before.items() if item_id not in listed}
        verdicts = answers_of(listed)
        for item_id, row in listed.items():
            sighting = self.sightings[item_id] = sighted(before.get(item_id), row, self.now)
            known = (sighting.answer, verdicts.get(item_id))
            answers = [each for each in known if each and each.is_recent_enough(self.now)]
            answer = next((each for each in answers if is_answer(each, row)), answers[-1] if answers else None)
            rows.append(BatchRow(item_id, row, decide(sighting, answer, row, self.now, self.context.settings), answer))
        self._sort_batches(folder, rows)
        for each in rows:
            self._take_in(each)
        for batch in (batch for batch in self.batches if self.disposal.targets and batch.is_answered):
            with suppress(SourceError):  # its move will say why
                batch.files = self.disposal.files_of(batch)

    def _sort_batches(self, folder: Catalog, rows: Sequence[BatchRow]) -> None:
        batches = folder.batches if isinstance(folder, FolderScan) else {}
        self.batches = DeliveredBatches(self.disposal.watched, batches).sorted(rows)
        for batch in self.batches:
            since = min(self.sightings[each.item_id].since for each in batch.rows)
            batch.decide(self.now, since, self.context.settings)
            for each in batch.rows:
                each.row = replace(each.row, batch=batch.location, tags=self._tags(each.row, batch))

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
        self.decisions[each.decision] += 1
        match each.decision:
            case Decision.INCOMPLETE_BATCH | Decision.SETTLING | Decision.INCOMPLETE | Decision.RESTING:
                missing = None if each.batch is None else each.batch.missing
                self.waiting.append(waiting_row(each.row.audio, each.decision, missing))
            case Decision.ANSWERED:
                if self.sightings[each.item_id].answer is None:
                    del self.sightings[each.item_id]
                if each.answer is not None and self.disposal.targets and each.batch is None:
                    self.answered.append((self.item_of(each), each.answer))
            case Decision.TAKE:
                self.ready.append(replace(each.row, is_touched=is_touched))

    def item_of(self, each: BatchRow) -> WorkItem:
        return work_item_of(each.row, self.catalog_name, self.context.sidecar_field)

    def _may_grow(self, each: BatchRow) -> bool:
        """Whether the rest of a file is waited for: it is young, and nobody has said that all is sent."""
        is_said_whole = each.batch is not None and each.batch.needs_completion
        age = self.now - self.sightings[each.item_id].since
        return not is_said_whole and age < timedelta(seconds=self.context.settings.pair_seconds)

    def _resting(self, rows: Iterable[ManifestRow], half_moved: Collection[str]) -> Iterator[ManifestRow]:
        for row in rows:
            audio = row.audio or ""
            is_away = row.refused is not None and row.refused.reason is Reason.MISSING_AUDIO
            if (is_away and row.batch is None) or any(is_within(audio, at) for at in half_moved):
                continue  # it was moved, or is still on its way
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
