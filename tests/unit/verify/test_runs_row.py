"""What a leg did is counted from the parts that stand in the store."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results
from proofsweep.verify.commit import count_leg

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
PLAN = Plan(
    run_id="20261120T120000Z_000aa",
    created_at=NOON.isoformat(),
    environment="beta",
    base_url="https://partner.example/v1",
    catalog="catalog.csv",
    catalog_kind="manifest",
    catalog_digest="d",
    items=10,
    eligible=4,
    pairs=0,
    audio_bytes=4,
    shard_items=1000,
    shards=1,
)

Told = tuple[int | None, str, int | None]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(open_store(str(tmp_path)))


def publish(results: Results, leg: int, *told: Told) -> None:
    """Write a leg's audit trail: row, call, status; each exchange in a part of its own."""
    for seq, (number, call, status) in enumerate(told):
        exchange = {"run_id": PLAN.run_id, "leg": leg, "manifest_row": number, "call": call, "status": status}
        exchange |= {"attempt": 1, "started_at": NOON, "elapsed_ms": 1.0, "bytes_sent": 0}
        exchange |= {"failure": "connection" if status is None else None}
        results.create_part(layout.exchanges_name(PLAN.run_id, PLAN.run_date, seq, leg), "exchanges", [exchange])


def count(results: Results, leg: int) -> Row:
    """Count a leg by all its parts."""
    verdicts, exchanges = (
        [results.part(name) for name in results.parts_of(table, PLAN) if layout.leg_of(name) == leg]
        for table in ("verdicts", "exchanges")
    )
    return count_leg(results, PLAN, leg, verdicts, exchanges)[0]


@pytest.mark.parametrize(
    ("had", "again"),
    [
        ([], 0),
        ([(0, "uploads", 200)], 2),
        ([(0, "uploads", 200), (0, "verify", 200), (1, "uploads", 201)], 4),
        ([(0, "uploads", 503), (0, "uploads", None), (0, "uploads", 429)], 0),
        ([(0, "slot", 204), (None, "usage", 200), (9, "uploads", 200)], 0),
    ],
)
def test_calls_are_made_again_for_what_an_earlier_leg_had_been_answered(
    results: Results, had: list[Told], again: int
) -> None:
    """Tries again of such a call too; not what had failed, what costs no call, or what belongs to no row."""
    publish(results, 1, *had)
    publish(results, 2, (0, "uploads", 500), (0, "uploads", 200), (0, "slot", 204), (0, "verify", 200))
    publish(results, 3, (1, "uploads", 200), (None, "usage", 200))

    legs = [count(results, leg) for leg in (1, 2, 3)]

    assert legs[0]["calls_again"] == 0
    assert sum(int(str(leg["calls_again"])) for leg in legs) == again
    assert [leg["calls"] for leg in legs[1:]] == [3, 2]


def test_an_answer_that_two_legs_had_is_paid_for_again_by_each(results: Results) -> None:
    """The second leg was killed as the first was."""
    for leg in (1, 2, 3):
        publish(results, leg, (0, "uploads", 200))

    assert [count(results, leg)["calls_again"] for leg in (1, 2, 3)] == [0, 1, 1]
