"""The plan of a run of four rows, and settings that lead to a service in this very process."""

import pytest

from proofsweep.domain.runs import Plan

from ...worlds.ended_runs import plan_of_run
from ..wired import app, catalog, change, config, service, settings

__all__ = ["app", "catalog", "change", "config", "service", "settings"]


@pytest.fixture
def plan() -> Plan:
    facts = {"environment": "sandbox", "catalog": "music", "catalog_kind": "folder", "eligible": 3}
    return plan_of_run("20261120T100000Z_aaaaaa", 4, **facts)
