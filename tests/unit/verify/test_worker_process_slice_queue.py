"""Slices are given away with their calls, which together never exceed the leg's, and come back with what is left."""

import random
from dataclasses import replace

import pytest

from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.runs import Bounds, Slice
from proofsweep.verify.worker_process import GrantedSlice, SliceQueue, SliceResult

from ..conftest import LegBuilder

DONE = SliceResult(is_done=True)
LOST = SliceResult(is_lost=True)
PIECES = [Slice(shard, 0, 100) for shard in range(3)]


def queue_of(new_leg: LegBuilder, max_calls: int | None = None) -> SliceQueue:
    """Let three slices of a hundred items wait."""
    return SliceQueue(new_leg.leg(new_leg.plan(1), bounds=Bounds(max_calls=max_calls)), PIECES)


def given(queue: SliceQueue, slots: int) -> list[GrantedSlice]:
    """Return away all that may be given."""
    return list(iter(lambda: queue.grant(slots), None))


def test_without_a_bound_each_slice_has_all_that_it_may_need(new_leg: LegBuilder) -> None:
    """Each slice once."""
    queue = queue_of(new_leg)

    assert given(queue, 4) == [GrantedSlice(piece=piece, calls=300) for piece in PIECES]


def test_each_slice_has_its_share(new_leg: LegBuilder) -> None:
    """One call is kept for the last probe of the quota; what one slice does not take is there for the next."""
    queue = queue_of(new_leg, max_calls=301)

    calls = [each.calls for each in given(queue, 3)]

    assert calls == [100, 66, 44]


def test_what_is_left_of_a_slice_waits_again(new_leg: LegBuilder) -> None:
    """Its calls that were not made are free again."""
    queue = queue_of(new_leg, max_calls=101)
    granted = queue.grant(1)
    assert granted is not None
    assert granted.calls == 100
    assert queue.grant(1) is None

    queue.take(granted, replace(DONE, is_done=False, calls=60))

    assert [each.calls for each in given(queue, 1)] == [40]
    assert queue._leg.stop.reason is None
    assert queue._waiting[-1] == (granted.piece, 1)


def test_a_lost_attempt_has_spent_all_its_calls(new_leg: LegBuilder) -> None:
    """Nobody knows how many it made; then the leg has none left, and ends."""
    queue = queue_of(new_leg, max_calls=101)
    granted = queue.grant(1)
    assert granted is not None

    queue.take(granted, LOST)

    assert queue.grant(1) is None
    assert queue._leg.stop.reason is not None
    assert queue._leg.stop.reason.ended_by == "window"


def test_a_slice_that_is_lost_again_and_again_ends_the_leg(new_leg: LegBuilder) -> None:
    """It would take every process with it."""
    queue = SliceQueue(new_leg.leg(new_leg.plan(1)), PIECES[:1])
    for _ in range(4):
        granted = queue.grant(1)
        assert granted is not None
        queue.take(granted, LOST)

    with pytest.raises(RunMustStop, match="4 worker processes that worked on shard 0 were lost"):
        queue._leg.stop.check()


def test_a_process_that_must_stop_ends_the_leg(new_leg: LegBuilder) -> None:
    """No slice begins then."""
    queue, stop = queue_of(new_leg), RunMustStop("The key is refused.", ended_by="key_refused")
    granted = queue.grant(1)
    assert granted is not None

    queue.take(granted, replace(DONE, stop=stop))

    assert queue._leg.stop.reason is stop
    assert queue.grant(1) is None


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_the_calls_stay_within_the_bound(new_leg: LegBuilder, seed: int) -> None:
    """Slices end, come back and are lost in any order; lost ones may have made all their calls."""
    chance, made, running = random.Random(seed), 0, list[GrantedSlice]()  # noqa: S311 - drawn cases, not secrets
    queue = queue_of(new_leg, max_calls=chance.randrange(3, 900))
    bounds = queue._leg.budget._budget.bounds
    while True:
        running += given(queue, chance.randrange(1, 9))
        if not running:
            break
        granted = running.pop(chance.randrange(len(running)))
        assert granted.calls is not None
        is_lost = chance.random() < 0.2
        calls = chance.randrange(granted.calls + 1)
        made += granted.calls if is_lost else calls
        is_done = not is_lost and chance.random() < 0.5
        queue.take(granted, SliceResult(is_done=is_done, is_lost=is_lost, calls=0 if is_lost else calls))

    assert bounds.max_calls is not None
    assert made <= bounds.max_calls
    assert queue._leg.stop.reason is not None or not queue._waiting
