"""Processes of one key share its rate limit by weight, and a pause is everybody's."""

from typing import Any

import pytest

from benchmarks.simulation.shared_lane import NEW_FILES, SHARED, SharedLane, play_shared
from proofsweep.client.rate_share import GONE_SECONDS, RateLease, RateReport, RateShare, Share, Weight


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


def test_a_pause_is_everybodys_once() -> None:
    """Also that of a process that comes. One begins again after the other."""
    process, paused = process_of(), {"a": lease(pause_seconds=5.0)}

    pauses = [look(process, paused, now).pause_seconds for now in (1.0, 2.0)]

    assert pauses == [5.0 + 1 / 20.0, 0.0]


def test_a_process_tells_a_pause_at_once_and_of_itself_every_few_seconds() -> None:
    """A lease that is written seldom keeps a store cheap."""
    process, told = process_of(), []

    for now in range(20):
        share = look(process, {}, float(now), pause_seconds=3.0 if now == 7 else 0.0)
        told += [(now, share.lease.pause_seconds)] if share.lease is not None else []

    assert told == [(0, 0.0), (5, 0.0), (7, 3.0), (12, 0.0), (17, 0.0)]


def test_a_process_that_writes_no_more_is_gone() -> None:
    process, others = process_of(), {"a": lease()}
    look(process, others, 0.0)

    still, gone = (look(process, others, GONE_SECONDS + seconds) for seconds in (-1, 1))

    assert (still.part, gone.part, gone.rate) == (0.5, 1.0, 20.0)


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
