"""A slice whose process was lost is done again, but not what that process had written down."""

from dataclasses import replace

from proofsweep.domain.runs import Slice
from proofsweep.domain.worker_slices import GrantedSlice
from proofsweep.usecases.leg.begun_slices import BegunSlice, begin_slice

from ..conftest import LegBuilder
from ..left_behind import verdict, write_journal, write_part

FIRST, SECOND = GrantedSlice(piece=Slice(0, 0, 3)), GrantedSlice(piece=Slice(1, 0, 3))
AGAIN = replace(SECOND, attempt=1)


def test_a_slice_that_nobody_has_begun_has_no_rows(new_leg: LegBuilder) -> None:
    """Whatever the journal holds of other slices. No part and no segment is read."""
    plan = new_leg.plan(6, shard_items=3)
    write_journal(new_leg.results, plan, 1, [3, 4])

    assert begin_slice(new_leg.leg(plan), FIRST) == BegunSlice()


def test_rows_of_the_journal_are_taken_over(new_leg: LegBuilder) -> None:
    """Each once, of all processes; those of other slices are not read."""
    plan = new_leg.plan(6, shard_items=3)
    lost, leg = new_leg.leg(plan), new_leg.leg(plan)
    begin_slice(lost, SECOND)
    write_journal(new_leg.results, plan, 1, [0, 3])
    leg.journal.writer = "another"
    leg.journal.add(verdict(plan, 1, 3, detail="again"), [])
    leg.journal.add(verdict(plan, 1, 5), [])
    leg.journal.flush()

    begun = begin_slice(leg, AGAIN)

    assert not begun.is_published
    assert sorted(row["manifest_row"] for row in begun.finished) == [3, 5]


def test_a_shard_that_was_published_is_done(new_leg: LegBuilder) -> None:
    """Its process was lost between the part and the end of the task."""
    plan = new_leg.plan(6, shard_items=3)
    begin_slice(new_leg.leg(plan), SECOND)
    write_part(new_leg.results, plan, 1, 1, [3, 4, 5])

    assert begin_slice(new_leg.leg(plan), AGAIN).is_published


def test_a_part_of_an_earlier_leg_does_not_count(new_leg: LegBuilder) -> None:
    """What remains after it is this leg's work."""
    plan = new_leg.plan(6, shard_items=3)
    write_part(new_leg.results, plan, 1, 1, [3])
    leg = new_leg.leg(plan, 2)

    assert begin_slice(leg, SECOND) == BegunSlice()
    assert begin_slice(leg, AGAIN) == BegunSlice([])


def test_an_attempt_that_was_begun_before_is_lost(new_leg: LegBuilder) -> None:
    """Dask runs its task again; whether calls are left for it is for the process that holds the leg to say."""
    plan = new_leg.plan(6, shard_items=3)
    begin_slice(new_leg.leg(plan), SECOND)

    assert begin_slice(new_leg.leg(plan), SECOND) == BegunSlice(lost_by="w")
    assert begin_slice(new_leg.leg(plan), AGAIN).lost_by is None


def test_journals_of_processes_that_never_had_the_slice_are_not_read(new_leg: LegBuilder) -> None:
    """There may be millions of rows in them."""
    plan = new_leg.plan(6, shard_items=3)
    write_journal(new_leg.results, plan, 1, [3])
    leg = new_leg.leg(plan)
    leg.journal.writer = "another"
    begin_slice(leg, SECOND)

    assert begin_slice(leg, AGAIN) == BegunSlice([])
