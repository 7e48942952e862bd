"""A deployment goes on with the newest run of its catalog, a retried flow run with its own."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.layout import verdicts_name
from proofsweep.domain.runs import PARTIAL_KINDS, Plan, new_run_id
from proofsweep.reporting.past_runs import run_worked_on_by, unfinished_run_of
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.store import open_store

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LONG_AGO = NOON - timedelta(days=400)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(open_store(str(tmp_path)))


def planned(results: Results, plan: Plan, hours_ago: int, **facts: str) -> Plan:
    """Write a plan that was made so many hours before noon."""
    at = NOON - timedelta(hours=hours_ago)
    made = replace(plan, run_id=new_run_id(at, "aaaaaa"), created_at=at.isoformat(), **facts)  # type: ignore[arg-type]
    results.write_plan(made)
    return made


def finish(results: Results, plan: Plan) -> None:
    """Publish a row for each of the plan's."""
    cells = {"run_id": plan.run_id, "leg": 1, "environment": "sandbox", "outcome": "accepted", "accepted": True}
    rows = [
        cells
        | {"manifest_row": n, "item_id": str(n), "audio": "a", "action": "accept", "verify_attempts": 1, "calls": 2}
        for n in range(plan.items)
    ]
    results.create_part(verdicts_name(plan.run_id, plan.run_date, 0, 1), "verdicts", rows)
    Legs(results, plan.run_id).claim(1)


def unfinished(results: Results, since: datetime = LONG_AGO) -> str | None:
    """Name the unfinished run of the catalog `music` in the sandbox."""
    return unfinished_run_of(results, "music", "sandbox", since)


def test_the_newest_run_of_the_catalog_counts(results: Results, plan: Plan) -> None:
    """Runs of other catalogs and environments are none of it."""
    planned(results, plan, 5)
    newest = planned(results, plan, 4)
    planned(results, plan, 3, catalog="other")
    planned(results, plan, 2, environment="production")

    assert unfinished(results) == newest.run_id


def test_an_older_unfinished_run_does_not_count(results: Results, plan: Plan) -> None:
    """The newest run had all its rows again, and is finished: nothing is verified twice."""
    planned(results, plan, 5)
    finish(results, planned(results, plan, 4))

    assert unfinished(results) is None


def test_a_run_that_is_too_old_does_not_count(results: Results, plan: Plan) -> None:
    """It was planned before the instant that is given."""
    old = planned(results, plan, 5)

    assert unfinished(results, NOON - timedelta(hours=4)) is None
    assert unfinished(results, NOON - timedelta(hours=5)) == old.run_id


def test_a_store_without_a_run_has_none(results: Results) -> None:
    """The first night plans."""
    assert unfinished(results) is None
    assert run_worked_on_by(results, "f1", LONG_AGO) is None


def test_a_flow_run_is_known_by_the_claims_of_its_legs(results: Results, plan: Plan) -> None:
    """The claim is written before the first call, so a leg that was killed is found; others' legs are not."""
    own, other = planned(results, plan, 5), planned(results, plan, 4)
    Legs(results, own.run_id).claim(1, {"flow_run_id": "f0"})
    Legs(results, own.run_id).claim(2, {"flow_run_id": "f1"})
    Legs(results, other.run_id).claim(1, {"flow_run_id": "f2"})

    assert run_worked_on_by(results, "f1", LONG_AGO) == own.run_id
    assert run_worked_on_by(results, "f9", LONG_AGO) is None


@pytest.mark.parametrize("kind", sorted(PARTIAL_KINDS))
def test_a_run_of_a_part_of_the_catalog_does_not_hide_its_night(results: Results, plan: Plan, kind: str) -> None:
    """An ingest pass or a redrive has planned none of the rows that the night left."""
    night = planned(results, plan, 5)
    planned(results, plan, 4, catalog_kind=kind)

    assert unfinished(results) == night.run_id
