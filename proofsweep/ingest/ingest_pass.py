"""One pass over a watched folder: what is ready becomes an ordinary run, and its files are moved by their verdicts.

The caller verifies each run that a pass gives. So a pass knows no threads and no Prefect, and such a run is resumed,
shown and stored like any other.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from proofsweep.domain.errors import EmptyCatalog, ResultsError, UsageError
from proofsweep.domain.items import ManifestRow
from proofsweep.domain.runs import Plan, new_run_id
from proofsweep.ingest.folder import Look, Looked, ReadyFiles
from proofsweep.ingest.move_batches import BatchDisposal
from proofsweep.ingest.records import Records, known_after
from proofsweep.ingest.rules import Decision, PassReport, PastAnswer, Sighting
from proofsweep.ingest.watches import Watch
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.preflight import SizeLimits, work_item_of
from proofsweep.store import layout
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.leg_context import RemainingItems
from proofsweep.verify.leg_session import settle_last_leg
from proofsweep.verify.survey import ignored_entries
from proofsweep.verify.verify_item import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestPass:
    """One pass."""

    results: Results
    watch: Watch
    folder: Callable[[], Catalog]  # lists the watched folder anew
    look: Look
    chosen: Callable[[Looked], list[ManifestRow]]  # gives the ready files that the person wants
    records: Records
    batch_disposal: BatchDisposal
    plan: Callable[[Catalog, str], Plan]
    limits: SizeLimits
    clock: Clock
    rest: Callable[[float], None]
    supplier_tag: str
    report: PassReport = field(default_factory=PassReport)

    def runs(self) -> Iterator[str]:
        """Yield the runs that the caller must verify, one after another; after each, its files are disposed of.

        (1) heal what a killed pass has left, (2) finish its runs, (3) look at the folder, (4) move what was answered
        before, (5) plan a run of what is ready, (6) move the deliveries that are answered by it. A run of which rows
        remain ends the pass: the next one takes it up. One whose rows are in doubt comes last, and holds nothing up but
        its own files.

        Raises:
            RunIsActive: another process works on a run of this folder.
            CatalogError, ConfigError, ResultsError, RunMustStop, SourceError: the pass cannot go on.
        """
        yield from self._worked_runs()
        self.report.not_moved = [*self.records.not_moved.values()]
        self.report.given_up = self.look.rules.given_up(self.watch.sightings())

    def _worked_runs(self) -> Iterator[str]:
        if self.records.disposal.is_wanted:
            self.records.disposal.moves.put_back(self.records.disposal.watched)  # (1)
        self.report.rows += self.records.of_killed_pass()
        in_doubt = {run_id for run_id in self.watch.open_runs() if self._is_in_doubt(run_id)}
        for run_id in (run_id for run_id in self.watch.open_runs() if run_id not in in_doubt):
            yield from self._finished(run_id)  # (2)
            if not self.report.is_whole and not self._is_in_doubt(run_id):
                return
        looked = self._settled_look()  # (3)
        self._dispose_of_answered(looked)  # (4)
        if ready := self._without_open_ones(self._chosen(looked)):
            with suppress(EmptyCatalog):  # everything was taken back meanwhile
                yield from self._finished(self._planned(ready))  # (5)
            if any(row.batch is not None for row in ready) and self.report.is_whole:
                self._close_batches(self._looked(self.watch.sightings(), self.watch.answers()))  # (6)
        for run_id in sorted(in_doubt):
            yield from self._finished(run_id)

    def _is_in_doubt(self, run_id: str) -> bool:
        plan = self._plan_or_none(run_id)
        if plan is None:
            return False
        legs = Legs(self.results, run_id, self.clock)
        in_doubt = legs.in_doubt_before(legs.last() + 1)
        return bool(in_doubt) and all(
            item.manifest_row in in_doubt for item in RemainingItems(self.results, plan).all_items()
        )

    def _chosen(self, looked: Looked) -> list[ManifestRow]:
        chosen = self.chosen(looked)
        if left_out := len(looked.ready) - len(chosen):
            looked.decisions.update({Decision.LEFT_OUT: left_out, Decision.TAKE: -left_out})
        return chosen

    def _without_open_ones(self, ready: list[ManifestRow]) -> list[ManifestRow]:
        plans = (plan for run_id in self.watch.open_runs() if (plan := self._plan_or_none(run_id)) is not None)
        taken = {item.audio for plan in plans for item in RemainingItems(self.results, plan).all_items()}
        return [row for row in ready if row.audio not in taken]

    def _finished(self, run_id: str) -> Iterator[str]:
        plan = self._plan_or_none(run_id)
        if plan is None:  # a process was killed before it had planned
            self.watch.close_run(run_id)
            return
        settle_last_leg(self.results, plan, self.clock)
        if RemainingItems(self.results, plan).slices():
            self.report.run_ids.append(run_id)
            yield run_id
        sightings, answers = self.watch.sightings(), self.watch.answers()
        legs = Legs(self.results, run_id, self.clock)
        for leg in (number for number in legs.numbers() if legs.receipt(number) is not None):
            is_new = not self.records.has_leg(plan, leg)
            rows = self.records.of_leg(plan, leg, sightings)
            sightings, answers = known_after(rows, sightings, answers, self.clock())
            self.report.rows += rows if is_new else []
        self.watch.keep(sightings)
        self.watch.keep_answers(answers.values())
        self.report.is_whole = not RemainingItems(self.results, plan).slices()
        if self.report.is_whole:
            self.watch.close_run(run_id)

    def _plan_or_none(self, run_id: str) -> Plan | None:
        try:
            return self.results.plan(run_id)
        except ResultsError:
            if self.results.store.read(layout.plan_name(run_id)) is None:
                return None
            raise

    def _settled_look(self) -> Looked:
        """Look once, and once more after a while if that settles files that were seen for the first time."""
        recent = self.watch.answers()
        looked = self._looked(self.watch.sightings(), recent)
        if looked.decisions[Decision.SETTLING]:
            self.rest(self.look.rules.settle_seconds)
            recognised = looked.recognised
            looked = self._looked(looked.sightings, recent | {each.item_id: each for each in recognised})
            looked.recognised += recognised
        self.report.decisions, self.report.incomplete = looked.decisions, looked.incomplete
        return looked

    def _looked(self, before: Mapping[str, Sighting], recent: Mapping[str, PastAnswer]) -> Looked:
        looked, known = Looked(), self.watch.batches()
        with suppress(EmptyCatalog):
            folder, half_moved = self.folder(), self.records.half_moved
            try:
                looked = self.look(folder, before, recent, self.clock(), known=known, half_moved=half_moved)
            finally:
                self.report.ignored = ignored_entries(folder)
                lone = self.look.lone_sidecars(folder) if isinstance(folder, FolderScan) else ()
                self.report.waiting = [*looked.waiting, *lone]
        self.watch.keep(looked.sightings)
        if looked.batches:
            self.watch.keep_batches(known)
        return looked

    def _dispose_of_answered(self, looked: Looked) -> None:
        answered = ((work_item_of(row, looked.catalog_name, self.limits), answer) for row, answer in looked.answered)
        again = {answer.item_id for answer in looked.recognised}
        self.report.rows += self.records.of_answered(answered, again)
        if again:
            self.watch.keep_answers([*self.watch.answers().values(), *looked.recognised])
        self._close_batches(looked)

    def _close_batches(self, looked: Looked) -> None:
        again = {answer.item_id for answer in looked.recognised}
        item_of = partial(work_item_of, catalog_name=looked.catalog_name, limits=self.limits)
        for batch in (batch for batch in looked.batches if batch.is_answered):
            chosen = self.batch_disposal.chosen(batch, item_of)
            answered = [(item_of(each.row), each.answer) for each in batch.moved_rows if each.answer is not None]
            rows = self.records.of_batch(chosen, answered, again)
            written = {row["item_id"] for row in rows}
            self.report.rows = [row for row in self.report.rows if row["item_id"] not in written] + rows

    def _planned(self, ready: list[ManifestRow]) -> str:
        run_id = new_run_id(self.clock(), secrets.token_hex(3))
        self.watch.open_run(run_id)
        try:
            self.plan(ReadyFiles(self.folder(), ready, self.supplier_tag), run_id)
        except UsageError:
            self.watch.close_run(run_id)
            raise
        return run_id
