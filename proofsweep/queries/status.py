"""The status of runs: their rows and legs, which run is meant, and a leg that another process works on.

A run that processes work on is followed by their heartbeats, and can be stopped.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

import pyarrow as pa

from proofsweep.config.locations import one_line
from proofsweep.config.threads import monotonic, sleep, some_at_once, utc_now
from proofsweep.domain.endings import EndedBy, ending_of
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.items import Row, proof_id_of
from proofsweep.domain.reasons import HINDERS_NOTHING, about
from proofsweep.domain.runs import OUTCOMES, Plan
from proofsweep.domain.text import printable
from proofsweep.store.heartbeat import STALE_SECONDS, LegProgress, OpenLeg, together
from proofsweep.store.journal import unpublished
from proofsweep.store.layout import leg_of
from proofsweep.store.legs import Legs, ask_to_stop
from proofsweep.store.listings import newest_whole
from proofsweep.store.objects import REQUESTS_AT_ONCE
from proofsweep.store.parts import Results
from proofsweep.store.runs import LegRecord, RunRecord, Runs
from proofsweep.verify.commit import OF_GROUP, add_up_groups, count_groups, exchange_counts

_LOOK_SECONDS = 2.0  # between two looks for a new heartbeat
NEED_ATTENTION = ("rejected", "failed", "ineligible")  # the outcomes that somebody must look at


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    outcome: str
    verdict: str | None
    reason: str | None
    rows: int
    example: str  # the first audio file of these rows

    @property
    def label(self) -> str:
        return self.outcome if self.reason is None else f"{self.outcome} · {self.reason}"

    @property
    def what_to_do(self) -> str:
        return about(self.reason, self.outcome).remedy

    @property
    def needs_attention(self) -> bool:
        return self.outcome in NEED_ATTENTION and self.reason not in HINDERS_NOTHING

    @property
    def example_to_look_at(self) -> str:
        """One file of these rows if they need attention; never a proof ID, since Prefect keeps what is named here."""
        if not self.needs_attention or proof_id_of(self.example) is not None:
            return ""
        return self.example


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """A run's rows by kind, over all its legs."""

    plan: Plan
    groups: tuple[Group, ...]
    legs: tuple[LegRecord, ...]
    pruned_at: str | None = None  # ISO instant in UTC; None if it was not pruned; else its groups are by outcome alone
    unpublished: int = 0  # rows of the groups that only the journal of a killed leg has: the next leg publishes them
    open_legs: tuple[OpenLeg, ...] = ()  # without an end: at work, or killed
    head: str = ""  # of the log when this was read

    @property
    def active(self) -> tuple[OpenLeg, ...]:
        """The legs that processes work on now; their rows are not counted in the groups."""
        return tuple(leg for leg in self.open_legs if leg.is_alive)

    @property
    def legs_left(self) -> list[OpenLeg]:
        """The legs without an end of which it is not known that their process is gone: they may still work."""
        return [leg for leg in self.open_legs if not leg.is_gone]

    @property
    def progress(self) -> LegProgress | None:
        """How far the run is, by the last heartbeats of its active legs; None before the first one."""
        heartbeats: list[LegProgress] = []
        for leg in self.active:
            progress = leg.progress
            if progress is not None:
                heartbeats.append(progress)
        if self.plan.partitions == 1 or not heartbeats:
            return next(iter(heartbeats), None)
        ended = sum(map(self.total, OUTCOMES))
        return together(self.plan.items, ended, heartbeats)

    @property
    def finished(self) -> int:
        return sum(group.rows for group in self.groups)

    @property
    def remaining(self) -> int:
        return self.plan.items - self.finished

    @property
    def answered(self) -> int:
        return self.rows("accepted") + self.rows("rejected")

    @property
    def is_over(self) -> bool:
        """Whether nobody needs to go on with it: no row remains, and no leg is open; or another run took its place.

        A run of no row, which says what its catalog lists no more, has a leg all the same.
        """
        if self.ended_by == EndedBy.SUPERSEDED:
            return True
        # A leg that was killed has more to write than rows.
        is_open = bool(self.open_legs) and self.pruned_at is None
        return bool(self.legs) and not is_open and not self.remaining

    @property
    def ended_by(self) -> str | None:
        """How its last leg ended; None while it is worked on, and before its first leg."""
        if self.active:
            return None
        return how_it_ended(self.plan, self.legs)

    @property
    def last_legs(self) -> list[LegRecord]:
        """The last leg of each partition that has one."""
        return _last_legs(self.plan, self.legs)

    @property
    def last_leg(self) -> LegRecord | None:
        """The leg that says how the run ended: its last one; of those of several partitions, the worst."""
        return max(self.last_legs, key=lambda leg: _severity(leg.ended_by), default=None)

    @property
    def state(self) -> str:
        return "active" if self.active else self.ended_by or "planned only"

    @property
    def why(self) -> str | None:
        """What stopped the last leg, in one sentence; None if no row remains."""
        if not self.remaining or self.last_leg is None:
            return None
        return self.last_leg.why

    @property
    def sunset(self) -> str | None:
        for leg in reversed(self.legs):
            sunset = leg.counts.get("sunset")
            if sunset:
                return str(sunset)
        return None

    def rows(self, outcome: str) -> int:
        return sum(group.rows for group in self.groups if group.outcome == outcome)

    def attention(self, outcome: str) -> int:
        """How many rows of an outcome somebody must look at."""
        rows = 0
        for group in self.groups:
            if group.outcome == outcome and group.needs_attention:
                rows += group.rows
        return rows

    def total(self, column: str) -> int:
        return sum(leg.count(column) for leg in self.legs)

    @property
    def calls_unrecorded(self) -> int | None:
        """Calls that are in no table: 0; None if a leg was killed, since they are not known then."""
        was_killed = any(leg.ended_by in {None, EndedBy.KILLED} for leg in self.legs)
        return None if was_killed else 0

    @property
    def seconds(self) -> float:
        return sum(leg.seconds for leg in self.legs)


def describe_run(results: Results, run_id: str, *, is_left: bool = False) -> RunStatus:
    """Read the status of a run from its parts and receipts; ResultsError if there is no such run.

    If its processes have `left` it without an end, its open legs are over, however fresh their heartbeats are.
    """
    plan = results.plan(run_id)
    runs = results.log.runs()
    record = runs.run(run_id) or RunRecord(plan=plan)
    legs, opened = _legs_of(results, record)
    if is_left:
        opened = tuple(replace(leg, is_gone=True) for leg in opened)
    for leg in opened:
        leg_record = LegRecord(leg=leg.leg)
        if not leg.is_alive:
            leg_record = _killed_leg(results, plan, leg.leg)
        legs.append(leg_record)
    legs.sort(key=lambda leg: leg.leg)
    status = RunStatus(plan=plan, groups=(), legs=tuple(legs), open_legs=opened, head=runs.head)
    if run_id in runs.prunings:
        prunings = results.prunings_of(run_id)
        if prunings:
            # Its rows are gone: the receipts alone say how many had which outcome.
            return replace(status, groups=_outcomes_of(legs), pruned_at=prunings[-1].decided_at)
    waiting: list[pa.Table] = []
    for leg in opened:
        if not leg.is_alive:
            waiting += unpublished(results, plan, leg.leg, "verdicts")
    rows = sum(table.num_rows for table in waiting)
    return replace(status, groups=_groups(results, record, waiting), unpublished=rows)


def legs_of_store(results: Results, runs: Runs) -> list[OpenLeg]:
    """Return the open legs of all runs."""
    every = [Legs(results, run.plan) for run in runs.newest_first() if run.open]
    legs = some_at_once(every, Legs.shown, REQUESTS_AT_ONCE)
    return list(chain.from_iterable(legs))


def newest_run(results: Results, environment: str) -> str | None:
    plans = results.log.runs().plans(environment)
    return plans[0].run_id if plans else None


def only_active_run(results: Results, environment: str) -> str | None:
    """Name the one run of an environment, or of the only one, that is active; None if none is.

    UsageError, which names them, if several are; ResultsError if it is not clear which environment is meant.
    """
    runs = results.log.runs()
    if not runs.records:
        return None
    environment = environment_in(results, runs.environments, environment)
    own = {plan.run_id for plan in runs.plans(environment)}
    active: dict[str, str] = {}
    for leg in legs_of_store(results, runs):
        if leg.is_alive and leg.run_id in own:
            active[leg.run_id] = f"{leg.run_id} ({leg.holder.where})"
    if len(active) > 1:
        named = "; ".join(active.values())
        raise UsageError(f"{len(active)} runs are active in {results.store.url}, so name one of them: {named}")
    return next(iter(active), None)


def meant_run(
    results: Results, environment: str, run_id: str | None, catalog: str | None = None
) -> tuple[Plan, str | None]:
    """Return a run that is named, else the newest one, with a note if that is one of several catalogs.

    A pass over a watched folder is meant only where there is nothing else.

    ResultsError if there is none, or if the store has several environments and not this one.
    """
    if run_id is not None:
        return results.plan(run_id), None
    runs = results.log.runs()
    environment = environment_in(results, runs.environments, environment)
    catalogs = {plan.identity for plan in runs.plans(environment)}
    plans = runs.plans(environment, catalog)
    if not plans:
        of_it = "" if catalog is None else f" of the catalog {printable(catalog)}"
        raise ResultsError(words_on_no_run(results, of_it))
    without_passes = [plan for plan in plans if not plan.lists_a_part]
    plan = (without_passes or plans)[0]
    whole = newest_whole(runs.plans(environment, plan.identity))
    notes: list[str] = []
    if plan.has_chosen_rows and whole is not None and whole.run_id != plan.run_id:
        notes.append(f"it has chosen rows alone, and the newest of the whole catalog is {whole.run_id}")
    if catalog is None and len(catalogs) > 1:
        notes.append(f"the store has {len(catalogs)} catalogs (--catalog)")
    if not notes:
        return plan, None
    which = f"The newest run is {plan.run_id}, of {one_line(plan.identity)}"
    return plan, "; ".join([which, *notes]) + "."


def words_on_no_run(results: Results, of_what: str = "") -> str:
    """Say that there is no run; where records are damaged nobody begins anew: that would pay for everything again."""
    none = f"There is no run{of_what} in {results.store.url}"
    if results.log.runs().damaged:
        return f"{none} that can be read: restore what is damaged from a backup; see: proofsweep audit"
    return f"{none}; begin one with: proofsweep verify CATALOG"


def environment_in(results: Results, there: Iterable[str], wanted: str | None) -> str:
    """Return the environment that is wanted if it is among those of runs, else the only one; ResultsError otherwise."""
    environments = sorted(set(there))
    if not environments:
        raise ResultsError(words_on_no_run(results))
    if wanted is not None and wanted in environments:
        return wanted
    if len(environments) == 1:
        return environments[0]
    listed = ", ".join(environments)
    raise ResultsError(
        f"{results.store.url} holds the environments {listed}; name one of them (--environment, in Python "
        "environment=), give the config of one, or name a run."
    )


def how_it_ended(plan: Plan, legs: Iterable[LegRecord]) -> str | None:
    """Return how a run ended, by its legs in their order: as its last one did, or the worst of its partitions' last.

    None without a leg.
    """
    last = [leg.ended_by for leg in _last_legs(plan, legs)]
    worst = max(last, key=_severity, default=None)
    # Its processes ended before they began all partitions: the rows of the others remain.
    if worst == EndedBy.COMPLETE and len(last) < plan.partitions:
        return str(EndedBy.KILLED)
    return worst


def _last_legs(plan: Plan, legs: Iterable[LegRecord]) -> list[LegRecord]:
    last = {plan.partition_of_leg(leg.leg): leg for leg in legs}
    return list(last.values())


def _severity(ended_by: str | None) -> int:
    ending = ending_of(ended_by)
    if ending is None:
        return -1
    words = list(EndedBy)  # the worst last
    return words.index(EndedBy(ending.word))


def _outcomes_of(legs: Sequence[LegRecord]) -> tuple[Group, ...]:
    groups: list[Group] = []
    for outcome in OUTCOMES:
        rows = sum(leg.count(outcome) for leg in legs)
        if rows:
            groups.append(Group(outcome=outcome, verdict=None, reason=None, rows=rows, example=""))
    return tuple(groups)


def _killed_leg(results: Results, plan: Plan, leg: int) -> LegRecord:
    """Count the calls of a killed leg that its parts and its journal have."""
    waiting = unpublished(results, plan, leg, "exchanges")
    names = results.parts_of("exchanges", plan, leg)
    counts = exchange_counts(chain(results.tables(names), waiting))
    calls = {column: counts[column] for column in ("calls", "throttled", "bytes_sent")}
    return LegRecord(leg=leg, ended_by=str(EndedBy.KILLED), counts=calls)


def _groups(results: Results, record: RunRecord, waiting: Iterable[pa.Table]) -> tuple[Group, ...]:
    of_receipts: list[Row] = []
    to_read = set(record.numbers)
    # The receipt of a leg that has ended says its groups: no part of it is read.
    receipts = results.receipts(record.plan) if record.numbers else {}
    for leg, receipt in receipts.items():
        if "groups" in receipt:
            to_read.discard(leg)
            groups = receipt["groups"]
            if isinstance(groups, list):
                of_receipts += groups
    names: list[str] = []
    if to_read:
        for name in results.parts_of("verdicts", record.plan):
            leg = leg_of(name)
            if leg in to_read:
                names.append(name)
    tables = chain(results.tables(names, OF_GROUP), waiting)
    of_parts = add_up_groups(list(map(count_groups, tables)))
    return _added_up([*of_parts, *of_receipts])


def _added_up(rows: Sequence[Row]) -> tuple[Group, ...]:
    groups: dict[tuple[str, str | None, str | None], Group] = {}
    for row in rows:
        group = Group(**row)  # type: ignore[arg-type]  # of a receipt, or of the aggregate above
        kind = (group.outcome, group.verdict, group.reason)
        before = groups.get(kind)
        if before is not None:
            first = min(before.example, group.example)
            group = replace(group, rows=before.rows + group.rows, example=first)
        groups[kind] = group
    return tuple(sorted(groups.values(), key=_in_order))


def _in_order(group: Group) -> tuple[int, int, str]:
    return OUTCOMES.index(group.outcome), -group.rows, group.reason or ""


def progress_of_run(results: Results, run_id: str) -> LegProgress | None:
    """Return how far a run is, by its receipts and the last heartbeats alone."""
    return _without_rows(results, results.plan(run_id)).progress


def _without_rows(results: Results, plan: Plan) -> RunStatus:
    record = results.log.runs().run(plan.run_id)
    ended, opened = _legs_of(results, record or RunRecord(plan=plan))
    return RunStatus(plan=plan, groups=(), legs=tuple(ended), open_legs=opened)


def _legs_of(results: Results, record: RunRecord) -> tuple[list[LegRecord], tuple[OpenLeg, ...]]:
    """Return the legs that have ended, and those that have not."""
    legs = Legs(results, record.plan)
    ended = list(record.legs)
    opened: list[OpenLeg] = []
    for leg in record.open:
        signs = legs.signs_of(leg)
        shown = signs.shown()
        if shown is not None:
            opened.append(shown)
            continue
        # It has ended since the record was read: its receipt counts.
        receipt = signs.receipt() or {}
        ended.append(LegRecord.of(leg.leg, receipt))
    return ended, tuple(opened)


def heartbeats_of(results: Results, run: RunStatus) -> Iterator[RunStatus]:
    """Yield a run with its open legs as the store shows them, every two seconds, until all have ended or are dead."""
    changed_at, signs = monotonic(), _signs_of(run.open_legs)
    while True:
        yield run
        sleep(_LOOK_SECONDS)
        run = _without_rows(results, run.plan)
        legs = run.legs_left
        # Whether a leg is dead is judged by this process's own clock: another machine's may be wrong.
        if _signs_of(legs) != signs:
            changed_at, signs = monotonic(), _signs_of(legs)
        is_silent = monotonic() - changed_at > STALE_SECONDS
        if not legs or is_silent:
            return


def _signs_of(legs: Iterable[OpenLeg]) -> list[tuple[int, datetime]]:
    return [(leg.leg, leg.beaten_at) for leg in legs]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    run: RunStatus  # how it stands now
    legs: Sequence[OpenLeg] = ()  # that were asked
    has_ended: bool = True
    is_silent: bool = False  # whether those that have not ended showed no sign of life meanwhile


def stop_run(results: Results, run_id: str, wait_seconds: float) -> StopReport:
    """Ask a run's processes to stop in good order, even one that seems dead (clocks differ), and wait for their end.

    Or until all that are left have been silent for so long that they are dead.
    """
    run = describe_run(results, run_id)
    plan = run.plan
    legs = run.legs_left
    running = legs
    asked: dict[int, OpenLeg] = {}  # one leg of each partition, also one that begins meanwhile
    late_at = monotonic() + wait_seconds
    changed_at, signs = monotonic(), _signs_of(running)
    is_silent = False
    while running:
        if _signs_of(running) != signs:
            changed_at, signs = monotonic(), _signs_of(running)
        for leg in running:
            partition = plan.partition_of_leg(leg.leg)
            if asked.setdefault(partition, leg) is leg:
                ask_to_stop(results.store, leg, utc_now())
        # A machine or a container that is gone tells nobody so: its silence by this process's own clock does.
        is_silent = monotonic() - changed_at > STALE_SECONDS
        if is_silent or monotonic() >= late_at:
            break
        sleep(min(_LOOK_SECONDS / 2, wait_seconds))
        shown = Legs(results, plan).shown()
        running = [leg for leg in shown if _may_be_asked(asked, plan, leg)]
    if legs:
        run = describe_run(results, run_id)
    has_ended = not running
    return StopReport(run=run, legs=legs, has_ended=has_ended, is_silent=is_silent and not has_ended)


def _may_be_asked(asked: Mapping[int, OpenLeg], plan: Plan, leg: OpenLeg) -> bool:
    before = asked.get(plan.partition_of_leg(leg.leg))
    return not leg.is_gone and (before is None or before.leg == leg.leg)
