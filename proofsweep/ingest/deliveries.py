"""The deliveries of a watched folder: which files are taken and moved together, and whether all are there. Pure.

A batch is whole when its completion file is there, and each file that its messages name. A release that came without
any such convention is a batch of its own, whose files are taken one by one.
"""

import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from proofsweep.config.locations import is_within
from proofsweep.config.sections import IngestSettings
from proofsweep.domain.items import FileFacts, ManifestRow
from proofsweep.domain.reasons import Reason
from proofsweep.domain.text import printable
from proofsweep.ingest.rules import Decision, PastAnswer, reason_of_scan
from proofsweep.sources.ddex_delivery import BATCH_ID, Batch, Release
from proofsweep.sources.ddex_files import RESOURCES

IN_BATCH = "batch"  # the tag that all files of a delivery have, and no others in a watched folder

_APART = {Reason.TEST_MESSAGE, Reason.WITHDRAWN}  # rows that nobody waits for, takes or moves
_NOT_THERE = {
    *(Reason.MISSING_AUDIO, Reason.SOURCE_CHANGED),
    *(Reason.UNFINISHED, Reason.STAND_IN, Reason.SOURCE_UNAVAILABLE),
}


@dataclass(slots=True)
class BatchRow:
    """A row of a watched folder with what a scan has decided, and its answer if it has one."""

    item_id: str
    row: ManifestRow
    decision: Decision
    answer: PastAnswer | None
    batch: "DeliveredBatch | None" = field(default=None, repr=False)
    was_accepted: bool = False  # of a file that is not there: whether an earlier delivery brought it, and it moved on

    @property
    def is_apart(self) -> bool:
        """Whether the file is of a test or of a withdrawn release, or was moved before its message came."""
        return reason_of_scan(self.row) in _APART or (self.was_accepted and self.decision is Decision.ANSWERED)

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
    needs_message: bool = False  # whether it is audio that may be a release's, whose message is not there
    releases: Mapping[str, Release] = field(default_factory=dict)
    rows: list[BatchRow] = field(default_factory=list)
    missing: str | None = None  # what is not there, in a clause
    is_settled: bool = True  # whether its messages have not changed for a while
    folders: Collection[str] = ()  # of all deliveries of the scan, and of all releases
    files: Collection[str] = ()  # that lay in it when the scan was over, if it is answered

    @property
    def sender(self) -> str:
        """Who sent it, by the first message that says so; empty if none can be read."""
        return next((release.sender for release in self.releases.values() if release.sender), "")

    @property
    def version(self) -> str:
        """Return the versions of all its messages."""
        return "|".join([self.completion or "", *(release.version for release in self.releases.values())])

    @property
    def is_sent(self) -> bool:
        """Whether the sender has said that all is sent, or does not say so."""
        return self.completion is not None or not self.needs_completion

    @property
    def is_apart(self) -> bool:
        """Whether all of it is of tests, or of withdrawn releases and what withdraws them."""
        return bool(self.releases) and all(release.is_apart for release in self.releases.values())

    @property
    def is_answered(self) -> bool:
        """Whether nothing more is to be expected: each file has its answer, or what is wrong with it is known."""
        are_answered = all(each.decision is Decision.ANSWERED for each in self.rows)
        return self.is_sent and are_answered and not self.needs_message and (bool(self.rows) or self.missing is None)

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
        if self.needs_message:
            return "its message is not there"
        if self.completion is None and self.needs_completion:
            return "its completion file is not there"
        if not all(release.is_whole for release in self.releases.values()):
            return "the end of its message is not there"
        missing = [each.row.audio or "" for each in self.moved_rows if not each.is_there]
        if missing:
            name = printable(posixpath.basename(missing[0]))
            there = f"{len(missing):,}, the first of them {name}"
            return f"named files and messages that are not there, or not whole: {there}"
        return None if self.is_settled else "its messages are not settled yet"

    def decide(self, now: datetime, since: datetime, settings: IngestSettings) -> None:
        """Let files wait as long as the batch is not complete.

        If that has lasted too long, they are taken with what is wrong with them, if the completion file is there or
        none is expected.
        """
        rows = self.moved_rows
        self.missing = self.why_incomplete()
        is_settled = self.is_settled and not any(each.decision is Decision.SETTLING for each in rows)
        is_late = is_settled and now - since >= timedelta(seconds=settings.batch_wait_seconds)
        if is_late and self.is_sent:
            self._decide_late()
            return
        # Without the end of its message nobody knows which files are of the delivery.
        is_whole = all(release.is_whole for release in self.releases.values())
        waits_for_all = self.needs_completion or self.needs_message or not is_whole
        waits_for_others = waits_for_all and not (is_settled and self.missing is None)
        for each in rows:
            if each.decision is Decision.TAKE and (waits_for_others or not each.is_there):
                each.decision = Decision.INCOMPLETE_BATCH

    def _decide_late(self) -> None:
        """Do without a message that did not come, and without files that an earlier delivery brought."""
        for each in self.rows:
            if each.was_accepted:
                each.decision = Decision.ANSWERED
            if self.needs_message:
                each.batch = None
        if self.needs_message:
            self.rows.clear()
        elif not self.rows:
            self.missing = None


class DeliveredBatches:
    """The batches of one scan of a watched folder."""

    def __init__(self, watched: str, batches: Mapping[str, Batch], corrected: Collection[str] = ()) -> None:
        self._watched = watched.rstrip("/")
        self._batches = batches
        self._corrected = corrected  # where files of deliveries in quarantine may come once more, alone
        self._found: dict[str, DeliveredBatch] = {}
        self._complete = {batch.location for batch in batches.values() if batch.completion is not None}
        self._folders = {folder for batch in batches.values() for folder in batch.releases}

    def of(self, row: ManifestRow) -> DeliveredBatch | None:
        """Return what a row is taken and moved with; None for a file that is on its own."""
        batch = None if row.batch is None else self._batches.get(row.batch)
        if batch is None or row.audio is None:
            return self._unnamed(row.audio or "")
        return self._of_release(batch, row.release or batch.location)

    def sorted(self, rows: Iterable[BatchRow]) -> Sequence[DeliveredBatch]:
        """Return all batches, those without audio too, each with its rows."""
        for batch in self._batches.values():
            for release in batch.releases:
                self._of_release(batch, release)
        for each in rows:
            if (found := self.of(each.row)) is not None:
                each.batch = found
                found.rows.append(each)
        return [*self._found.values()]

    def _of_release(self, batch: Batch, release: str) -> DeliveredBatch:
        if batch.completion is not None:
            return self._at(batch.location, batch, needs_completion=True)
        folder = self._folder_of(release)
        if BATCH_ID.fullmatch(posixpath.basename(folder)):
            return self._at(folder, batch, needs_completion=True)
        return self._at(release, batch, needs_completion=False)

    def _at(
        self, location: str, batch: Batch | None, *, needs_completion: bool, needs_message: bool = False
    ) -> DeliveredBatch:
        if location not in self._found:
            releases: Mapping[str, Release] = {} if batch is None else batch.releases
            if not needs_completion:  # one of many that came each alone
                releases = {location: releases[location]} if location in releases else {}
            self._found[location] = DeliveredBatch(
                location=location,
                completion=batch.completion if batch is not None and needs_completion else None,
                needs_completion=needs_completion,
                needs_message=needs_message,
                releases=releases,
                folders=self._folders,
            )
            self._folders.add(location)
        return self._found[location]

    def _folder_of(self, release: str) -> str:
        above = posixpath.dirname(release)
        return above if above != self._watched and is_within(above, self._watched) else release

    def _unnamed(self, audio: str) -> DeliveredBatch | None:
        """Return the batch of a file that no message speaks of: its message may still come.

        Only a file in a folder below one with the name of a batch is such a file, and one in a folder of resources;
        others are no deliveries.
        """
        above, depth = posixpath.dirname(audio), 0
        release: str | None = None
        while above != self._watched and is_within(above, self._watched):
            name = posixpath.basename(above)
            # The completion file of a batch in quarantine lies there: a corrected file of it may come without one.
            is_awaited = depth and BATCH_ID.fullmatch(name) and audio not in self._corrected
            if above in self._complete or is_awaited:
                return self._at(above, self._batches.get(above), needs_completion=True)
            above = posixpath.dirname(above)
            if name in RESOURCES and above != self._watched:
                release = release or above
            depth += 1
        return None if release is None else self._at(release, None, needs_completion=False, needs_message=True)
