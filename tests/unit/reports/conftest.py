"""The plan of a run of four rows."""

import pytest

from proofsweep.domain.runs import Plan

from ...worlds.ended_runs import plan_of_run


@pytest.fixture
def plan() -> Plan:
    """A run of four rows, three of them eligible."""
    facts = {"environment": "sandbox", "catalog": "music", "catalog_kind": "folder", "eligible": 3}
    return plan_of_run("20261120T100000Z_aaaaaa", 4, **facts)
