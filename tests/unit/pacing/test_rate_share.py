"""Processes of one key share its rate limit by weight, and a pause is everybody's."""

from typing import Any

import pytest

from benchmarks.simulation.shared_lane import NEW_FILES, SHARED, SharedLane, play_shared
from proofsweep.pacing.rate_share import (
    GONE_SECONDS,
    PauseNotice,
    RateLease,
    RateReport,
    RateShare,
    Share,
    SharedPause,
    Weight,
)


def process_of(weight: float = 1.0, known: float | None = None) -> RateShare:
    return RateShare(token="own", weight=weight, known=known)


def look(process: RateShare, leases: dict[str, RateLease], now: float, **told: Any) -> Share:  # noqa: ANN401 - of many types
    """Let a process look at the leases of others, which by default has learned nothing and wants more."""
    return process.look(leases, RateReport(**{"learned_rate": None, "is_hungry": True} | told), now)


def lease(rate: float | None = 20.0, weight: float = 1.0, **more: float) -> RateLease:
    return RateLease(weight=weight, writes=1, rate=rate, learned=int(rate is not None), **more)


@pytest.mark.parametrize(
    ("weight", "others", "part"),
    [
        (Weight.VERIFY, [], 1.0),
        (Weight.VERIFY, [Weight.VERIFY], 1 / 2),
        (Weight.VERIFY, [Weight.VERIFY, Weight.VERIFY], 1 / 3),
        (Weight.VERIFY, [Weight.INGEST], 1 / 5),
        (Weight.INGEST, [Weight.VERIFY], 4 / 5),
    ],
)
def test_each_takes_its_weight_of_the_rate(weight: float, others: list[float], part: float) -> None:
    """Also a process that remembers another rate: what lives is newer."""
    leases = {str(number): lease(weight=each) for number, each in enumerate(others)}

    share = look(process_of(weight), leases, 100.0, learned_rate=7.0)

    assert share.part == pytest.approx(part)
    assert share.rate == (pytest.approx(20.0 * part) if others else None)


@pytest.mark.parametrize(("known", "first_rate"), [(None, None), (20.0, 10.0)])
def test_only_what_a_429_taught_now_is_told_to_all(known: float | None, first_rate: float | None) -> None:
    """It is its part of the rate of all. What an earlier run learned counts until then, and is no news to others."""
    process, others = process_of(known=known), {"a": lease(rate=None)}

    first = look(process, others, 1.0, learned_rate=known)
    then = look(process, others, 2.0, learned_rate=8.0)

    assert (first.part, first.rate) == (0.5, first_rate)
    assert [(lease.rate, lease.learned) for lease in (first.lease, then.lease) if lease] == [(known, 0), (16.0, 1)]
    assert then.rate == 8.0


def test_the_newest_rate_counts_and_what_one_found_only_in_part() -> None:
    """One process alone sees few calls."""
    process, others = process_of(), {"a": lease(20.0)}
    look(process, others, 1.0)

    found = look(process, others, 2.0, learned_rate=2.5)
    newer = {"a": RateLease(weight=1.0, writes=2, rate=30.0, learned=3)}
    told = look(process, newer, 3.0, learned_rate=found.rate)

    assert found.lease is not None
    assert found.lease.rate == pytest.approx(10.0)
    assert told.rate == 15.0


def test_a_process_tells_of_itself_every_few_seconds() -> None:
    """A lease that is written seldom keeps a store cheap."""
    process = process_of()

    told = [now for now in range(20) if look(process, {}, float(now)).lease is not None]

    assert told == [0, 5, 10, 15]


@pytest.mark.parametrize(("rate", "turn_seconds"), [(20.0, 2 / 20), (2.0, 1.3)])
def test_one_begins_after_the_other_when_a_pause_is_over(rate: float, turn_seconds: float) -> None:
    """And after the one that was told of the pause: the bucket may hold a single call."""
    process = process_of()

    look(process, {"a": lease(rate), "b": lease(rate), "p": lease(rate)}, 1.0)

    assert process.turn_seconds == pytest.approx(turn_seconds)


def told(pause_seconds: float = 5.0, teller: str = "a", writes: int = 1, told_at: float | None = None) -> PauseNotice:
    return PauseNotice(teller=teller, writes=writes, pause_seconds=pause_seconds, told_at=told_at)


def test_a_pause_that_appears_began_when_it_was_read() -> None:
    """Whatever the clock of the machine that wrote it: no clocks of two machines are compared. It is heeded once."""
    pause = SharedPause(token="own")
    pause.heed(None, 1.0, 1_000.0)

    heeded = [pause.heed(told(told_at=told_at), 2.0, 1_000.0) for told_at in (-1e9, -1e9)]

    assert heeded == [5.0, 0.0]


@pytest.mark.parametrize(
    ("told_at", "service_time", "least", "most"),
    [
        (1_000.0, 1_003.0, 2.0, 3.0),  # what is left, and a second: the service tells whole ones
        (1_000.0, 1_900.0, 0.0, 0.0),  # of last night
        (None, 1_003.0, 5.0, 5.0),  # the service tells no time: the whole, since it may have begun just now
        (1_000.0, None, 5.0, 5.0),
        (9_000.0, 1_000.0, 5.0, 5.0),
    ],
)
def test_of_a_pause_that_stood_there_before_only_what_is_left_counts(
    told_at: float | None, service_time: float | None, least: float, most: float
) -> None:
    """By the service's clock, which both know."""
    heeded = SharedPause(token="own").heed(told(told_at=told_at), 1.0, service_time)

    assert least <= heeded <= most


def test_a_pause_that_ends_a_little_later_than_another_is_written() -> None:
    """What others wrote began at the earliest when it was not there yet: an end that they may not know is told."""
    pause = SharedPause(token="own")
    pause.heed(None, 1.0, None)

    pause.heed(told(1.0), 1.2, None)

    assert pause.news(2.1, 1.3, None) is not None
    assert pause.news(2.0, 1.3, None) is None


@pytest.mark.parametrize(("left_at", "is_left_over"), [(2.0, False), (7.0, True)])
def test_a_pause_that_lasts_is_left_to_those_that_come(left_at: float, is_left_over: bool) -> None:
    pause = SharedPause(token="own")

    pause.heed(told(5.0), 1.0, None)

    assert pause.is_left_over(left_at) is is_left_over


def test_no_pause_is_heeded_for_longer_than_two_minutes() -> None:
    """Then a call of one's own shows what holds."""
    assert SharedPause(token="own").heed(told(3_600.0), 1.0, None) == 120.0


def test_the_later_end_stands_there_in_the_end() -> None:
    """Of two processes that write at once, the one whose end was overwritten writes it again; nobody tells it twice."""
    pause = SharedPause(token="own")
    first = pause.news(10.0, 2.0, None)
    assert first is not None
    pause.wrote(first, 2.0)
    is_repeated = pause.news(10.0, 2.1, None)

    pause.heed(told(3.0), 2.2, None)
    again = pause.news(10.0, 2.2, None)
    pause.heed(told(60.0, writes=2), 2.3, None)

    assert (first.pause_seconds, is_repeated) == (8.0, None)
    assert again is not None
    assert again.pause_seconds == pytest.approx(7.8)
    assert pause.news(10.0, 2.4, None) is None


def test_a_pause_that_could_not_be_written_is_written_later() -> None:
    """And one whose object is gone."""
    pause = SharedPause(token="own")
    unwritten, written = pause.news(10.0, 2.0, None), pause.news(10.0, 3.0, None)
    assert None not in (unwritten, written)
    assert written is not None
    pause.wrote(written, 3.0)
    pause.heed(written, 3.1, None)

    pause.heed(None, 4.0, None)

    assert pause.news(10.0, 4.0, None) is not None


def test_a_process_that_writes_no_more_is_gone() -> None:
    process, others = process_of(), {"a": lease()}
    look(process, others, 0.0)

    still, gone = (look(process, others, GONE_SECONDS + seconds) for seconds in (-1, 1))

    assert (still.part, gone.part, gone.rate) == (0.5, 1.0, 20.0)
    assert process.forgotten(GONE_SECONDS + 1) == []
    assert process.forgotten(40.0) == ["a"]


def test_a_process_with_little_to_do_leaves_the_rate_to_others() -> None:
    """It has its whole part again within seconds when it needs it."""
    process, parts = process_of(Weight.INGEST), dict[int, float]()

    for now in range(20):
        others = {"a": RateLease(weight=1.0, writes=now, rate=20.0, learned=1)}
        parts[now] = look(process, others, float(now), is_hungry=now >= 10).part

    assert parts[9] == pytest.approx(0.4 / 1.4)
    assert parts[13] == pytest.approx(0.8)


@pytest.mark.parametrize(
    "lane", [each for each in SHARED if each.name in ("R20 B20, 4 processes", "R12 B12, 2 processes")]
)
def test_processes_use_nine_tenths_and_are_refused_rarely(lane: SharedLane) -> None:
    figures = play_shared(lane, 7).figures(lane)

    assert figures.goodput > 0.9
    assert figures.share < 1.5


def test_new_files_have_their_part_within_ten_seconds() -> None:
    """Four parts of seven, beside three sweeps."""
    played = play_shared(NEW_FILES, 7)

    assert played.share_of(played.processes[-1:], 160, 200) > 0.45
    assert played.figures(NEW_FILES).goodput > 0.9
