"""Processes that share a lane: how it is divided, who finds its rate, and how each keeps to its part."""

from dataclasses import replace

import pytest

from proofsweep.client.lane_model import TokenBucket
from proofsweep.client.rate_share import (
    GONE_SECONDS,
    KeptPace,
    Lane,
    LaneKeeper,
    LaneMember,
    LanePriority,
    LaneReport,
    LaneShare,
    LaneUse,
    Meeting,
    Member,
    fair_rates,
    keeper_of,
)

INGEST, VERIFY = LanePriority.INGEST, LanePriority.VERIFY


def member(priority: LanePriority = VERIFY, need: float | None = None) -> Member:
    """Return a process that uses all that it gets, unless it needs less."""
    return Member(priority=priority, rate=1.0, need=need)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"a": member()}, {"a": 20.0}),
        ({"a": member(), "b": member()}, {"a": 10.0, "b": 10.0}),
        ({"a": member(need=4.0), "b": member(), "c": member()}, {"a": 4.0, "b": 8.0, "c": 8.0}),
        ({"a": member(need=4.0), "b": member(need=2.0)}, {"a": 4.0, "b": 2.0}),
        ({"a": member(INGEST), "b": member(), "c": member()}, {"a": 18.0, "b": 1.0, "c": 1.0}),
        ({"a": member(INGEST, need=5.0), "b": member(), "c": member()}, {"a": 5.0, "b": 7.5, "c": 7.5}),
    ],
)
def test_a_lane_is_divided_by_need_and_new_files_go_first(
    members: dict[str, Member], expected: dict[str, float]
) -> None:
    """What one does not need is the others'; each keeps its floor rate."""
    assert fair_rates(20.0, members, 1.0) == pytest.approx(expected)


def test_the_one_that_finds_the_rate_stays_the_same() -> None:
    """A search is left to one that has much to do; and one that is gone is followed by another."""
    members = {"a": member(need=0.5), "b": member()}

    assert keeper_of("a", members, is_known=True) == "a"
    assert keeper_of("a", members, is_known=False) == "b"
    assert keeper_of("gone", members, is_known=True) == "b"
    assert keeper_of("gone", {}, is_known=True) == ""


def kept(keeper: LaneKeeper, lane: float, seconds: int, start: int = 0) -> int:
    """Let all send at the pace for so long, in a lane with a bucket of ten; return how many looks saw a 429."""
    tokens, refused = 0.0, 0
    for second in range(start, start + seconds):
        wanted = tokens + lane - keeper.pace
        is_refused, tokens = wanted < 0, max(0.0, min(10.0, wanted))
        refused += is_refused
        keeper.look(float(second), min(keeper.pace, lane + tokens), is_refused=is_refused)
    return refused


def test_a_pace_that_is_too_fast_becomes_the_rate_and_is_refused_rarely() -> None:
    """What is let in while the bucket is empty is the rate."""
    keeper = LaneKeeper(30.0)
    keeper.look(0.0, 0.0, is_refused=False)
    kept(keeper, 20.0, 120, start=1)

    assert kept(keeper, 20.0, 600, start=121) < 40
    assert 18.5 < keeper.rate < 21.0


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


def test_a_429_pauses_and_moves_the_calls_to_another_moment() -> None:
    """Processes whose calls go at the same moment would be refused again and again."""
    pace = KeptPace(LaneShare(rate=0.5))

    pace.throttled(pace.send(10.0), 10.1234567, 1.0)

    assert 11.1 < pace.next_at < 13.2
