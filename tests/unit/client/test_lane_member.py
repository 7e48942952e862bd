"""What one process makes of the lane that it shares."""

from dataclasses import replace

import pytest

from proofsweep.client.lane_model import TokenBucket
from proofsweep.client.rate_share import (
    GONE_SECONDS,
    Lane,
    LaneMember,
    LanePriority,
    LaneReport,
    LaneUse,
    Meeting,
    Member,
)

LANE = TokenBucket(20.0, 10.0)


def report(bucket: TokenBucket | None = LANE, **more: float) -> LaneReport:
    """Return the report of a process that would send more than it may."""
    return LaneReport(bucket=bucket, use=LaneUse(calls=20, let_in=20, held_back=20), **more)  # type: ignore[arg-type]


class Process:
    """A process, and the time by its own clock."""

    def __init__(self, token: str, priority: LanePriority = LanePriority.VERIFY) -> None:
        self.member = LaneMember(token=token, priority=priority, floor_rate=1.0)

    def look(self, lane: Lane, now: float, told: LaneReport | None = None) -> tuple[Meeting, Lane]:
        """Look at the lane, and return it as it is afterwards."""
        self.member.note(told or report(), now)
        met = self.member.meet(lane, now)
        if met.news is None:
            return met, lane
        self.member.told(met.news, now)
        return met, met.news


def settled(*processes: Process, rounds: int = 20) -> Lane:
    """Let all look at the lane in turn, once a second."""
    lane = Lane()
    for second in range(rounds):
        for process in processes:
            _, lane = process.look(lane, float(second))
    return lane


def test_a_process_alone_finds_the_lane_as_if_nothing_were_shared() -> None:
    """It tells what it knows, for those that come."""
    met, lane = Process("a").look(Lane(), 0.0)

    assert met.share is None
    assert (lane.bucket, lane.keeper) == (LANE, "a")


def test_alike_processes_have_the_same_part_and_together_no_more_than_the_lane() -> None:
    """Whoever came first."""
    lane = settled(*(Process(str(number)) for number in range(20)))

    assert lane.bucket is not None
    assert sum(each.rate for each in lane.members.values()) <= lane.bucket.rate * 1.04
    assert min(each.rate for each in lane.members.values()) > 0.9


def test_a_newcomer_takes_a_small_part_until_the_others_have_made_room() -> None:
    """So all together never keep to much more than the lane."""
    first, second = Process("a"), Process("b")
    _, lane = first.look(Lane(), 0.0)

    met, lane = second.look(lane, 0.5)
    assert met.share is not None
    assert met.share.rate == pytest.approx(1.0)
    _, lane = first.look(lane, 1.0)
    met, lane = second.look(lane, 1.5)

    assert met.share is not None
    assert met.share.rate > 9.0


def test_new_files_go_first() -> None:
    """The others keep a little."""
    lane = settled(Process("a"), Process("b"), Process("new", LanePriority.INGEST))

    assert lane.bucket is not None
    assert lane.members["new"].rate > 0.8 * lane.bucket.rate
    assert lane.members["a"].rate == pytest.approx(1.0)


def test_a_process_that_tells_nothing_any_more_is_dropped() -> None:
    """By the clock of the one that looks, from when it looked first."""
    first, second = Process("a"), Process("b")
    lane = settled(first, second)

    now = 20.0
    while now < 20.0 + GONE_SECONDS + 6.0:
        met, lane = second.look(lane, now)
        now += 1.0

    assert list(lane.members) == ["b"]
    assert met.share is None


def test_a_process_that_was_dropped_because_it_slept_comes_back() -> None:
    """With its part, by its next look."""
    first, second = Process("a"), Process("b")
    _, lane = first.look(Lane(), 0.0, report())
    _, lane = second.look(lane, 0.0)
    for second_ in range(30):
        _, lane = second.look(lane, float(second_))
    assert "a" not in lane.members

    _, lane = first.look(lane, 40.0, report())

    assert "a" in lane.members


def test_a_pause_is_everybodys_and_no_longer_than_it_was_told() -> None:
    """What may have passed since is taken off; it is not told on."""
    first, second = Process("a"), Process("b")
    lane = settled(first, second)
    second.look(lane, 20.0)
    _, lane = first.look(lane, 20.5, report(pause_seconds=30.0))

    met, lane = second.look(lane, 21.0)
    again, lane = second.look(lane, 22.0)

    assert met.pause_seconds == pytest.approx(29.0)
    assert again.pause_seconds == 0.0
    assert lane.members["b"].pause_seconds == 0.0


def test_a_clock_that_jumped_holds_nobody_up_for_hours() -> None:
    """No pause that others tell of is longer than two minutes."""
    first, second = Process("a"), Process("b")
    lane = settled(first, second)
    told = replace(lane.members["a"], beat=1_000, pause_seconds=1e9)

    met, _ = second.look(replace(lane, members={**lane.members, "a": told}), 20.0)

    assert met.pause_seconds == 120.0


def test_others_wait_for_a_search_but_not_for_long() -> None:
    """A lane that is never full has room for all."""
    first, second = Process("a"), Process("b")
    _, lane = first.look(Lane(), 0.0, report(None))
    waits, lane = second.look(lane, 0.5, report(None))
    for second_ in range(1, 20):
        _, lane = first.look(lane, float(second_), report(None))
        met, lane = second.look(lane, second_ + 0.5, report(None))

    assert waits.share is not None
    assert waits.share.rate < 1.0
    assert met.share is None


def test_a_write_that_was_not_made_is_made_again() -> None:
    """Another process was first."""
    process = Process("a")
    process.member.note(report(), 0.0)
    process.member.meet(Lane(), 0.0)

    _, lane = process.look(Lane(members={"b": Member(priority=1, rate=1.0)}), 1.0, report())

    assert set(lane.members) == {"a", "b"}


def test_one_that_leaves_makes_room() -> None:
    """The others keep what it knew."""
    first, second = Process("a"), Process("b")
    lane = settled(first, second)
    first.member.note(report(), 21.0)

    lane = first.member.leave(lane)

    assert (list(lane.members), lane.keeper) == (["b"], "b")
    assert lane.bucket is not None
