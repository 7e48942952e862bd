"""A leg that is played ends when simple arithmetic says so, where one thing alone limits it."""

from dataclasses import replace

import pytest

from proofsweep.model.forecast import Bind
from proofsweep.model.observed import ObservedLane, ObservedLink, ObservedService
from proofsweep.verify.rehearsal.play import Night, play

QUICK = ObservedService(origin="a sample", rows=20, slot_seconds=(0.05,), verify_seconds=(0.15,))
"""A service with an open lane, which answers both calls of a file within 0.2 seconds."""


def night(rows: int, *, sizes: int = 1_000, **otherwise: object) -> Night:
    """Make a night of files of one size; a known rate spares the search where there is no lane."""
    facts: dict[str, object] = {"sizes": [sizes] * rows, "service": QUICK, "workers": 512, "known_rate": 4_000.0}
    return Night(**facts | otherwise)  # type: ignore[arg-type]  # the night's own fields


@pytest.mark.parametrize("rate", [2.0, 20.0, 100.0])
def test_a_lane_lets_so_many_calls_through_in_a_second(rate: float) -> None:
    """Two calls for each file, less the burst with which the bucket begins; the pacer uses 96 % and more of it."""
    lane = ObservedLane(rate=rate, burst=rate)
    played = play(night(int(rate * 100), service=replace(QUICK, lane=lane), known_rate=rate))

    ideal = (2 * int(rate * 100) - rate) / rate
    assert ideal <= played.seconds <= 1.04 * ideal
    assert max(played.uses, key=played.uses.__getitem__) is Bind.LANE
    assert played.calls - played.refused == 2 * int(rate * 100)


def test_a_limit_of_calls_at_once_is_used() -> None:
    """Eight at once, of which each takes a tenth of a second on average."""
    lane = ObservedLane(most_at_once=8)
    played = play(night(4_000, service=replace(QUICK, lane=lane), known_rate=None))

    ideal = 8_000 * 0.1 / 8
    assert ideal <= played.seconds <= 1.15 * ideal
    assert played.uses[Bind.LANE] > 0.85


def test_a_full_link_takes_the_time_of_the_bytes() -> None:
    """Ten gigabytes at ten megabytes a second; the link is left idle only at the beginning and at the end."""
    link = ObservedLink(of_all=1e7)
    played = play(night(1_000, sizes=10_000_000, service=replace(QUICK, link=link)))

    assert 1_000 <= played.seconds <= 1.02 * 1_000
    assert played.uses[Bind.UPLINK] > 0.97


def test_few_threads_finish_as_many_files_as_littles_law_says() -> None:
    """Four at a time, each 0.2 s of answers and 0.8 s of upload: four a second."""
    link = ObservedLink(fixed_seconds=0.8)
    played = play(night(2_000, workers=4, service=replace(QUICK, link=link)))

    assert played.seconds == pytest.approx(500, rel=0.01)
    assert played.uses[Bind.THREADS] > 0.98


def test_a_busy_processor_takes_one_file_after_the_other() -> None:
    """Fifty milliseconds of each."""
    played = play(night(1_000, service=replace(QUICK, cpu_seconds=0.05)))

    assert played.seconds == pytest.approx(50, rel=0.02)
    assert played.uses[Bind.CPU] > 0.97


def test_a_window_lets_nothing_begin_after_it_and_finishes_the_rest() -> None:
    """At ten files a second."""
    lane = ObservedLane(rate=20.0, burst=20.0)
    played = play(night(10_000, service=replace(QUICK, lane=lane), known_rate=20.0, closes_after_seconds=200.0))

    assert len(played.begun) == pytest.approx(2_000, rel=0.03)
    assert 200 < played.seconds < 203


def test_a_night_without_files_is_over_at_once() -> None:
    """And uses nothing."""
    played = play(night(0))

    assert (played.seconds, played.calls, dict(played.uses)) == (0.0, 0, {})


def test_answer_times_are_drawn_between_their_quantiles() -> None:
    """One worker: the mean of both calls is that of the quantiles."""
    service = replace(QUICK, slot_seconds=(0.1, 0.3), verify_seconds=(1.0, 2.0, 3.0))
    played = play(night(500, workers=1, service=service))

    assert played.seconds == pytest.approx(500 * 2.2, rel=0.05)


def test_a_seed_gives_the_same_night_again() -> None:
    """Else two forecasts of one plan would differ."""
    lane = ObservedLane(rate=30.0, burst=30.0)
    tonight = night(500, service=replace(QUICK, lane=lane, failing=0.02), known_rate=None)

    assert play(tonight).seconds == play(tonight).seconds
    assert play(replace(tonight, seed=2)).seconds != play(tonight).seconds
