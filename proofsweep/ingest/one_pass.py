"""One pass over a watched folder: what is ready becomes an ordinary run, and its files are moved by their verdicts."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from proofsweep.domain.errors import EmptyCatalog, ResultsError, UsageError
from proofsweep.domain.items import ManifestRow, utf8_text
from proofsweep.domain.runs import Plan
from proofsweep.ingest.deliveries import DeliveredBatch
from proofsweep.ingest.folder_state import FolderState
from proofsweep.ingest.pass_report import PassReport
from proofsweep.ingest.records import Records, sightings_after
from proofsweep.ingest.rules import ANSWER_COLUMNS, Decision, PastAnswer, answer_of
from proofsweep.ingest.scan import ReadyFiles, Scan
from proofsweep.ingest.watched_folder import WatchedFolder
from proofsweep.store import layout
from proofsweep.store.journal import CompletedRows
from proofsweep.store.latest import Latest
from proofsweep.store.runs import LegRecord
from proofsweep.verify.attempt import recover_last_legs
from proofsweep.verify.plan import ignored_entries


class IngestPass:
    def __init__(self, folder: WatchedFolder) -> None:
        self.folder, self.context = folder, folder.context
        self.disposal = folder.disposal.from_now_on()
        self.state = FolderState.load(folder.term)
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
        self.folder.refuse_if_lost(self.state.moves)
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
        self.report.add(self.records.of_answered(scan.answered))  # (4)
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
        self.report.add(self.records.of_killed_pass())

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
        recover_last_legs(self.context.results, plan, self.context.clock)
        if CompletedRows.load(self.context.results, plan).remaining:
            self.report.run_ids.append(run_id)
            self.folder.refuse_if_lost(self.state.moves)
            yield run_id
            self.folder.refuse_if_lost(self.state.moves)
        for leg in self._ended_legs(plan):
            self._dispose_of(plan, leg)
        self.folder.refuse_if_lost(self.state.moves)
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
            self.report.add(rows)
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
        self.folder.refuse_if_lost(self.state.moves)
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
        self.report.add(self.records.of_held(self._past_answers))
        moved = {delivery["folder"] for delivery in self.report.without_audio}
        self.report.waiting = [row for row in self.report.waiting if row["file"] not in moved]

    def _close_batch(self, scan: Scan, batch: DeliveredBatch) -> None:
        answered = [(scan.item_of(row), row.answer) for row in batch.moved_rows if row.answer is not None]
        chosen = self.disposal.chosen_for_batch(batch, answered)
        # Its files have rows of their leg already, which say that they lie where they were delivered.
        self.report.add(self.records.of_batch(chosen, answered))

    def _planned(self, ready: list[ManifestRow]) -> str:
        run_id = self.context.new_run_id()
        # The note comes before the plan: a pass that is killed between the two must not forget a planned run.
        self.state.open_run(run_id)
        try:
            files = ReadyFiles(self.folder.catalog(), ready)
            self.context.plan(files, run_id)
        except UsageError as error:
            # If the store's answer was lost, the run may be planned: then its note stays, and the next pass looks.
            if not isinstance(error, ResultsError):
                self.state.close_run(run_id)
            raise
        return run_id
