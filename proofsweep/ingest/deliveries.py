"""The deliveries of a watched folder: which files are taken and moved together, and whether all are there. Pure.

A batch is whole when its completion file is there, and each file that its messages name. A release that came without
any such convention is a batch of its own, whose files are taken one by one.
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from proofsweep.config.locations import is_within
from proofsweep.config.sections import IngestSettings
from proofsweep.domain.items import FileFacts, ManifestRow
from proofsweep.domain.reasons import Reason
from proofsweep.domain.text import printable
from proofsweep.ingest.rules import Decision, PastAnswer, reason_of_scan
from proofsweep.sources.ddex_delivery import Batch, Release

IN_BATCH = "batch"  # the tag that all files of a delivery have, and no others in a watched folder

# The name of a batch's folder in the standard: YYYYMMDDhhmmssnnn, with a letter for its priority or without.
_BATCH_ID = re.compile(r"(?:[PMNL]_)?\d{17}")
_APART = {Reason.TEST_MESSAGE, Reason.WITHDRAWN}  # rows that nobody waits for, takes or moves
_NOT_THERE = {
    *(Reason.MISSING_AUDIO, Reason.UNREADABLE_MESSAGE, Reason.SOURCE_CHANGED),
    *(Reason.UNFINISHED, Reason.STAND_IN, Reason.SOURCE_UNAVAILABLE),
}


@dataclass(slots=True)
class BatchRow:
    """A row of a batch with what a scan has decided, and its answer if it has one."""

    item_id: str
    row: ManifestRow
    decision: Decision
    answer: PastAnswer | None
    batch: "DeliveredBatch | None" = field(default=None, repr=False)

    @property
    def is_apart(self) -> bool:
        """Whether the file is of a test or of a withdrawn release."""
        return reason_of_scan(self.row) in _APART

    @property
    def is_there(self) -> bool:
        """Whether the file or the message is there that is named, with the declared size; or it is not named at all."""
        if not isinstance(self.row.audio_facts, FileFacts):
            return reason_of_scan(self.row) not in _NOT_THERE
        return self.row.declared is None or self.row.declared.is_size(self.row.audio_facts.size_bytes)


@dataclass(slots=True, kw_only=True)
class DeliveredBatch:
    """Files that are taken and moved together."""

    location: str
    completion: str | None  # the location of the file that says that all is sent; None while it is not there
    needs_completion: bool  # whether nothing is taken before that file is there
    releases: Mapping[str, Release] = field(default_factory=dict)
    rows: list[BatchRow] = field(default_factory=list)
    missing: str | None = None  # what is not there, in a clause
    folders: Collection[str] = ()  # of all deliveries of the scan, and of all releases
    files: Collection[str] = ()  # that lay in it when the scan was over, if it is answered

    @property
    def sender(self) -> str:
        """Who sent it, by the first message that says so; empty if none can be read."""
        return next((release.sender for release in self.releases.values() if release.sender), "")

    @property
    def is_sent(self) -> bool:
        """Whether the sender has said that all is sent, or does not say so."""
        return self.completion is not None or not self.needs_completion

    @property
    def is_answered(self) -> bool:
        """Whether nothing more is to be expected: each file has its answer, or what is wrong with it is known."""
        return self.is_sent and all(each.decision is Decision.ANSWERED for each in self.rows)

    @property
    def moved_rows(self) -> list[BatchRow]:
        """The rows whose files are moved when all is answered; those of tests and withdrawn releases stay."""
        return [each for each in self.rows if not each.is_apart]

    def holds(self, file: str) -> bool:
        """Whether a file below its folder moves with it: none of another delivery, a test or a withdrawn release."""
        folder = posixpath.dirname(file)
        while folder != self.location and folder not in self.folders:
            folder = posixpath.dirname(folder)
        release = self.releases.get(folder)
        is_moved = folder == self.location if release is None else not release.is_apart
        return is_moved or file == self.completion

    def why_incomplete(self) -> str | None:
        """Return what is not there, in a clause; None if the batch is complete."""
        if self.completion is None and self.needs_completion:
            return "its completion file is not there"
        missing = [each.row.audio or "" for each in self.moved_rows if not each.is_there]
        if not missing:
            return None
        name = printable(posixpath.basename(missing[0]))
        return f"named files and messages that are not there, or not whole: {len(missing):,}, the first of them {name}"

    def decide(self, now: datetime, since: datetime, settings: IngestSettings) -> None:
        """Let files wait as long as the batch is not complete.

        If that has lasted too long, they are taken with what is wrong with them, if the completion file is there or
        none is expected.
        """
        why, rows = self.why_incomplete(), self.moved_rows
        self.missing = why
        is_settled = not any(each.decision is Decision.SETTLING for each in rows)
        is_late = is_settled and now - since >= timedelta(seconds=settings.batch_wait_seconds)
        if is_late and self.is_sent:
            return
        waits_for_others = self.needs_completion and not (is_settled and why is None)
        for each in rows:
            if each.decision is Decision.TAKE and (waits_for_others or not each.is_there):
                each.decision = Decision.INCOMPLETE_BATCH


class DeliveredBatches:
    """The batches of one scan of a watched folder."""

    def __init__(self, watched: str, batches: Mapping[str, Batch]) -> None:
        self._watched = watched.rstrip("/")
        self._batches = batches
        self._found: dict[str, DeliveredBatch] = {}
        self._complete = {batch.location for batch in batches.values() if batch.completion is not None}
        self._folders = {folder for batch in batches.values() for folder in batch.releases}

    def of(self, row: ManifestRow) -> DeliveredBatch | None:
        """Return what a row is taken and moved with; None for a file that is on its own."""
        batch = None if row.batch is None else self._batches.get(row.batch)
        if batch is None or row.audio is None:
            location = self._unnamed(row.audio or "")
            return None if location is None else self._at(location, self._batches.get(location), needs_completion=True)
        if batch.completion is not None:
            return self._at(batch.location, batch, needs_completion=True)
        release = row.release or batch.location
        folder = self._folder_of(release)
        if _BATCH_ID.fullmatch(posixpath.basename(folder)):
            return self._at(folder, batch, needs_completion=True)
        return self._at(release, batch, needs_completion=False)

    def sorted(self, rows: Iterable[BatchRow]) -> Sequence[DeliveredBatch]:
        for each in rows:
            if (batch := self.of(each.row)) is not None:
                each.batch = batch
                batch.rows.append(each)
        return [*self._found.values()]

    def _at(self, location: str, batch: Batch | None, *, needs_completion: bool) -> DeliveredBatch:
        if location not in self._found:
            releases: Mapping[str, Release] = {} if batch is None else batch.releases
            if not needs_completion:  # one of many that came each alone
                releases = {location: releases[location]} if location in releases else {}
            self._found[location] = DeliveredBatch(
                location=location,
                completion=batch.completion if batch is not None and needs_completion else None,
                needs_completion=needs_completion,
                releases=releases,
                folders=self._folders,
            )
            self._folders.add(location)
        return self._found[location]

    def _folder_of(self, release: str) -> str:
        above = posixpath.dirname(release)
        return above if above != self._watched and is_within(above, self._watched) else release

    def _unnamed(self, audio: str) -> str | None:
        """Return the folder of the batch in which a file lies that no message speaks of: its message may still come.

        Only a file in a folder below one with the name of a batch is such a file; others are no deliveries.
        """
        above, depth = posixpath.dirname(audio), 0
        while above != self._watched and is_within(above, self._watched):
            if above in self._complete or (depth and _BATCH_ID.fullmatch(posixpath.basename(above))):
                return above
            above, depth = posixpath.dirname(above), depth + 1
        return None
