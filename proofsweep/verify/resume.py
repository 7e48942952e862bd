"""Which run is worked on: a catalog's unfinished one first, and what a flow run that was killed may still spend."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pydantic import TypeAdapter

from proofsweep.config.threads import utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NothingDue, RunMustStop
from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import INGEST, Bounds, Plan, left_of, new_run_id
from proofsweep.store.journal import CompletedRows
from proofsweep.store.known_rows import are_known_since
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunRecord
from proofsweep.verify.attempt import recover_last_legs, supersede
from proofsweep.verify.repair import BOUNDS

RESUME_DAYS = 35.0  # a catalog's unfinished run goes on first if it was planned at most so long ago
_BOUNDS = TypeAdapter(Bounds)


def resumable_since(now: datetime) -> datetime:
    return now - timedelta(days=RESUME_DAYS)


def unfinished_runs(results: Results) -> Iterator[Plan]:
    """Yield the runs that somebody must go on with, the newest first."""
    for run in results.log.runs().counted_first():
        if not run.is_over:
            yield run.plan


def run_worked_on_by(results: Results, flow_run_id: str, since: datetime) -> str | None:
    """Name the newest run, not superseded since, of which a flow run has begun a leg; a killed one counts too."""
    oldest = new_run_id(since, "")
    for run in results.log.runs().newest_first():
        if run.plan.run_id < oldest:
            return None
        is_own = any(leg.holder.facts.get("flow_run_id") == flow_run_id for leg in run.begun)
        if is_own and not run.is_superseded:
            return run.plan.run_id
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChoice:
    """Chooses the run that a process goes on with, in one results store and environment."""

    results: Results
    environment: str

    def to_resume(self, since: datetime, identity: str | None = None) -> Plan | None:
        """Return the newest unfinished run whose remaining rows no other run has finished; None if there is none.

        Of a catalog, by its identity, only one that was planned `since` some time. One whose last leg was killed when
        all rows were done is returned too: what it has to tell was not told. Those on the way are marked as superseded.
        RunIsActive if one is worked on.
        """
        for plan in self._unfinished(since, identity):
            recover_last_legs(self.results, plan, utc_now)
            completed = CompletedRows.load(self.results, plan)
            # A pass ends its own runs. Of another run, later ones may have verified all that remains of it.
            if not completed.remaining or plan.catalog_kind == INGEST:
                return plan
            remaining = (item.item_id for item in completed.items())
            if not are_known_since(self.results, plan, remaining):
                return plan
            supersede(self.results, plan, utc_now)
        return None

    def _unfinished(self, since: datetime, identity: str | None) -> Iterator[Plan]:
        oldest = new_run_id(since, "")
        for plan in unfinished_runs(self.results):
            if plan.environment != self.environment:
                continue
            # A pass goes on with its own runs.
            is_of_catalog = plan.identity == identity and plan.run_id >= oldest and plan.catalog_kind != INGEST
            if identity is None or is_of_catalog:
                yield plan

    def rows_of_resumed(self, resumed: Plan | None, due_before: datetime | None) -> Iterable[WorkItem] | None:
        """Return the items that a run of what is due leaves out, as a run went on before it that has them.

        Those that remain there are its next leg's. Where no age says which answers are due again, its others were
        answered too, by this leg or an earlier one, and are not paid twice.
        """
        if resumed is None:
            return None
        if due_before is None:
            return self.results.items(resumed)
        return CompletedRows.load(self.results, resumed).items()

    def in_turn(
        self,
        resumed: Plan | None,
        plan: Callable[[Bounds], Plan],
        bounds: Bounds,
        is_stopped: Callable[[], bool],
    ) -> Iterator[tuple[str, Bounds]]:
        """Yield the ID and the bounds of each run that is worked on now; one ends before the next is asked for.

        (1) a catalog's unfinished run, (2) a run of what is due, if somebody need not go on with the first, nobody
        asked for a stop, and calls and time are left: the bounds are of both runs together. NothingDue if there was no
        run to resume, and no row is due.
        """
        if resumed is None:
            yield plan(bounds).run_id, bounds  # (2)
            return
        before = self.results.log.runs().through
        yield resumed.run_id, bounds  # (1)
        record = self.results.log.runs().records[resumed.run_id]
        if is_stopped() or not _may_others_begin(record):
            return
        # The last leg of a partition that has nothing left may be of weeks ago.
        own = [leg for leg in record.legs if leg.began is not None and leg.began.entry > before]
        calls = sum(leg.count("calls") for leg in own)
        rest = left_of(bounds, calls, utc_now())
        if rest is None:
            return
        try:
            due = plan(rest)
        except (NothingDue, RunMustStop) as end:
            if isinstance(end, NothingDue) or end.ended_by is EndedBy.QUOTA:
                return
            raise
        yield due.run_id, rest  # (2)

    def of_retry(self, flow_run_id: str, bounds: Bounds, since: datetime) -> tuple[str | None, Bounds]:
        """Return the run that a flow run goes on with, and what its leg may spend; None as for the first time.

        A person's retry goes on with the run that it worked on, and may spend what the flow run might. One that was
        killed has what is left of its bounds. If it had only resumed an older run, it may still plan one of its own:
        None. RunIsActive if the process that was thought dead is alive.
        """
        run_id = run_worked_on_by(self.results, flow_run_id, since)
        if run_id is None:
            return None, bounds
        plan = self.results.plan(run_id)
        recover_last_legs(self.results, plan, utc_now)
        record = self.results.log.runs().records[run_id]
        begun = sorted(record.begun, key=lambda leg: leg.entry)
        own = [leg for leg in begun if leg.holder.facts.get("flow_run_id") == flow_run_id]
        if not own or begun[-1] is not own[-1]:
            return run_id, bounds
        # The last legs of its partitions began together, and shared these bounds.
        noted = own[-1].holder.facts[BOUNDS]
        last_legs: dict[int, int] = {}
        for leg in own:
            if leg.holder.facts[BOUNDS] == noted:
                partition = plan.partition_of_leg(leg.leg)
                last_legs[partition] = leg.leg
        ended = [leg for leg in record.legs if leg.leg in last_legs.values()]
        if not any(leg.ended_by == EndedBy.KILLED for leg in ended):
            return run_id, bounds
        left = _BOUNDS.validate_python(noted)
        if left.max_calls is not None:
            calls = sum(leg.count("calls") for leg in ended)
            left = replace(left, max_calls=max(0, left.max_calls - calls))
        has_planned = begun[0] is own[0]
        return run_id if has_planned else None, left


def _may_others_begin(run: RunRecord) -> bool:
    """Whether a run has ended, or has but rows in doubt: those remain for its next leg, and hold no other run up."""
    in_doubt = sum(len(leg.in_doubt) for leg in run.last_legs)
    return run.is_over or 0 < run.remaining <= in_doubt
