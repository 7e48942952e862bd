"""Read the rows of ended legs part by part, and count them on the way."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.model import layout
from proofsweep.model.redaction import MARKER
from proofsweep.model.runs import Plan
from proofsweep.model.tables.columns import Row
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.snapshot import COLUMNS

_KINDS = ["outcome", "verdict", "reason"]


class LegRows:
    """The rows of some legs of a run; to iterate is to read them.

    Attributes:
        legs: the numbers of the legs.
        groups: once all is read, the rows of each leg by outcome, verdict and reason.
    """

    def __init__(self, results: Results, plan: Plan, legs: Sequence[int]) -> None:
        self._results = results
        self._plan = plan
        self.legs = list(legs)
        self.groups: dict[int, list[Row]] = {}

    def __iter__(self) -> Iterator[pa.Table]:
        parts = self._results.parts_of("verdicts", self._plan) if self.legs else []
        for leg in self.legs:
            counted: list[pa.Table] = []
            for name in parts:
                if layout.shard_and_leg_of(name)[1] == leg:
                    table = self._results.table("verdicts", [name], list(COLUMNS))
                    counted.append(_counted(table))
                    yield table.filter(pc.field("item_id") != MARKER)
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
