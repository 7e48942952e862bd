"""Processes of one key share its rate limit by weight, and a pause is everybody's."""

import pytest

from benchmarks.simulation.shared_lane import NEW_FILES, SHARED, SharedLane, play_shared
from proofsweep.client.rate_share import GONE_SECONDS, RateLease, RateReport, RateShare, Share, Weight


def share_of(leases: dict[str, RateLease], *, weight: float = 1.0, own: float | None = None) -> Share:
    """What a process makes of the leases of others when it begins."""
    return RateShare(token="own", weight=weight).look(leases, RateReport(learned_rate=own, is_hungry=True), 100.0)


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
    share = share_of({str(n): lease(weight=each) for n, each in enumerate(others)}, weight=weight, own=7.0)

    assert share.part == pytest.approx(part)
    assert share.rate == (pytest.approx(20.0 * part) if others else None)


def test_nobody_learns_for_all_until_a_429() -> None:
    """Then what one has learned is its part of the rate of all."""
    process = RateShare(token="own", weight=1.0)
    first = process.look({"a": lease(rate=None)}, RateReport(learned_rate=None, is_hungry=True), 1.0)

    then = process.look({"a": lease(rate=None)}, RateReport(learned_rate=8.0, is_hungry=True), 2.0)

    assert (first.part, first.rate, first.lease and first.lease.rate) == (0.5, None, None)
    assert (then.rate, then.lease and then.lease.rate) == (8.0, 16.0)


def test_what_an_earlier_run_learned_counts_until_a_429_and_is_told_to_nobody_as_news() -> None:
    """A process that begins takes its part of it at once; then only what was seen now counts."""
    process, others = RateShare(token="own", weight=1.0, known=20.0), {"a": lease(rate=None)}

    first = process.look(others, RateReport(learned_rate=20.0, is_hungry=True), 1.0)
    then = process.look(others, RateReport(learned_rate=8.0, is_hungry=True), 2.0)

    assert (first.part, first.rate, first.lease and first.lease.learned) == (0.5, 10.0, 0)
    assert (then.rate, then.lease and (then.lease.rate, then.lease.learned)) == (8.0, (16.0, 1))


def test_the_newest_rate_counts_and_what_one_found_only_in_part() -> None:
    """One process alone sees few calls."""
    process = RateShare(token="own", weight=1.0)
    others = {"a": lease(20.0)}
    process.look(others, RateReport(learned_rate=None, is_hungry=True), 1.0)

    found = process.look(others, RateReport(learned_rate=2.5, is_hungry=True), 2.0)
    newer = {"a": RateLease(weight=1.0, writes=2, rate=30.0, learned=3)}
    told = process.look(newer, RateReport(learned_rate=found.rate, is_hungry=True), 3.0)

    assert found.lease is not None
    assert found.lease.rate == pytest.approx(10.0)
    assert told.rate == 15.0


def test_a_pause_is_everybodys_once() -> None:
    """Also that of a process that comes. One begins again after the other."""
    process, report = RateShare(token="own", weight=1.0), RateReport(learned_rate=None, is_hungry=True)
    paused = {"a": lease(pause_seconds=5.0)}

    pauses = [process.look(paused, report, now).pause_seconds for now in (1.0, 2.0)]

    assert pauses == [5.0 + 1 / 20.0, 0.0]


def test_a_process_tells_a_pause_at_once_and_of_itself_every_few_seconds() -> None:
    """A lease that is written seldom keeps a store cheap."""
    process = RateShare(token="own", weight=1.0)

    told = []
    for now in range(20):
        pause_seconds = 3.0 if now == 7 else 0.0
        share = process.look({}, RateReport(learned_rate=None, is_hungry=True, pause_seconds=pause_seconds), float(now))
        told += [(now, share.lease.pause_seconds)] if share.lease is not None else []

    assert told == [(0, 0.0), (5, 0.0), (7, 3.0), (12, 0.0), (17, 0.0)]


def test_a_process_that_writes_no_more_is_gone() -> None:
    process, report = RateShare(token="own", weight=1.0), RateReport(learned_rate=None, is_hungry=True)
    process.look({"a": lease()}, report, 0.0)

    still = process.look({"a": lease()}, report, GONE_SECONDS - 1)
    gone = process.look({"a": lease()}, report, GONE_SECONDS + 1)

    assert (still.part, gone.part, gone.rate) == (0.5, 1.0, 20.0)


def test_a_process_with_little_to_do_leaves_the_rate_to_others() -> None:
    """It has its whole part again within seconds when it needs it."""
    process, parts = RateShare(token="own", weight=Weight.INGEST), dict[int, float]()
    for now in range(20):
        report = RateReport(learned_rate=None, is_hungry=now >= 10)
        parts[now] = process.look(
            {"a": RateLease(weight=1.0, writes=now, rate=20.0, learned=1)}, report, float(now)
        ).part

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
