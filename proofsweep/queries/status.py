"""The status of a run as a value, read from its parts and receipts: its rows by kind, over all its legs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice, takewhile

import pyarrow as pa

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import OUTCOMES, Plan, new_run_id, shard_of
from proofsweep.queries.run_status import Group, LegStatus, Pruned, RunStatus
from proofsweep.store.journal import Segments
from proofsweep.store.layout import pruning_intent_name, shard_and_leg_of
from proofsweep.store.legs import Legs, open_leg, progress_of
from proofsweep.store.objects import REQUESTS_AT_ONCE
from proofsweep.store.parts import Results, has_claim
from proofsweep.store.progress import OpenLeg
from proofsweep.store.prunings import completed_at, prunings_of
from proofsweep.store.runs import IndexedRuns, RunIndex, RunRecord
from proofsweep.verify.commit import exchange_counts

_KINDS = ["outcome", "verdict", "reason"]
_OF_GROUP = [*_KINDS, "audio"]


def describe_run(results: Results, run_id: str) -> RunStatus:
    """Read the status of a run from its store; ResultsError if there is no such run."""
    plan = results.plan(run_id)
    legs = Legs(results, run_id, lambda: datetime.now(UTC))
    receipts = {number: legs.receipt(number) for number in legs.numbers()}
    opened = _open_leg(legs, receipts)
    is_active = opened is not None and opened.is_alive
    killed = None if opened is None or is_active else opened.leg
    statuses = tuple(
        _status_of(number, receipt)
        if receipt is not None
        else LegStatus(leg=number, ended_by=None)
        if is_active and number == max(receipts)
        else LegStatus(leg=number, ended_by=str(EndedBy.KILLED), counts=journalled_calls(results, plan, number))
        for number, receipt in receipts.items()
    )
    pruned = prunings_of(results.store, run_id)[-1:]
    if pruned:
        at = completed_at(results.store, pruned[0])
        note = Pruned(intent=pruning_intent_name(run_id, pruned[0].number), completed_at=at)
        return RunStatus(plan=plan, groups=_outcomes_of(statuses), legs=statuses, pruned=note, open_leg=opened)
    waiting = [] if killed is None else unpublished_rows(results, plan, killed, _OF_GROUP)
    groups = _groups(results, plan, waiting) if statuses else ()
    unpublished = sum(table.num_rows for table in waiting)
    return RunStatus(plan=plan, groups=groups, legs=statuses, open_leg=opened, unpublished=unpublished)


def _open_leg(legs: Legs, receipts: Mapping[int, Mapping[str, object] | None]) -> OpenLeg | None:
    last = max(receipts, default=0)
    claim = legs.holder(last) if last and receipts[last] is None else None
    return None if claim is None else open_leg(legs, last, claim)


def newest_runs(results: Results, most: int, which: Callable[[Plan], bool] = lambda _: True) -> list[RunStatus]:
    """Read the status of the newest runs of a choice; of a finished one, only how many rows have which outcome."""
    newest = islice((run for run in RunIndex(results).refreshed().newest_first() if which(run.plan)), most)
    return [
        _brief(record) if _is_known(results, record) else describe_run(results, record.plan.run_id) for record in newest
    ]


def active_legs(results: Results) -> list[OpenLeg]:
    return [leg for leg in open_legs(results, RunIndex(results).refreshed()) if leg.is_alive]


def open_legs(results: Results, index: IndexedRuns) -> list[OpenLeg]:
    runs = [run for run in index.newest_first() if not run.is_over]
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        begun = pool.map(lambda run: None if _is_known(results, run) else progress_of(results, run.plan.run_id), runs)
        return [leg for leg in begun if leg is not None]


def state_of(run: RunStatus) -> str:
    return "active" if run.active is not None else run.ended_by or "planned only"


def newest_run(results: Results) -> str | None:
    runs = RunIndex(results).refreshed().newest_first()
    return next((run.plan.run_id for run in runs if not run.is_superseded), None)


def unfinished_runs(results: Results) -> Iterator[Plan]:
    """Return the runs that somebody must go on with, the newest first: rows remain, and no other run replaced it."""
    for run in RunIndex(results).refreshed().newest_first():
        if not run.is_over and (_is_known(results, run) or not describe_run(results, run.plan.run_id).is_over):
            yield run.plan


def run_worked_on_by(results: Results, flow_run_id: str, since: datetime) -> str | None:
    """Name the newest run, not superseded since, of which a flow run has claimed a leg; a killed one counts too."""
    oldest = new_run_id(since, "")
    runs = takewhile(lambda run: run.plan.run_id >= oldest, RunIndex(results).refreshed().newest_first())
    for plan in (run.plan for run in runs if not run.is_superseded):
        legs = Legs(results, plan.run_id)
        holders = [legs.holder(leg) for leg in legs.numbers()]
        if any(holder is not None and holder.facts.get("flow_run_id") == flow_run_id for holder in holders):
            return plan.run_id
    return None


def _is_known(results: Results, record: RunRecord) -> bool:
    # No leg began after those that the index knows.
    return record.is_over or not has_claim(results.store, record.plan.run_id, len(record.legs) + 1)


def _brief(record: RunRecord) -> RunStatus:
    legs = tuple(_status_of(leg.leg, leg.receipt) for leg in record.legs)
    return RunStatus(plan=record.plan, groups=_outcomes_of(legs), legs=legs)


def _outcomes_of(legs: Sequence[LegStatus]) -> tuple[Group, ...]:
    return tuple(
        Group(outcome=outcome, verdict=None, reason=None, rows=rows, example="")
        for outcome in OUTCOMES
        if (rows := sum(leg.count(outcome) or 0 for leg in legs))
    )


def unpublished_rows(results: Results, plan: Plan, leg: int, columns: list[str]) -> list[pa.Table]:
    """Read the rows of a killed leg's journal that are in none of its parts, each once: the next leg publishes them."""
    published = {shard for shard, of in map(shard_and_leg_of, results.parts_of("verdicts", plan)) if of == leg}
    found, seen = [], set[int]()
    for rows in Segments(results, plan.run_id, leg).tables("verdicts"):
        numbers = [int(number or 0) for number in rows["manifest_row"].to_pylist()]
        wanted = [shard_of(plan, number) not in published and number not in seen for number in numbers]
        seen.update(numbers)
        found.append(rows.select(columns).filter(pa.array(wanted, pa.bool_())))
    return found


def journalled_calls(results: Results, plan: Plan, leg: int) -> dict[str, object]:
    counts = exchange_counts(Segments(results, plan.run_id, leg).tables("exchanges"))
    return {column: counts[column] for column in ("calls", "throttled", "bytes_sent")}


def _groups(results: Results, plan: Plan, waiting: Iterable[pa.Table]) -> tuple[Group, ...]:
    names = results.parts_of("verdicts", plan)
    counted = _counted_legs(results, plan.run_id)
    read = (results.table("verdicts", [name], _OF_GROUP) for name in names if shard_and_leg_of(name)[1] not in counted)
    every = chain(read, waiting)
    tables = [table.group_by(_KINDS).aggregate([("audio", "count"), ("audio", "min")]) for table in every]
    rows = [
        {kind: row[kind] for kind in _KINDS} | {"rows": row["audio_count"], "example": row["audio_min"]}
        for table in tables
        for row in table.to_pylist()
    ]
    return _added_up([*rows, *(row for groups in counted.values() for row in groups)])


def _counted_legs(results: Results, run_id: str) -> dict[int, Sequence[Row]]:
    with suppress(ResultsError):  # a damaged index has counted none
        record = RunIndex(results).read().records.get(run_id)
        return {leg.leg: leg.groups for leg in (record.legs if record else ()) if leg.groups is not None}
    return {}


def _added_up(rows: Sequence[Row]) -> tuple[Group, ...]:
    found: dict[tuple[str, str | None, str | None], Group] = {}
    for row in rows:
        group = Group(**row)  # type: ignore[arg-type]  # a row of the index, or of the aggregate above
        kind = (group.outcome, group.verdict, group.reason)
        before = found.get(kind, group)
        rows_together = group.rows if before is group else before.rows + group.rows
        found[kind] = replace(group, rows=rows_together, example=min(before.example, group.example))
    return tuple(
        sorted(found.values(), key=lambda group: (OUTCOMES.index(group.outcome), -group.rows, group.reason or ""))
    )


def _status_of(number: int, receipt: Mapping[str, object]) -> LegStatus:
    counts, in_doubt, control_calls = (receipt.get(name) for name in ("counts", "in_doubt", "control_calls"))
    ended_by, why, reset = receipt.get("ended_by"), receipt.get("why"), receipt.get("quota_reset")
    return LegStatus(
        leg=number,
        ended_by=None if ended_by is None else str(ended_by),
        why=None if why is None else str(why),
        quota_reset=None if reset is None else datetime.fromisoformat(str(reset)),
        counts=counts if isinstance(counts, dict) else {},
        in_doubt=len(in_doubt) if isinstance(in_doubt, list) else 0,
        control_calls=control_calls if isinstance(control_calls, int) else 0,
    )
