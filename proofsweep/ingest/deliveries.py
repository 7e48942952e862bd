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
        if self.was_accepted and self.decision is Decision.ANSWERED:
            return True
        return reason_of_scan(self.row) in _APART

    @property
    def is_there(self) -> bool:
        """Whether the file or the message is there that is named, with the declared size; or it is not named at all."""
        facts, declared = self.row.audio_facts, self.row.declared
        if not isinstance(facts, FileFacts):
            return reason_of_scan(self.row) not in _NOT_THERE
        return declared is None or declared.is_size(facts.size_bytes)


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
    is_settled: bool = True  # whether its files are the same as some time ago, as an earlier scan listed them
    folders: Collection[str] = ()  # of all deliveries of the scan, and of all releases
    files: Mapping[str, str] = field(default_factory=dict)  # their versions, as listed after the rows were made

    @property
    def sender(self) -> str:
        """Who sent it, by the first message that says so; empty if none can be read."""
        for release in self.releases.values():
            if release.sender:
                return release.sender
        return ""

    @property
    def version(self) -> str:
        """Return the versions of all its messages."""
        versions = [release.version for release in self.releases.values()]
        return "|".join([self.completion or "", *versions])

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
        if self.needs_message or not self.is_sent or not self.is_settled:
            return False
        if not self.rows:
            return self.missing is None
        return all(row.decision is Decision.ANSWERED for row in self.rows)

    @property
    def is_settling(self) -> bool:
        """Whether it waits for nothing but that its files stay the same for a while."""
        if self.is_settled:
            return False
        has_answers = bool(self.rows) and all(row.decision is Decision.ANSWERED for row in self.rows)
        return has_answers or self._what_is_absent() is None

    @property
    def are_messages_whole(self) -> bool:
        """Whether each message is there to its end: without it nobody knows which files are of the delivery."""
        return all(release.is_whole for release in self.releases.values())

    @property
    def moved_rows(self) -> list[BatchRow]:
        """The rows whose files are moved when all is answered; those of tests and withdrawn releases stay."""
        return [row for row in self.rows if not row.is_apart]

    @property
    def named_audio(self) -> list[str]:
        """The audio of its rows that is there, also if listings leave it out."""
        named: list[str] = []
        for batch_row in self.moved_rows:
            row = batch_row.row
            if row.audio is not None and isinstance(row.audio_facts, FileFacts):
                named.append(row.audio)
        return named

    def holds(self, file: str) -> bool:
        """Whether a file below its folder moves with it: none of another delivery, a test or a withdrawn release."""
        return file == self.completion or self._is_own(nearest_folder(file, self.location, self.folders))

    def folders_of(self, files: Iterable[str]) -> dict[str, bool]:
        """Return the folders of deliveries and releases that hold files below its own; whether each moves with it."""
        folders: dict[str, bool] = {}
        for file in files:
            folder = nearest_folder(file, self.location, self.folders)
            folders[folder] = self._is_own(folder)
        return folders

    def _is_own(self, folder: str) -> bool:
        release = self.releases.get(folder)
        if release is None:
            return folder == self.location
        return not release.is_apart

    def why_incomplete(self) -> str | None:
        """Return what is not there or not settled, in a clause; None if the batch is complete."""
        absent = self._what_is_absent()
        if absent is None and not self.is_settled:
            return "its files are not settled yet"
        return absent

    def _what_is_absent(self) -> str | None:
        if self.needs_message:
            return "its message is not there"
        if self.completion is None and self.needs_completion:
            return "its completion file is not there"
        if not self.are_messages_whole:
            return "the end of its message is not there"
        missing = [row.row.audio or "" for row in self.moved_rows if not row.is_there]
        if missing:
            first = printable(posixpath.basename(missing[0]))
            which = f"{len(missing):,}, the first of them {first}"
            return f"named files and messages that are not there, or not whole: {which}"
        return None

    def decide(self, now: datetime, since: datetime, settings: IngestSettings) -> None:
        """Let files wait as long as the batch is not complete."""
        rows = self.moved_rows
        self.missing = self.why_incomplete()
        is_settling = any(row.decision is Decision.SETTLING for row in rows)
        is_settled = self.is_settled and not is_settling
        is_late = now - since >= timedelta(seconds=settings.batch_wait_seconds)
        # If that has lasted too long, they are taken with what is wrong with them, if the completion file is there or
        # none is expected.
        if is_settled and is_late and self.is_sent:
            self._decide_late()
            return
        # A release that came without any convention is taken file by file, all else as a whole.
        is_one_whole = self.needs_completion or self.needs_message or not self.are_messages_whole
        is_ready = is_settled and self.missing is None
        for row in rows:
            waits = not row.is_there or (is_one_whole and not is_ready)
            if row.decision is Decision.TAKE and waits:
                row.decision = Decision.INCOMPLETE_BATCH

    def _decide_late(self) -> None:
        """Do without a message that did not come, and without files that an earlier delivery brought."""
        for row in self.rows:
            if row.was_accepted:
                row.decision = Decision.ANSWERED
            if self.needs_message:
                row.batch = None
        # Audio whose message has not come is no delivery any more: each file is on its own. A delivery without audio
        # waits for nothing, so it may be moved.
        if self.needs_message:
            self.rows.clear()
        elif not self.rows:
            self.missing = None


def nearest_folder(file: str, location: str, folders: Collection[str]) -> str:
    """Return which delivery's or release's folder decides about a file: the nearest, since they lie in one another."""
    folder = posixpath.dirname(file)
    while folder != location and folder not in folders:
        folder = posixpath.dirname(folder)
    return folder


class DeliveredBatches:
    """The batches of one scan of a watched folder."""

    def __init__(self, watched: str, batches: Mapping[str, Batch], corrected: Collection[str] = ()) -> None:
        self._watched = watched.rstrip("/")
        self._batches = batches
        self._corrected = corrected  # where files of deliveries in quarantine may come once more, alone
        self._delivered: dict[str, DeliveredBatch] = {}  # by their locations
        self._complete: set[str] = set()  # the folders that have a completion file
        self._folders: set[str] = set()  # of all deliveries and releases
        for batch in batches.values():
            self._folders.update(batch.releases)
            if batch.completion is not None:
                self._complete.add(batch.location)

    def of(self, row: ManifestRow) -> DeliveredBatch | None:
        """Return what a row is taken and moved with; None for a file that is on its own."""
        batch = self._batches.get(row.batch or "")
        if batch is None or row.audio is None:
            return self._unnamed(row.audio or "")
        return self._of_release(batch, row.release or batch.location)

    def sorted(self, rows: Iterable[BatchRow]) -> Sequence[DeliveredBatch]:
        """Return all batches, those without audio too, each with its rows."""
        for batch in self._batches.values():
            for release in batch.releases:
                self._of_release(batch, release)
        for row in rows:
            batch_of_row = self.of(row.row)
            if batch_of_row is not None:
                row.batch = batch_of_row
                batch_of_row.rows.append(row)
        return [*self._delivered.values()]

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
        delivered = self._delivered.get(location)
        if delivered is None:
            releases: Mapping[str, Release] = {}
            completion: str | None = None
            if batch is not None and needs_completion:
                releases, completion = batch.releases, batch.completion
            elif batch is not None and location in batch.releases:  # one of many that came each alone
                releases = {location: batch.releases[location]}
            delivered = DeliveredBatch(
                location=location,
                completion=completion,
                needs_completion=needs_completion,
                needs_message=needs_message,
                releases=releases,
                folders=self._folders,
            )
            self._delivered[location] = delivered
            self._folders.add(location)
        return delivered

    def _folder_of(self, release: str) -> str:
        above = posixpath.dirname(release)
        if above != self._watched and is_within(above, self._watched):
            return above
        return release

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
