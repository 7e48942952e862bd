"""Rows of `verdicts` that somebody asks for: those of one run, or of each item the row that says how it stands now."""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.answers.meant_run import environment_in
from proofsweep.answers.views.connection import answering
from proofsweep.errors import ResultsError
from proofsweep.model.layout import shard_and_leg_of
from proofsweep.model.run_records import OUTCOMES
from proofsweep.model.runs import Plan, shard_of
from proofsweep.model.tables.columns import Row
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.prunings import prunings_of

_STANDING = """
    SELECT run_id, leg, manifest_row FROM standing
    WHERE list_contains($1::VARCHAR[], outcome)
        AND ($2::VARCHAR[] IS NULL OR list_contains($2::VARCHAR[], reason))
"""
_FETCHED = 50_000  # keys in memory at once, beside those that are chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRows:
    """A choice of rows, read part by part: they may be too many for memory."""

    results: Results
    environment: str  # the service's label; rows of others are never mixed in
    plan: Plan | None = None  # the run; None for how each item stands now, over all runs
    outcomes: Sequence[str] = OUTCOMES  # of the rows
    reasons: Sequence[str] | None = None  # of the rows; None for any

    @classmethod
    def of(
        cls,
        results: Results,
        run_id: str | None,
        environment: str,
        outcomes: Sequence[str] = OUTCOMES,
        reasons: Sequence[str] | None = None,
    ) -> Self:
        """Choose rows of a run; without one, of how each file stands now in an environment.

        If the store has no run of that environment, but runs of one other, it is that one.

        Raises:
            ResultsError: there is no such run, or no run at all, or it is not clear which environment is meant.
        """
        plan = None if run_id is None else results.plan(run_id)
        label = environment_in(results, environment) if plan is None else plan.environment
        return cls(results=results, environment=label, plan=plan, outcomes=outcomes, reasons=reasons)

    @property
    def pruned_on(self) -> str | None:
        """The day on which the run was pruned last; None if it never was, and for no run."""
        prunings = [] if self.plan is None else prunings_of(self.results.store, self.plan.run_id)
        return prunings[-1].decided_at[:10] if prunings else None

    @property
    def pruned(self) -> str:
        """What a person must know of a pruned run; empty for others."""
        day = self.pruned_on
        return f"was pruned on {day}: only rows that are newest answers are left" if day else ""

    def tables(self, columns: Sequence[str]) -> Iterator[tuple[Plan, pa.Table]]:
        """Yield the rows, each table with the run that it comes from; the columns as asked for."""
        read = [*dict.fromkeys((*columns, "outcome", "reason", "manifest_row"))]
        found = self._of_run(self.plan, read) if self.plan is not None else self._current(read)
        for plan, table in found:
            if table.num_rows:
                yield plan, table.select(list(columns))

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[Plan, Row]]:
        """Yield the rows one by one, each with exact locations: names that are not UTF-8 hold surrogate escapes."""
        wanted = [*dict.fromkeys((*columns, "manifest_row", "audio", "sidecar"))]
        for plan, table in self.tables(wanted):
            known: dict[int, Mapping[int, Row]] = {}
            for row in table.to_pylist():
                is_escaped = "\\x" in row["audio"] or "\\x" in (row["sidecar"] or "")
                exact = _exact_locations(self.results, plan, row["manifest_row"], known) if is_escaped else {}
                yield plan, row | exact

    def _of_run(self, plan: Plan, columns: list[str]) -> Iterator[tuple[Plan, pa.Table]]:
        for name in self.results.parts_of("verdicts", plan):
            yield plan, self.results.table("verdicts", [name], columns).filter(self._which)

    def _current(self, columns: list[str]) -> Iterator[tuple[Plan, pa.Table]]:
        """Choose rows by the view `standing`, then read them from the parts, which have all columns."""
        chosen: dict[str, dict[int, array[int]]] = defaultdict(lambda: defaultdict(lambda: array("q")))
        with answering(self.results, self.environment, "standing") as connection:
            found = connection.execute(_STANDING, [list(self.outcomes), self.reasons])
            while rows := found.fetchmany(_FETCHED):
                for run_id, leg, row in rows:
                    chosen[run_id][leg].append(row)
        for run_id in sorted(chosen):
            yield from self._parts_with(self.results.plan(run_id), chosen.pop(run_id), columns)

    def _parts_with(
        self, plan: Plan, chosen: Mapping[int, Sequence[int]], columns: list[str]
    ) -> Iterator[tuple[Plan, pa.Table]]:
        wanted = {leg: pa.array(rows, pa.int64()) for leg, rows in chosen.items()}
        shards = {leg: {shard_of(plan, row) for row in rows} for leg, rows in chosen.items()}
        for name in self.results.parts_of("verdicts", plan):
            shard, leg = shard_and_leg_of(name)
            if shard in shards.get(leg, ()):
                table = self.results.table("verdicts", [name], columns)
                yield plan, table.filter(pc.is_in(table["manifest_row"], wanted[leg]))

    @property
    def _which(self) -> pc.Expression:
        which = pc.field("outcome").isin(list(self.outcomes))
        return which if self.reasons is None else which & pc.field("reason").isin(list(self.reasons))


def _exact_locations(results: Results, plan: Plan, row: int, known: dict[int, Mapping[int, Row]]) -> Row:
    """Read a row's locations from its shard; nothing if the shard was pruned."""
    shard = shard_of(plan, row)
    if shard not in known:
        try:
            items = results.shard_items(plan.run_id, shard)
        except ResultsError:
            items = []
        known[shard] = {item.manifest_row: {"audio": item.audio, "sidecar": item.sidecar} for item in items}
    return dict(known[shard].get(row, {}))
