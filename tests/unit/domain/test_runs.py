"""How a run is cut into shards and tasks, and when a leg counts as dead."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from proofsweep.domain.runs import (
    ClockReading,
    Plan,
    Slice,
    is_due,
    is_fresh,
    new_run_id,
    shard_items_for,
    shard_of,
    slices_of,
)

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def plan_of(items: int) -> Plan:
    """Make a plan of so many items."""
    shard_items = shard_items_for(items)
    return Plan(
        run_id="r",
        created_at="2026-11-20T23:30:00-05:00",
        environment="sandbox",
        base_url="http://127.0.0.1/v1",
        catalog="c",
        catalog_kind="manifest",
        catalog_digest="00",
        items=items,
        eligible=items,
        pairs=0,
        audio_bytes=0,
        shard_items=shard_items,
        shards=-(-items // shard_items),
    )


@pytest.mark.parametrize(
    ("items", "shard_items"), [(1, 1_000), (256_000, 1_000), (256_001, 1_001), (1_000_000, 3_907), (10_000_000, 39_063)]
)
def test_no_run_has_more_than_256_shards(items: int, shard_items: int) -> None:
    """Small shards waste tasks, and many shards waste files."""
    assert shard_items_for(items) == shard_items
    assert plan_of(items).shards <= 256


@pytest.mark.parametrize("items", [1, 199, 200, 201, 1_000, 1_001, 2_500])
def test_slices_cover_every_row_once(items: int) -> None:
    """At any size of the run, no row is left out and none is done twice."""
    plan = plan_of(items)

    rows = [
        piece.shard * plan.shard_items + offset
        for piece in slices_of(plan)
        for offset in range(piece.first, piece.last)
    ]

    assert rows == list(range(items))
    assert [shard_of(plan, row) for row in rows] == [row // 1_000 for row in rows]


def test_a_small_run_shows_each_of_its_items() -> None:
    """Up to 200 files, each file is a task; in a larger run, each shard is one."""
    assert list(slices_of(plan_of(2))) == [Slice(0, 0, 1), Slice(0, 1, 2)]
    assert len(list(slices_of(plan_of(200)))) == 200
    assert list(slices_of(plan_of(1_200))) == [Slice(0, 0, 1_000), Slice(1, 0, 200)]


def test_a_run_is_dated_in_utc() -> None:
    """Its folders have the same date wherever it is resumed."""
    assert plan_of(1).run_date == date(2026, 11, 21)
    assert replace(plan_of(1), created_at="2026-11-20T12:00:00+00:00").run_date == date(2026, 11, 20)


def test_run_ids_sort_by_time() -> None:
    """Runs of machines in different time zones sort too; a run ID has no hyphen."""
    earlier = new_run_id(NOON.astimezone(timezone(timedelta(hours=9))), "zz")
    later = new_run_id(NOON + timedelta(milliseconds=1), "aa")

    assert earlier < later
    assert earlier == "20261120T120000Z_000zz"
    assert "-" not in earlier


@pytest.mark.parametrize("boot", ["", "another"])
@pytest.mark.parametrize(("seconds", "fresh"), [(0, True), (30, True), (31, False), (-3_600, False)])
def test_a_leg_without_heartbeat_for_more_than_30_s_is_dead(seconds: int, fresh: bool, boot: str) -> None:
    """A heartbeat from the future shows that a clock is wrong, so it does not count."""
    last, now = ClockReading(NOON, 100.0, boot), ClockReading(NOON + timedelta(seconds=seconds), 100.0)

    assert is_fresh(last, now) is fresh


@pytest.mark.parametrize(("uptime_seconds", "fresh"), [(130.0, True), (131.0, False)])
def test_within_one_boot_only_the_monotonic_clock_counts(uptime_seconds: float, fresh: bool) -> None:
    """The wall clock may have jumped by hours between two heartbeats."""
    last, now = ClockReading(NOON, 100.0, "b"), ClockReading(NOON + timedelta(hours=3), uptime_seconds, "b")

    assert is_fresh(last, now) is fresh


@pytest.mark.parametrize(
    ("seconds", "uptime_seconds", "due"),
    [(9, 109.0, False), (10, 100.0, True), (0, 110.0, True), (-3_600, 101.0, True)],
)
def test_a_heartbeat_is_due_by_either_clock(seconds: int, uptime_seconds: float, *, due: bool) -> None:
    """The monotonic clock may stand while a machine sleeps, and the wall clock may be set back."""
    now = ClockReading(NOON + timedelta(seconds=seconds), uptime_seconds)

    assert is_due(ClockReading(NOON, 100.0), now) is due
