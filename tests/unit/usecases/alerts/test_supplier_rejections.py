"""Rejected rows are counted by the tag that names the supplier."""

import json

import pytest

from proofsweep.domain import layout
from proofsweep.domain.alerts.of_runs import SupplierRejections
from proofsweep.domain.runs import Plan
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.alerts.supplier_rejections import supplier_rejections

from ..conftest import LegBuilder
from ..left_behind import verdict

ALPHA, BETA, OTHER_TAG, NO_NAME = (
    json.dumps(tags) for tags in ({"supplier": "Alpha"}, {"supplier": "Beta"}, {"label": "Alpha"}, {"supplier": ""})
)


@pytest.fixture
def plan(new_leg: LegBuilder) -> Plan:
    """A run of ten items in two shards."""
    return new_leg.plan(10, shard_items=5)


def test_rejected_rows_of_the_leg_are_counted_by_supplier_and_reason(results: Results, plan: Plan) -> None:
    """Rows of an earlier leg, other outcomes, and rows without the tag do not count."""

    def row(leg: int, number: int, outcome: str, reason: str | None, tags: str | None) -> Row:
        return verdict(plan, leg, number, outcome=outcome, accepted=outcome == "accepted", reason=reason, tags=tags)

    parts = {
        (0, 1): [row(1, 0, "rejected", "tampered", BETA)],
        (0, 2): [
            row(2, 1, "rejected", "tampered", ALPHA),
            row(2, 2, "accepted", None, BETA),
            row(2, 3, "ineligible", "empty", BETA),
        ],
        (1, 2): [
            row(2, 5, "rejected", "tampered", ALPHA),
            row(2, 6, "rejected", "audioChanged", BETA),
            row(2, 7, "rejected", "tampered", OTHER_TAG),
            row(2, 8, "rejected", "tampered", None),
            row(2, 9, "rejected", "tampered", NO_NAME),
        ],
    }
    for (shard, leg), rows in parts.items():
        results.create_part(layout.verdicts_name(plan.run_id, plan.run_date, shard, leg), "verdicts", rows)

    found = supplier_rejections(results, plan, 2, "supplier")

    assert sorted(found) == [SupplierRejections("Alpha", "tampered", 2), SupplierRejections("Beta", "audioChanged", 1)]
