"""Count the rejected rows of a leg by supplier."""

import json
from collections import Counter

import pyarrow.compute as pc

from proofsweep.domain import layout
from proofsweep.domain.alerts.of_runs import SupplierRejections
from proofsweep.domain.runs import Plan
from proofsweep.storage.results.plans_and_parts import Results

_COLUMNS = ["outcome", "reason", "tags"]


def supplier_rejections(results: Results, plan: Plan, leg: int, tag: str) -> list[SupplierRejections]:
    """Count the rejected rows of a leg by supplier and reason; the parts are read one by one, since they may be large.

    Args:
        results: where the run is.
        plan: of the run.
        leg: whose rows are counted.
        tag: the tag that names the supplier; rows without it are not counted.
    """
    found: Counter[tuple[str, str]] = Counter()
    for name in results.parts_of("verdicts", plan):
        if layout.leg_of(name) == leg:
            part = results.table("verdicts", [name], _COLUMNS)
            rows = part.filter(pc.field("outcome") == "rejected").to_pylist()
            found.update((supplier, row["reason"]) for row in rows if (supplier := _tag_of(row["tags"], tag)))
    return [SupplierRejections(supplier, reason, rows) for (supplier, reason), rows in found.items()]


def _tag_of(tags_json: str | None, tag: str) -> str | None:
    tags = json.loads(tags_json or "{}")
    return str(tags.get(tag) or "") or None
