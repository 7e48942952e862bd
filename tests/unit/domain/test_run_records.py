"""A record of a run says what remains, and which of two records knows more."""

from proofsweep.domain.run_records import LegRecord, RunRecord

from ..ended_runs import plan_of_run

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
