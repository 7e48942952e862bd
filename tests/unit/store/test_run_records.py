"""A record of a run says what remains, and which of two records knows more."""

from datetime import UTC, datetime

import pytest

from proofsweep.store.run_records import LegRecord, RunRecord, epoch_at

from ...worlds.ended_runs import plan_of_run

PLAN = plan_of_run("20261120T120000Z_000aa", items=9)
ENDED = LegRecord(leg=1, receipt={"counts": {"remaining": 4}})


def test_what_remains_is_what_the_last_leg_left() -> None:
    """Without a leg, or with a receipt that does not say, all rows count as remaining."""
    assert RunRecord(plan=PLAN).remaining == 9
    assert RunRecord(plan=PLAN, legs=[ENDED]).remaining == 4
    assert RunRecord(plan=PLAN, legs=[LegRecord(leg=1, receipt={"counts": None})]).remaining == 9


def test_the_record_with_more_legs_or_more_counts_is_newer() -> None:
    """The same record again is not."""
    planned, ended = RunRecord(plan=PLAN), RunRecord(plan=PLAN, legs=[ENDED])
    counted = RunRecord(plan=PLAN, legs=[LegRecord(leg=1, receipt=ENDED.receipt, groups=[])])

    assert ended.is_newer_than(planned)
    assert counted.is_newer_than(ended)
    assert planned.is_newer_than(None)
    assert not ended.is_newer_than(ended)
    assert not planned.is_newer_than(counted)


@pytest.mark.parametrize(
    ("legs", "epoch"),
    [
        ([], 0),
        ([(0, "2026-11-20T13:00:00+00:00")], 0),
        ([(0, "2030-01-01T00:00:00+00:00")], 1),  # its clock was ahead, or this one is behind
        ([(0, "2030-01-01T00:00:00+00:00"), (1, "2026-11-20T13:00:00+00:00")], 1),  # that was seen before
        ([(1, "2030-01-01T00:00:00+00:00"), (1, None)], 2),
        ([(3, "2026-11-20 13:00:00+00:00"), (0, "2030-01-01T00:00:00+00:00")], 3),
    ],
)
def test_a_leg_after_one_that_ended_later_is_of_a_later_epoch(legs: list[tuple[int, str | None]], epoch: int) -> None:
    """So the clocks decide only while none of them contradicts the order of the legs."""
    receipts = [{"counts": {"epoch": number, "finished_at": at}} for number, at in legs]
    run = RunRecord(plan=PLAN, legs=[LegRecord(leg=number, receipt=each) for number, each in enumerate(receipts, 1)])

    assert epoch_at([run], datetime(2026, 11, 21, tzinfo=UTC)) == epoch
    assert epoch_at([], datetime(2026, 11, 21, tzinfo=UTC)) == 0


def test_a_leg_after_a_run_that_was_planned_later_is_of_a_later_epoch() -> None:
    """The first leg of that run may have been killed: it has no receipt that says when it ended."""
    assert epoch_at([RunRecord(plan=PLAN)], datetime(2026, 11, 19, tzinfo=UTC)) == 1
