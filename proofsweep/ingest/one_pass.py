"""One pass over a watched folder: what is ready becomes an ordinary run, and its files are moved by their verdicts.

`PassReport` says what it did, as a value and in words, for the person who runs it.
"""

import errno
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from proofsweep.config.locations import is_bucket, one_line, path_of, shown
from proofsweep.config.sections import IngestSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CatalogError, ConfigError, EmptyCatalog, RunMustStop, SourceError, UsageError
from proofsweep.domain.items import ManifestRow, Row, utf8_text
from proofsweep.domain.reasons import HINDERS_NOTHING, Reason, about
from proofsweep.domain.runs import Plan
from proofsweep.domain.text import markdown, printable
from proofsweep.ingest.deliveries import DeliveredBatch
from proofsweep.ingest.folder import ABSENT, ARCHIVE, SET_ASIDE, STRAY, WITHOUT_AUDIO, ReadyFiles, Scan
from proofsweep.ingest.moves import Disposal
from proofsweep.ingest.rules import ANSWER_COLUMNS, Decision, Disposition, PastAnswer, answer_of
from proofsweep.ingest.state import FolderState, IngestContext, Records, sightings_after
from proofsweep.sources.catalog import Catalog, CatalogBase
from proofsweep.sources.files import Files
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.moves import Moves
from proofsweep.sources.names import Cause, ignored_words
from proofsweep.sources.presence import away_since, mount_of
from proofsweep.store import layout
from proofsweep.store.journal import CompletedRows
from proofsweep.store.latest import Latest
from proofsweep.store.lease import Lease, Term, sole_process
from proofsweep.store.runs import LegRecord
from proofsweep.verify.attempt import settle_last_legs
from proofsweep.verify.emptied_folders import mount_before
from proofsweep.verify.plan import ignored_entries

_BUSY = "This folder is being worked on by {holder}."
_NO_FOLDER = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}  # what says that no folder has the name
_NAMED_FILES = 20  # on a screen; the table names all
_WAITING = {
    Decision.SETTLING: "not settled yet",
    Decision.INCOMPLETE: "waiting for a sidecar or for their end",
    Decision.INCOMPLETE_BATCH: "waiting for the rest of their delivery",
    Decision.RESTING: "waiting for another try",
}

_NAMED = {
    Cause.ORPHAN_SIDECARS: "no audio beside it has its name",
    Cause.UNFINISHED: "it is still being written, or its upload ended early",
    Reason.STAND_IN: "it is not downloaded: only its placeholder lies there",
    Cause.NOT_DOWNLOADED: "it is not downloaded: only its placeholder lies there",
    ABSENT: "a message names it, and it is not there yet",
    STRAY: "a message, or a completion file, that lies in no delivery's folder; give each delivery a folder of its own",
    ARCHIVE: "an archive is not read: unpack it",
    SET_ASIDE: "a test, or a withdrawn release: it is never moved",
    WITHOUT_AUDIO: "a delivery without audio, which is complete",
}


@dataclass(slots=True)
class PassReport:
    decisions: Counter[Decision] = field(default_factory=Counter)  # listed files by what was done with them
    rows: list[Row] = field(default_factory=list)  # of the table `ingest`
    outcomes: Counter[str] = field(default_factory=Counter)  # of the files that legs have verified since the last pass
    not_moved: dict[str, Row] = field(default_factory=dict)  # by place, that should have been moved, now or before
    without_audio: list[Row] = field(default_factory=list)  # deliveries that were moved: folder, moved_to
    waiting: list[Row] = field(default_factory=list)  # files, and sidecars without audio: file, why, detail
    run_ids: list[str] = field(default_factory=list)  # the runs that it gave to be verified
    ignored: Mapping[str, int] = field(default_factory=dict)  # entries that are no files to verify, by the cause
    is_whole: bool = True  # False if rows of a run remain, and the pass ended there

    def line(self, folder: str) -> str:
        lines = [f"{printable(folder)}: {', '.join(self._counts())}", *self.unmoved_lines()]
        if self.ignored:
            lines.append(f"ignored: {ignored_words(self.ignored)}")
        return "; ".join(lines)

    def _counts(self) -> Iterator[str]:
        moved = Counter[str]()
        gone = 0
        for row in self.rows:
            gone += row["disposition"] == Disposition.GONE
            if row["audio_moved_to"]:
                moved[str(row["disposition"])] += 1
        for outcome, count in sorted(self.outcomes.items()):
            yield f"{count:,} {outcome}"
        for disposition, count in sorted(moved.items()):
            yield f"{count:,} moved ({disposition})"
        if not self.outcomes and not moved:
            yield "nothing new"
        if self.without_audio:
            yield f"{len(self.without_audio):,} deliveries without audio moved"
        if gone:
            yield f"{gone:,} gone meanwhile"
        for decision, words in _WAITING.items():
            if self.decisions[decision]:
                yield f"{self.decisions[decision]:,} {words}"

    def unmoved_lines(self) -> list[str]:
        details = Counter(str(row["detail"]) for row in self.not_moved.values())
        return [f"{count:,} not moved: {printable(detail)}" for detail, count in details.most_common()]

    def waiting_lines(self) -> list[str]:
        return [f"{row['file']}: {_why_it_waits(row)}" for row in self.waiting]

    def messages(self, said: Collection[str] = ()) -> list[str]:
        """Return why moves were not made, what to do about files that were not accepted, and what waits.

        Of what waits, lines that the pass before has `said` are left out.
        """
        messages = list(self._messages_of_files())
        messages += [line for line in self.waiting_lines() if line not in said]
        more = len(messages) - _NAMED_FILES
        if more > 0:
            messages[_NAMED_FILES:] = [f"… and {more:,} more; --json names all"]
        return messages

    def _messages_of_files(self) -> Iterator[str]:
        for row in self.not_moved.values():
            audio = printable(str(row["audio"]))
            yield f"{audio}: not moved. {row['detail']}"
        for row in self.rows:
            audio = printable(str(row["audio_moved_to"] or row["audio"]))
            reason = str(row["reason"])
            if row["outcome"] != "accepted" and reason not in HINDERS_NOTHING:
                yield f"{audio}: {row['outcome']}, {printable(reason)}: {about(reason).remedy}"
            elif row["disposition"] == Disposition.QUARANTINED:
                yield f"{audio}: {row['detail']}"
        for delivery in self.without_audio:
            yield f"{delivery['folder']}: moved to {delivery['moved_to']}; it has no audio"

    def markdown(self, folder: str) -> str:
        lines = [self.line(markdown(folder)), ""]
        lines += [f"- {markdown(message)}" for message in self.messages()]
        return "\n".join(lines)

    def document(self, folder: str) -> dict[str, object]:
        return {
            "folder": printable(folder),
            "files": {str(decision): self.decisions[decision] for decision in Decision},
            "ignored": dict(self.ignored),
            "runs": self.run_ids,
            "rows": self.rows,
            "without_audio": self.without_audio,
            "not_moved": [*self.not_moved.values()],
            "waiting": self.waiting,
        }


def _why_it_waits(waiting: Row) -> str:
    named = _NAMED.get(str(waiting["why"]))
    if named is not None:
        return str(waiting["detail"] or named)
    decision = Decision(str(waiting["why"]))
    words = _WAITING[decision].replace("their", "its")
    if waiting["detail"] is not None:
        words += f" ({waiting['detail']})"
    return words


@contextmanager
def watched_folder(context: IngestContext, location: str) -> Iterator["WatchedFolder"]:
    """Watch a folder or a bucket's prefix for the work inside.

    Raises:
        CatalogError: the location cannot be watched.
        ConfigError: the files would be moved to where they are found again.
        RunIsActive: another process watches it.
        RunMustStop: it was watched before, or is there, and cannot be listed now.
        ResultsError: the results store cannot be used.
    """
    path = _absolute(location)
    store = context.results.store.below(layout.INGEST_FOLDER)
    watch_id = layout.watch_id(context.environment, path)
    lease = Lease(store, watch_id, _BUSY, context.clock)
    # A folder that was never watched is misspelt. One that was watched before may be on a share that is away.
    error = _listing_error(path)
    if error is not None and error.errno in _NO_FOLDER and not lease.last():
        raise CatalogError(f"{shown(location, path)}: there is no such folder", catalog=utf8_text(path))
    _refuse_unlisted(path, error)
    targets = _targets(context.settings, path)
    disposal = Disposal(moves=Moves(Files()), watched=path, targets=targets)
    _refuse_unmounted(disposal, lease)
    facts: Row = {"environment": context.environment, "folder": path, "mounts": _mounts_of(disposal)}
    with sole_process(lease, facts) as term:
        yield WatchedFolder(context=context, lease=lease, term=term, disposal=disposal)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFolder:
    """A folder or prefix that this process watches, and no other one."""

    context: IngestContext
    lease: Lease
    term: Term  # of the lease; the next process takes the next one
    disposal: Disposal

    @property
    def path(self) -> str:
        return self.disposal.watched

    def refuse_if_lost(self) -> None:
        """Raise RunIsActive if another process has taken the folder over, RunMustStop if a share is away."""
        if self.term.is_lost():
            raise self.term.lost_error()
        _refuse_unlisted(self.path, _listing_error(self.path))
        _refuse_unmounted(self.disposal, self.lease)

    @contextmanager
    def away_is_outage(self) -> Iterator[None]:
        """Raise RunMustStop in the place of an error that says that the folder cannot be read now."""
        # It was there when the watch began: whatever fails then may be over at the next pass, also before the first
        # file.
        try:
            yield
        except (CatalogError, SourceError) as error:
            if isinstance(error, CatalogError) and error.catalog is None:  # it may be read, and is no folder to watch
                raise
            words = error.message
            if isinstance(error, SourceError):
                words = f"{one_line(self.path)}: {words}"
            raise _away(self.path, words.rstrip(".")) from error

    def one_pass(self) -> "IngestPass":
        return IngestPass(self)

    def catalog(self) -> Catalog:
        catalog = self.context.open_catalog(self.path)
        if not isinstance(catalog, FolderScan):
            raise CatalogError(f"{one_line(self.path)}: a manifest is not watched; give a folder, or verify it")
        catalog.is_watched = True
        return catalog


class IngestPass:
    def __init__(self, folder: WatchedFolder) -> None:
        self.folder, self.context = folder, folder.context
        self.disposal = folder.disposal.from_now_on()
        self.state = FolderState.load(folder.lease.store, folder.lease.name)
        self.report = PassReport()
        self.records = Records(
            self.context, self.state, self.disposal, self.report.not_moved, self.report.without_audio
        )

    def runs(self) -> Iterator[str]:
        """Yield the runs that the caller must verify, one after another; after each, its files are disposed of.

        Raises:
            RunIsActive: another process works on this folder, or on a run of it.
            RunMustStop: the folder or a target is away.
            CatalogError, ConfigError, ResultsError: the pass cannot go on.
        """
        with self.folder.away_is_outage():
            yield from self._runs()

    def _runs(self) -> Iterator[str]:
        """Make the pass.

        (1) heal what a killed pass has left, (2) finish its runs, (3) scan the folder, (4) move what was answered
        before, (5) plan a run of what is ready, (6) move the deliveries that are answered by it.
        """
        self.folder.refuse_if_lost()
        self._heal()  # (1)
        # A run whose rows are in doubt comes last, and holds nothing up but its own files.
        in_doubt = {run_id for run_id in self.state.runs if self._is_in_doubt(run_id)}
        open_runs = [run_id for run_id in self.state.runs if run_id not in in_doubt]
        for run_id in open_runs:
            yield from self._finished(run_id)  # (2)
            # A run of which rows remain ends the pass, as a request to stop does: the next one takes it up.
            may_go_on = self.report.is_whole or self._is_in_doubt(run_id)
            if self.context.is_stopped() or not may_go_on:
                self.report.is_whole = False  # the folder was not looked at
                return
        scan = self._settled_scan()  # (3)
        self.report.rows += self.records.of_answered(scan.answered)  # (4)
        self._close_batches(scan)
        ready = self._without_open_ones(scan.ready)
        if ready:
            yield from self._verified(ready)  # (5), (6)
        for run_id in sorted(in_doubt):
            if not self.context.is_stopped():
                yield from self._finished(run_id)

    def _heal(self) -> None:
        disposal = self.disposal
        if disposal.targets:
            for folder, why in disposal.moves.put_back(disposal.watched).items():
                self.report.not_moved[folder] = {"audio": utf8_text(folder), "detail": why}
        self.report.rows += self.records.of_killed_pass()

    def _verified(self, ready: list[ManifestRow]) -> Iterator[str]:
        with suppress(EmptyCatalog):  # everything was taken back meanwhile
            run_id = self._planned(ready)
            yield from self._finished(run_id)
        # A delivery moves as a whole, so only another scan says whether this run has answered all of it.
        if self.report.is_whole and any(row.batch is not None for row in ready):
            self._close_batches(self._scanned())

    def _is_in_doubt(self, run_id: str) -> bool:
        plan = self._plan_or_none(run_id)
        if plan is None:
            return False
        in_doubt_of: dict[int, Sequence[int]] = {}  # by partition, of its last leg
        for leg in self._ended_legs(plan):
            partition = plan.partition_of_leg(leg.leg)
            in_doubt_of[partition] = leg.in_doubt
        in_doubt = set[int]().union(*in_doubt_of.values())
        if not in_doubt:
            return False
        # A row that no leg has tried yet is no doubt: the run goes on before the folder is scanned.
        remaining = CompletedRows.load(self.context.results, plan).items()
        return all(item.manifest_row in in_doubt for item in remaining)

    def _without_open_ones(self, ready: list[ManifestRow]) -> list[ManifestRow]:
        """Leave out files of open runs: each would be in two runs."""
        taken: set[str] = set()
        for run_id in self.state.runs:
            plan = self._plan_or_none(run_id)
            if plan is not None:
                for item in CompletedRows.load(self.context.results, plan).items():
                    taken.add(item.audio)
        return [row for row in ready if row.audio not in taken]

    def _finished(self, run_id: str) -> Iterator[str]:
        plan = self._plan_or_none(run_id)
        if plan is None:  # a process was killed before it had planned
            self.state.close_run(run_id)
            return
        settle_last_legs(self.context.results, plan, self.context.clock)
        if CompletedRows.load(self.context.results, plan).remaining:
            self.report.run_ids.append(run_id)
            self.folder.refuse_if_lost()
            yield run_id
            self.folder.refuse_if_lost()
        for leg in self._ended_legs(plan):
            self._dispose_of(plan, leg)
        self.folder.refuse_if_lost()
        self.state.save()
        self.report.is_whole = not CompletedRows.load(self.context.results, plan).remaining
        if self.report.is_whole:
            self.state.close_run(run_id)

    def _dispose_of(self, plan: Plan, leg: LegRecord) -> None:
        sightings = self.state.sightings
        rows, is_new = self.records.of_leg(plan, leg.leg, sightings)
        self.state.sightings = sightings_after(rows, sightings, self.context.clock())
        # The pass that moves files later says only that: a killed one has counted their outcomes.
        if is_new:
            self.report.rows += rows
            for row in rows:
                self.report.outcomes[str(row["outcome"])] += 1

    def _ended_legs(self, plan: Plan) -> Sequence[LegRecord]:
        record = self.context.results.log.runs().of(plan)
        return () if record is None else record.legs

    def _plan_or_none(self, run_id: str) -> Plan | None:
        results = self.context.results
        if results.store.read(layout.plan_name(run_id)) is None:
            return None
        return results.plan(run_id)

    def _settled_scan(self) -> Scan:
        scan = self._scanned()
        # A pass that is started once a day must not leave its new files to the next day.
        if scan.decisions[Decision.SETTLING] or scan.is_settling:
            self.context.rest(self.context.settings.settle_seconds)
            scan = self._scanned()
        self.report.decisions = scan.decisions
        return scan

    def _scanned(self) -> Scan:
        scan = Scan(self.context, self.disposal, self.context.clock(), spoken=self.state.spoken)
        scan.held, scan.corrected = self.state.held_places
        with suppress(EmptyCatalog):
            catalog = self.folder.catalog()
            try:
                scan.read(catalog, self.state.sightings, self._past_answers, self.records.half_moved)
            finally:
                self.report.ignored = ignored_entries(catalog)
                self.report.waiting = scan.waiting
        self.state.sightings = scan.sightings
        self.state.spoken = scan.spoken
        self.folder.refuse_if_lost()
        # A withdrawn release stays in quarantine, whatever its supplier sends again.
        held = [move for move in self.state.held if not move.is_of(scan.withdrawn)]
        self.state.hold(held)
        self.state.save()
        return scan

    def _past_answers(self, item_ids: Collection[str]) -> dict[str, PastAnswer]:
        """Return the newest answer of each item that has one, by item ID."""
        if not item_ids:  # an empty folder reads no store
            return {}
        latest = Latest(self.context.results)
        rows = latest.answers(self.context.environment, item_ids, ANSWER_COLUMNS)
        return {item_id: answer_of(row) for item_id, row in rows.items()}

    def _close_batches(self, scan: Scan) -> None:
        for batch in scan.batches:
            if batch.is_answered:
                self._close_batch(scan, batch)
        self.report.rows += self.records.of_held(self._past_answers)
        moved = {delivery["folder"] for delivery in self.report.without_audio}
        self.report.waiting = [row for row in self.report.waiting if row["file"] not in moved]

    def _close_batch(self, scan: Scan, batch: DeliveredBatch) -> None:
        answered = [(scan.item_of(row), row.answer) for row in batch.moved_rows if row.answer is not None]
        chosen = self.disposal.chosen_for_batch(batch, answered)
        rows = self.records.of_batch(chosen, answered)
        # Its files have rows of their leg already, which say that they lie where they were delivered.
        written = {row["audio"] for row in rows}
        self.report.rows = [row for row in self.report.rows if row["audio"] not in written]
        self.report.rows += rows

    def _planned(self, ready: list[ManifestRow]) -> str:
        run_id = self.context.new_run_id()
        # The note comes before the plan: a pass that is killed between the two must not forget a planned run.
        self.state.open_run(run_id)
        try:
            files = ReadyFiles(self.folder.catalog(), ready)
            self.context.plan(files, run_id)
        except UsageError:
            self.state.close_run(run_id)
            raise
        return run_id


def _away(watched: str, because: str) -> RunMustStop:
    message = f"{because}: is it mounted?"
    return RunMustStop(message, ended_by=EndedBy.BREAKER, catalog=utf8_text(watched))


def _listing_error(path: str) -> OSError | None:
    """Return why a folder of this machine cannot be listed; None if it can."""
    if is_bucket(path):
        return None
    try:
        with os.scandir(path) as entries:
            next(entries, None)  # some shares that are away fail only here
    except OSError as error:
        return error
    return None


def _refuse_unlisted(path: str, error: OSError | None) -> None:
    if error is not None:
        raise _away(path, f"{one_line(path)}: the folder cannot be listed ({error.strerror})") from error


def _refuse_unmounted(disposal: Disposal, lease: Lease) -> None:
    """Raise RunMustStop if a share was mounted before, and only the empty folder below it is left."""
    for location in _mounts_of(disposal):
        away = away_since(location, mount_before(lease, location))
        if away is not None:
            raise _away(disposal.watched, f"{one_line(location)}: {away.why}")


def _mounts_of(disposal: Disposal) -> dict[str, str]:
    """Return the mount points of the folder and of its targets, which may not be there yet; empty for buckets."""
    return {location: mount_of(location) for location in (disposal.watched, *disposal.targets.values())}


def _absolute(location: str) -> str:
    """Return a location without `..`, as scans give it: a folder that is written otherwise is the same one."""
    here = str(Path.cwd())
    return CatalogBase(here).without_dots(path_of(location, here)).rstrip("/")


def _targets(settings: IngestSettings, watched: str) -> dict[Disposition, str]:
    targets: dict[Disposition, str] = {}
    if settings.accepted is not None:
        targets[Disposition.ACCEPTED] = _target(settings.accepted, watched, "ingest.accepted")
    if settings.quarantine is not None:
        targets[Disposition.QUARANTINED] = _target(settings.quarantine, watched, "ingest.quarantine")
    if len({*targets.values()}) < len(targets):
        raise ConfigError("ingest.accepted and ingest.quarantine are the same place; give each its own.")
    return targets


def _target(location: str, watched: str, setting: str) -> str:
    target = _absolute(location)
    real_watched = f"{_real(watched)}/"
    real_target = f"{_real(target)}/"
    if real_target.startswith(real_watched) or real_watched.startswith(real_target):
        raise ConfigError(
            f"{setting}: {one_line(target)} and the watched folder {one_line(watched)} lie in one another; files that "
            "are moved there would be found again. Choose a place beside it."
        )
    return target


def _real(location: str) -> str:
    """Return a location without links, which may lead from one of the two folders into the other."""
    return location if is_bucket(location) else os.path.realpath(location)
