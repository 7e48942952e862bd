"""A retried flow run goes on with its own run."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.runs import EndedBy, Plan, new_run_id
from proofsweep.reporting.past_runs import run_worked_on_by
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.store import open_store

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LONG_AGO = NOON - timedelta(days=400)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(open_store(str(tmp_path)))


def planned(results: Results, plan: Plan, hours_ago: int) -> Plan:
    """Write a plan that was made so many hours before noon."""
    at = NOON - timedelta(hours=hours_ago)
    made = replace(plan, run_id=new_run_id(at, "aaaaaa"), created_at=at.isoformat())
    results.write_plan(made)
    return made


def test_a_store_without_a_run_has_none(results: Results) -> None:
    """The first night plans."""
    assert run_worked_on_by(results, "f1", LONG_AGO) is None


def test_a_flow_run_is_known_by_the_claims_of_its_legs(results: Results, plan: Plan) -> None:
    """The claim is written before the first call, so a leg that was killed is found; others' legs are not."""
    own, other = planned(results, plan, 5), planned(results, plan, 4)
    Legs(results, own.run_id).claim(1, {"flow_run_id": "f0"})
    Legs(results, own.run_id).claim(2, {"flow_run_id": "f1"})
    Legs(results, other.run_id).claim(1, {"flow_run_id": "f2"})

    assert run_worked_on_by(results, "f1", LONG_AGO) == own.run_id
    assert run_worked_on_by(results, "f9", LONG_AGO) is None


def test_a_run_that_was_superseded_is_not_gone_on_with(results: Results, plan: Plan) -> None:
    """Others have its rows: a retry of its flow run plans what is due instead."""
    own = planned(results, plan, 5)
    legs = Legs(results, own.run_id)
    legs.claim(1, {"flow_run_id": "f1"})
    legs.write_receipt(1, {"ended_by": "quota"})
    legs.claim(2)
    legs.write_receipt(2, {"ended_by": str(EndedBy.SUPERSEDED)})

    assert run_worked_on_by(results, "f1", LONG_AGO) is None
