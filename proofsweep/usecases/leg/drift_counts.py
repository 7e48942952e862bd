"""Count what the answers of a leg hold that the contract does not name, from its exchanges as they are read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.drift import names_in
from proofsweep.domain.runs import Plan
from proofsweep.domain.tables.columns import Row

READ = ("call", "unnamed", "started_at", "request_id")
"""The columns of `exchanges` that are read."""

# Chosen: a service that invents a name for each answer must not fill the memory; nobody reads more than a few names.
_MOST_NAMES = 1_000


@dataclass(slots=True)
class _Seen:
    answers: int
    first_seen_at: datetime
    first_request_id: str | None


@dataclass(slots=True)
class DriftCounts:
    """The names by call and kind; at most a thousand."""

    _seen: dict[tuple[str, str, str], _Seen] = field(default_factory=dict)

    def watch(self, exchanges: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Give the same tables, and note what passes."""
        for table in exchanges:
            with_drift = table.select(READ).filter(pc.is_valid(table["unnamed"]))
            if with_drift.num_rows:
                self._note(with_drift)
            yield table

    def rows(self, plan: Plan, leg: int) -> list[Row]:
        """Give the rows of the table `drift`, sorted."""
        return [
            {
                "run_id": plan.run_id,
                "leg": leg,
                "environment": plan.environment,
                "call": call,
                "kind": kind,
                "name": name,
                "answers": seen.answers,
                "first_seen_at": seen.first_seen_at,
                "first_request_id": seen.first_request_id,
            }
            for (call, kind, name), seen in sorted(self._seen.items())
        ]

    def _note(self, exchanges: pa.Table) -> None:
        """Note exchanges; those with the same names, which most have, are one group."""
        groups = exchanges.sort_by("started_at").group_by(["call", "unnamed"], use_threads=False)
        counted = groups.aggregate([("started_at", "first"), ("request_id", "first"), ("unnamed", "count")])
        for group in counted.to_pylist():
            for kind, name in names_in(group["unnamed"]):
                new = _Seen(group["unnamed_count"], group["started_at_first"], group["request_id_first"])
                self._add((group["call"], kind, name), new)

    def _add(self, key: tuple[str, str, str], new: _Seen) -> None:
        known = self._seen.get(key)
        if known is None:
            if len(self._seen) < _MOST_NAMES:
                self._seen[key] = new
            return
        known.answers += new.answers
        if new.first_seen_at < known.first_seen_at:
            known.first_seen_at, known.first_request_id = new.first_seen_at, new.first_request_id
