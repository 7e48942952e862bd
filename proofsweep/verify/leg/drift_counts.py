"""Count what the answers of a leg hold that the contract does not name, from its exchanges as they are read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.model.drift import names_in
from proofsweep.model.runs import Plan
from proofsweep.model.tables.columns import Row

READ = ("call", "unnamed", "started_at", "request_id")
"""The columns of `exchanges` that are read."""

_KEY = ("call", "kind", "name")

# Chosen: a service that invents a name for each answer must not fill the memory; nobody reads more than a few names.
_MOST_NAMES = 1_000


@dataclass(slots=True)
class DriftCounts:
    """The rows of the table `drift` by call, kind and name; at most a thousand."""

    _seen: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)

    def watch(self, exchanges: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Give the same tables, and note what passes."""
        for table in exchanges:
            with_drift = table.select(READ).filter(pc.is_valid(table["unnamed"]))
            if with_drift.num_rows:
                self._note(with_drift)
            yield table

    def rows(self, plan: Plan, leg: int) -> list[Row]:
        """Return the rows, sorted."""
        of_leg: Row = {"run_id": plan.run_id, "leg": leg, "environment": plan.environment}
        return [of_leg | row for _, row in sorted(self._seen.items())]

    def _note(self, exchanges: pa.Table) -> None:
        """Note exchanges; those with the same names, which most have, are one group."""
        groups = exchanges.sort_by("started_at").group_by(["call", "unnamed"], use_threads=False)
        counted = groups.aggregate([("started_at", "first"), ("request_id", "first"), ("unnamed", "count")])
        for group in counted.to_pylist():
            first = {"first_seen_at": group["started_at_first"], "first_request_id": group["request_id_first"]}
            for key in ((group["call"], *names) for names in names_in(group["unnamed"])):
                if key not in self._seen and len(self._seen) < _MOST_NAMES:
                    self._seen[key] = {**dict(zip(_KEY, key, strict=True)), "answers": 0} | first
                if (row := self._seen.get(key)) is not None:
                    row["answers"] += group["unnamed_count"]
                    if first["first_seen_at"] < row["first_seen_at"]:
                        row |= first
