"""Rows that somebody asks for: those of one run, or of each item of the catalogs the one that says how it stands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import OUTCOMES, Plan
from proofsweep.queries.connection import answering
from proofsweep.queries.status import environment_in
from proofsweep.store.parts import Results
from proofsweep.store.prunings import prunings_of

_CURRENT = """
    SELECT {columns}, coalesce(run_id, listed_run_id) AS of_run
    FROM catalog
    WHERE list_contains($1::VARCHAR[], outcome) AND state NOT IN ('gone', 'moved')
    ORDER BY of_run, leg, manifest_row
"""
_GONE = """
    SELECT count(*) FROM catalog WHERE state = 'gone' AND list_contains($1::VARCHAR[], outcome)
"""
_STANDING = """
    SELECT item_id FROM catalog WHERE list_contains($1::VARCHAR[], outcome) OR list_contains($1::VARCHAR[], reason)
"""
_NAMED_OTHERWISE = {"relative_path": "file AS relative_path"}  # a column of `verdicts`, in the view
_FETCHED = 5_000  # rows in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRows:
    """A choice of rows, read part by part: they may be too many for memory."""

    results: Results
    environment: str  # the service's label; rows of others are never mixed in
    plan: Plan | None = None  # the run; None for how each item of the catalogs stands now
    outcomes: Sequence[str] = OUTCOMES  # of the rows

    @classmethod
    def of(cls, results: Results, run_id: str | None, environment: str, outcomes: Sequence[str] = OUTCOMES) -> Self:
        """Choose rows of a run; without one, of how each file stands now in an environment, or the only one.

        ResultsError if there is no such run, or no run at all, or it is not clear which environment is meant.
        """
        plan = None if run_id is None else results.plan(run_id)
        label = environment_in(results, environment) if plan is None else plan.environment
        return cls(results=results, environment=label, plan=plan, outcomes=outcomes)

    @property
    def pruned_on(self) -> str | None:
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
        if self.plan is None:
            found = self._current(read)
        else:
            run, which = self.plan, pc.field("outcome").isin(list(self.outcomes))
            names = self.results.parts_of("verdicts", run)
            found = ((run, self.results.table("verdicts", [name], read).filter(which)) for name in names)
        for plan, table in found:
            if table.num_rows:
                yield plan, table.select(list(columns))

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[Plan, Row]]:
        """Yield the rows one by one, each with exact locations: names that are not UTF-8 hold surrogate escapes."""
        wanted = [*dict.fromkeys((*columns, "manifest_row", "audio", "sidecar"))]
        for plan, table in self.tables(wanted):
            known: dict[int, Mapping[int, Row]] = {}
            for row in table.to_pylist():
                is_escaped = "\\x" in (row["audio"] or "") or "\\x" in (row["sidecar"] or "")
                number = row["manifest_row"] if is_escaped else None
                exact = {} if number is None else _exact_locations(self.results, plan, number, known)
                yield plan, row | exact

    def gone(self) -> int:
        """Count the items that would be among these if their catalog listed them still; 0 for a run."""
        if self.plan is not None:
            return 0
        with answering(self.results, self.environment, "catalog") as connection:
            [(count,)] = connection.execute(_GONE, [list(self.outcomes)]).fetchall()
        return int(count)

    def _current(self, columns: list[str]) -> Iterator[tuple[Plan, pa.Table]]:
        named = (_NAMED_OTHERWISE.get(name, name) for name in columns)
        query = _CURRENT.format(columns=", ".join(named))
        with answering(self.results, self.environment, "catalog") as connection:
            found = connection.sql(query, params=[list(self.outcomes)])
            for batch in found.to_arrow_reader(_FETCHED):
                table = pa.Table.from_batches([batch])
                for run_id in table["of_run"].unique().to_pylist():
                    rows = table.filter(pc.field("of_run") == run_id).drop_columns(["of_run"])
                    yield self.results.plan(str(run_id)), rows


def items_standing(results: Results, environment: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the ID of each item whose outcome or reason is one of these words, as it stands now in an environment."""
    with answering(results, environment, "catalog") as connection:
        for batch in connection.sql(_STANDING, params=[list(words)]).to_arrow_reader(_FETCHED):
            yield from map(str, batch["item_id"].to_pylist())


def _exact_locations(results: Results, plan: Plan, row: int, known: dict[int, Mapping[int, Row]]) -> Row:
    number = row // plan.batch_items
    if number not in known:
        try:
            items = list(results.items(plan, plan.batches[number]))
        except ResultsError:  # they were pruned
            items = []
        known[number] = {item.manifest_row: {"audio": item.audio, "sidecar": item.sidecar} for item in items}
    return dict(known[number].get(row, {}))
