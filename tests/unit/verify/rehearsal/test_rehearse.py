"""A rehearsal says when tonight ends, what limits it, and what would help."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofsweep.model.forecast import Bind
from proofsweep.model.observed import ObservedLane, ObservedLink, ObservedService
from proofsweep.model.rehearsal import Rehearsal
from proofsweep.verify.rehearsal.play import Night, play
from proofsweep.verify.rehearsal.rehearse import Tonight, rehearse

TEN = datetime(2026, 11, 20, 22, tzinfo=UTC)
SERVICE = ObservedService(
    origin="run R, leg 1",
    rows=100,
    slot_seconds=(0.05,),
    verify_seconds=(0.15,),
    overhead_seconds=2.0,
    lane=ObservedLane(rate=20.0, burst=20.0),
    link=ObservedLink(mean_bytes=1_000),
)


def rehearsed(
    rows: int, *, left: dict[Bind, int] | None = None, rate: float | None = None, **night: object
) -> Rehearsal:
    """Rehearse a night of small files."""
    facts: dict[str, object] = {"sizes": [1_000] * rows, "service": SERVICE, "workers": 128, "known_rate": 20.0}
    tonight = Tonight(night=Night(**facts | night), left=left or {}, now=TEN, assumed_rate=rate)  # type: ignore[arg-type]
    return rehearse(tonight)


def test_a_lane_that_limits_is_named_and_a_wider_one_helps() -> None:
    """Twelve hundred files are 2,400 calls: 120 s at 20 a second, 60 s at 40, with however many threads."""
    told = rehearsed(1_200)

    remedies = {remedy.bind: remedy for remedy in told.remedies}
    assert (told.binds, told.pace_binds, told.rows_left) == (Bind.LANE, Bind.LANE, 0)
    assert told.seconds == pytest.approx(121, rel=0.03)
    assert told.ends_at == TEN + timedelta(seconds=told.seconds)
    assert (remedies[Bind.LANE].amount, remedies[Bind.LANE].helps) == (40.0, True)
    assert remedies[Bind.LANE].seconds == pytest.approx(61, rel=0.05)
    assert (remedies[Bind.THREADS].amount, remedies[Bind.THREADS].helps) == (256, False)
    assert Bind.UPLINK not in remedies


def test_few_threads_limit_and_more_help() -> None:
    """One at a time, each 0.2 s: five a second, of the lane's ten."""
    told = rehearsed(200, workers=1)

    (threads,) = [remedy for remedy in told.remedies if remedy.bind is Bind.THREADS]
    assert told.pace_binds is Bind.THREADS
    assert told.seconds == pytest.approx(42, rel=0.03)
    assert threads.helps


def test_a_slow_link_limits_and_a_faster_one_helps() -> None:
    """Three hundred megabytes at four a second."""
    service = replace(SERVICE, link=ObservedLink(of_all=4e6, mean_bytes=1e6))
    told = rehearsed(300, sizes=[1_000_000] * 300, service=service)

    (link,) = [remedy for remedy in told.remedies if remedy.bind is Bind.UPLINK]
    assert told.pace_binds is Bind.UPLINK
    assert told.seconds == pytest.approx(77, rel=0.03)
    assert (link.amount, link.helps) == (8e6, True)


def test_a_quota_leaves_rows_and_more_of_it_does_not() -> None:
    """Half of the rows: the rest is for another night."""
    told = rehearsed(300, left={Bind.QUOTA: 150, Bind.CALLS: 100})

    (more,) = [remedy for remedy in told.remedies if remedy.bind is Bind.QUOTA]
    assert (told.binds, told.pace_binds, told.rows, told.rows_left) == (Bind.QUOTA, Bind.LANE, 150, 150)
    assert (more.rows_left, more.amount, more.helps) == (100, None, True)


def test_a_window_closes_before_the_quota_is_used_up() -> None:
    """Ten files a second for 30 s."""
    told = rehearsed(500, left={Bind.QUOTA: 100}, closes_after_seconds=30.0)

    (no_window,) = [remedy for remedy in told.remedies if remedy.bind is Bind.WINDOW]
    assert (told.binds, told.rows) == (Bind.WINDOW, pytest.approx(305, rel=0.05))
    assert no_window.rows_left == 100


def test_nothing_that_is_unknown_is_said_as_known() -> None:
    """A lane that was never reached, a lane that a person assumes, and uploads that were never measured."""
    never = rehearsed(100, service=replace(SERVICE, lane=ObservedLane(fastest=12.0)))
    assumed = rehearsed(100, service=ObservedService(origin="", lane=ObservedLane(rate=40.0, burst=40.0)), rate=40.0)
    larger = rehearsed(100, sizes=[50_000_000] * 100)

    assert [said for said in never.assumed if "never reached" in said and "12" in said]
    assert Bind.LANE not in {remedy.bind for remedy in never.remedies}
    assert [said for said in assumed.assumed if "40" in said and "--rate" in said]
    assert [said for said in assumed.assumed if "this or later" in said]
    assert [said for said in larger.assumed if "--sample" in said and "50 MB" in said]
    assert rehearsed(100).assumed == []


@settings(max_examples=15, deadline=None)
@given(rate=st.floats(2.0, 60.0), more=st.floats(1.05, 4.0), seed=st.integers(0, 100))
def test_a_wider_lane_never_ends_later(rate: float, more: float, seed: int) -> None:
    """But for the error of a rehearsal, and the second or two of a pause."""

    def seconds(lane: float) -> float:
        service = replace(SERVICE, lane=ObservedLane(rate=lane, burst=lane))
        return play(Night(sizes=[1_000] * 300, service=service, workers=64, known_rate=lane, seed=seed)).seconds

    assert seconds(rate * more) <= seconds(rate) * 1.03 + 2.0
