"""What later legs find of this one: the index of runs and the snapshot, which a leg brings up to date, and its rate.

Nothing fails because these cannot be written: they are derived from the parts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

import pyarrow as pa

from proofsweep.config.logs import Event, log
from proofsweep.domain.errors import ProofsweepError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.parts import Results
from proofsweep.store.rows import with_instants
from proofsweep.store.run_records import LegRecord, RunRecord
from proofsweep.store.runs import RunIndex
from proofsweep.store.snapshot import COLUMNS, Snapshot, missing_legs, reduced
from proofsweep.verify.history import leg_pace

_KINDS = ["outcome", "verdict", "reason"]


class LegRows:
    """The rows of some legs of a run; to iterate is to read them."""

    def __init__(self, results: Results, plan: Plan, legs: Sequence[int]) -> None:
        self._results = results
        self._plan = plan
        self.legs = list(legs)
        self.groups: dict[int, list[Row]] = {}  # once all is read, the rows of each leg by outcome, verdict and reason

    def __iter__(self) -> Iterator[pa.Table]:
        parts = self._results.parts_of("verdicts", self._plan) if self.legs else []
        for leg in self.legs:
            counted: list[pa.Table] = []
            for name in parts:
                if layout.shard_and_leg_of(name)[1] == leg:
                    table = self._results.table("verdicts", [name], list(COLUMNS))
                    counted.append(_counted(table))
                    yield table
            self.groups[leg] = groups_of(counted)


def groups_of(counted: Sequence[pa.Table]) -> list[Row]:
    """Add up counts of several parts; each group has its number of `rows` and an `example`, the first location."""
    if not counted:
        return []
    together = pa.concat_tables(counted).group_by(_KINDS).aggregate([("rows", "sum"), ("example", "min")])
    return list(together.rename_columns([*_KINDS, "rows", "example"]).to_pylist())


def _counted(table: pa.Table) -> pa.Table:
    grouped = table.group_by(_KINDS).aggregate([("audio", "count"), ("audio", "min")])
    return grouped.rename_columns([*_KINDS, "rows", "example"])


_LATE_RUNS = 100
_LATE_PARTS = 200


def note_run(results: Results, plan: Plan) -> None:
    _attempt(plan.run_id, "index", lambda: RunIndex(results).add([RunRecord(plan=plan)]))


def note_leg(results: Results, plan: Plan) -> None:
    """Add what the legs of a run left behind, once one of them has ended; what fails now, a later leg adds."""
    _attempt(plan.run_id, "snapshot", lambda: _note_rows(results, plan))
    _attempt(plan.run_id, "snapshot", lambda: complete_snapshot(results, most_runs=_LATE_RUNS, most_parts=_LATE_PARTS))


def _attempt(run_id: str, what: str, update: Callable[[], object]) -> None:
    try:
        update()
    except ProofsweepError as error:
        log(Event.UPDATE_MISSED, run_id=run_id, what=what, why=error.message)
    except Exception as mistake:  # noqa: BLE001 - what is derived must not end a leg whose results are safe
        log(Event.UPDATE_MISSED, run_id=run_id, what=what, why=type(mistake).__name__)


def _note_rows(results: Results, plan: Plan) -> None:
    """Add this run to the snapshot, then to the index: a leg that only the index has is added later."""
    index = RunIndex(results)
    record = index.record_of(plan.run_id)
    if record is None:
        return
    snapshot = Snapshot(results.store)
    missing = [legs for _, legs in missing_legs(snapshot.entries(), [record])]
    rows = LegRows(results, plan, missing[0] if missing else [])
    try:
        if rows.legs:
            snapshot.add(reduced(rows), {plan.run_id: rows.legs})
    finally:
        legs = [_measured(results, record.plan, leg, rows) for leg in record.legs]
        index.add([replace(record, legs=legs)])


def _measured(results: Results, plan: Plan, leg: LegRecord, rows: LegRows) -> LegRecord:
    if leg.leg not in rows.groups:
        return leg
    pace = leg_pace(results, plan, leg.leg) if leg.groups is None else leg.pace
    return replace(leg, groups=rows.groups[leg.leg], pace=pace)


def complete_snapshot(results: Results, *, most_runs: int | None = None, most_parts: int | None = None) -> None:
    """Add the legs that the snapshot lacks, the newest first: all, or some of so many runs and parts."""
    snapshot = Snapshot(results.store)
    runs = RunIndex(results).refreshed(most=most_runs)
    parts = 0
    for plan, legs in missing_legs(snapshot.entries(), runs.newest_first()):
        snapshot.add(reduced(LegRows(results, plan, legs)), {plan.run_id: legs})
        parts += plan.shards * len(legs)
        if most_parts is not None and parts >= most_parts:
            break


_NEWEST_LEGS = 10


def last_rate(results: Results, base_url: str, key_fingerprint: str, since: datetime) -> float | None:
    """Return the rate that one of the newest legs learned with this key at this service; None if all are older."""
    lane = (base_url.split("/")[2], key_fingerprint)
    legs = (leg for run in RunIndex(results).refreshed().newest_first() for leg in reversed(run.legs))
    for row in (with_instants("runs", dict(leg.counts)) for leg in islice(legs, _NEWEST_LEGS)):
        rate, finished_at = row.get("rate_learned"), row.get("finished_at")
        is_same_lane = (row.get("base_url_host"), row.get("key_fingerprint")) == lane
        if is_same_lane and isinstance(rate, float) and isinstance(finished_at, datetime) and finished_at >= since:
            return rate
    return None
