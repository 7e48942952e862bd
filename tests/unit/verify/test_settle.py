"""A leg ends as parts, a receipt and a row in `runs`; if that breaks off anywhere, the next process does it."""

from pathlib import Path

import pytest

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.journal import Segments
from proofsweep.store.parts import Results
from proofsweep.verify.attempt import settle_last_leg
from proofsweep.verify.commit import LegEnd, count_leg, publish_exchanges, settle_leg

from ...worlds.ended_runs import plan_of_run
from ..conftest import LegBuilder
from ..left_behind import BreakingStore, let_holder_die, rows_of, verdict, write_journal, write_part
from ..scripted_service import NOW

COMPLETE = LegEnd(leg=1, ended_by=EndedBy.COMPLETE)
WRITES = 8
"""Of the killed leg below: three verdicts parts, one of exchanges, the receipt, the row in `runs`, two deletions."""
Told = tuple[int | None, str, int | None]
SAMPLE = plan_of_run("20261120T120000Z_000aa", items=10)


@pytest.fixture
def plan(new_leg: LegBuilder) -> Plan:
    """A run of five items in three shards, whose first leg was taken."""
    plan = new_leg.plan(5, shard_items=2)
    new_leg.legs(plan).take(1)
    return plan


def segments(results: Results, plan: Plan) -> Segments:
    return Segments(results, plan.run_id, 1)


def parts_by_shard(results: Results, plan: Plan, leg: int) -> dict[int, int]:
    named = [(layout.shard_and_leg_of(name), name) for name in results.parts_of("verdicts", plan)]
    return {shard: results.part(name).rows for (shard, of_leg), name in named if of_leg == leg}


def test_what_is_in_the_journal_alone_becomes_parts(results: Results, plan: Plan, new_leg: LegBuilder) -> None:
    """A shard that was published has its rows in the journal too; each row ends in one part, in manifest order."""
    write_part(results, plan, 1, 0, [0, 1])
    write_journal(results, plan, 1, [0, 1, 3, 2, 3])

    row = settle_leg(results, plan, COMPLETE, new_leg.legs(plan))

    assert rows_of(results, plan) == [0, 1, 2, 3]
    assert parts_by_shard(results, plan, 1) == {0: 2, 1: 2}
    assert (row["accepted"], row["remaining"], row["calls"]) == (4, 1, 5)


def publish_trail(results: Results, plan: Plan) -> list[int]:
    """Publish the exchanges of the first leg; give the number in each of its parts."""
    return [part.rows for part in publish_exchanges(results, plan, 1, segments(results, plan))]


def test_the_audit_trail_is_published_once(results: Results, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often, and whatever the portions were: a leg that comes back merges its segments anew."""
    monkeypatch.setattr("proofsweep.verify.commit._EXCHANGES_PER_PART", 2)
    for number in range(5):
        write_journal(results, plan, 1, [number], f"w{number}")
    first, again = publish_trail(results, plan), publish_trail(results, plan)
    segments(results, plan).delete()
    write_journal(results, plan, 1, [3, 5, 0, 1])

    late = publish_trail(results, plan)

    assert (first, again, late) == ([2, 2, 1], [2, 2, 1], [2, 2, 1, 1])
    assert sorted(map(str, rows_of(results, plan, "exchanges"))) == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize("writes", range(WRITES))
def test_a_settlement_that_breaks_off_is_done_by_the_next(
    results: Results, plan: Plan, new_leg: LegBuilder, tmp_path: Path, writes: int
) -> None:
    """After any of its writes: every row and exchange stands once, and the leg has one receipt and one row."""
    write_journal(results, plan, 1, [0, 2])
    let_holder_die(results, plan, 1)
    breaking = Results(BreakingStore(tmp_path / "results", writes))
    with pytest.raises(ResultsError, match="broke off"):
        settle_last_leg(breaking, plan, lambda: NOW)

    settle_last_leg(results, plan, lambda: NOW)

    (row,) = results.table("runs", results.parts_of("runs", plan)).to_pylist()
    receipt = new_leg.legs(plan).receipt(1)
    assert rows_of(results, plan) == rows_of(results, plan, "exchanges") == [0, 2]
    assert parts_by_shard(results, plan, 1) == {0: 1, 1: 1, 2: 0}
    assert (row["ended_by"], row["accepted"], row["calls"], row["remaining"]) == ("killed", 2, 2, 3)
    assert receipt is not None
    assert receipt["ended_by"] == "killed"


def test_a_killed_leg_cannot_publish_any_more(results: Results, plan: Plan, new_leg: LegBuilder) -> None:
    """Each part that it might still write is there already, without rows; a finished shard needs none."""
    write_part(results, plan, 2, 0, [0, 1])
    write_journal(results, plan, 1, [2])

    settle_leg(results, plan, LegEnd(leg=1, ended_by=EndedBy.KILLED), new_leg.legs(plan))

    assert parts_by_shard(results, plan, 1) == {1: 1, 2: 0}
    for shard in (1, 2):
        with pytest.raises(NameTaken):
            write_part(results, plan, 1, shard, [2 * shard])


def test_a_take_over_whose_names_are_taken_leaves_a_run_that_can_be_resumed(
    results: Results, plan: Plan, new_leg: LegBuilder, tmp_path: Path
) -> None:
    """One process published the journal and was killed; the leg came back and wrote more; the next one goes on."""
    write_journal(results, plan, 1, [0])
    let_holder_die(results, plan, 1)
    with pytest.raises(ResultsError):
        settle_last_leg(Results(BreakingStore(tmp_path / "results", 3)), plan, lambda: NOW)
    write_journal(results, plan, 1, [1, 2], "more")

    settle_last_leg(results, plan, lambda: NOW)

    receipt = new_leg.legs(plan).receipt(1) or {}
    assert rows_of(results, plan) == [0]
    assert sorted(map(str, rows_of(results, plan, "exchanges"))) == ["0", "1", "2"]
    assert (receipt["ended_by"], receipt["counts"]["remaining"]) == ("killed", 4)  # type: ignore[index]


def test_the_receipt_counts_duplicates(results: Results, plan: Plan, new_leg: LegBuilder) -> None:
    """The next forecast must not take their price for a row's."""
    rows = [verdict(plan, 1, 0), verdict(plan, 1, 1, answered_by_row=0)]
    results.create_part(layout.verdicts_name(plan.run_id, plan.run_date, 0, 1), "verdicts", rows)

    settle_leg(results, plan, COMPLETE, new_leg.legs(plan))

    receipt = new_leg.legs(plan).receipt(1)
    assert receipt is not None
    assert receipt["duplicates"] == 1


def test_a_run_without_remaining_rows_is_complete(results: Results, plan: Plan, new_leg: LegBuilder) -> None:
    """A stop that comes after the last row has stopped nothing."""
    write_journal(results, plan, 1, range(5))

    row = settle_leg(results, plan, LegEnd(leg=1, ended_by=EndedBy.CANCELLED), new_leg.legs(plan))

    assert (row["ended_by"], row["remaining"]) == ("complete", 0)


def count(results: Results, leg: int) -> Row:
    verdicts, exchanges = (
        [results.part(name) for name in results.parts_of(table, SAMPLE) if layout.leg_of(name) == leg]
        for table in ("verdicts", "exchanges")
    )
    return count_leg(results, SAMPLE, leg, verdicts, exchanges)[0]


def publish(results: Results, leg: int, *told: Told) -> None:
    """Write a leg's audit trail: row, call, status; each exchange in a part of its own."""
    for seq, (number, call, status) in enumerate(told):
        exchange = {"run_id": SAMPLE.run_id, "leg": leg, "manifest_row": number, "call": call, "status": status}
        exchange |= {"attempt": 1, "started_at": NOW, "elapsed_ms": 1.0, "bytes_sent": 0}
        exchange |= {"failure": "connection" if status is None else None}
        results.create_part(layout.exchanges_name(SAMPLE.run_id, SAMPLE.run_date, seq, leg), "exchanges", [exchange])


@pytest.mark.parametrize(
    ("had", "again"),
    [
        ([], 0),
        ([(0, "uploads", 200)], 2),
        ([(0, "uploads", 200), (0, "verify", 200), (1, "uploads", 201)], 4),
        ([(0, "uploads", 503), (0, "uploads", None), (0, "uploads", 429)], 0),
        ([(0, "slot", 204), (None, "usage", 200), (9, "uploads", 200)], 0),
    ],
)
def test_calls_are_made_again_for_what_an_earlier_leg_had_been_answered(
    results: Results, had: list[Told], again: int
) -> None:
    """Tries again of such a call too; not what had failed, what costs no call, or what belongs to no row."""
    publish(results, 1, *had)
    publish(results, 2, (0, "uploads", 500), (0, "uploads", 200), (0, "slot", 204), (0, "verify", 200))
    publish(results, 3, (1, "uploads", 200), (None, "usage", 200))

    legs = [count(results, leg) for leg in (1, 2, 3)]

    assert legs[0]["calls_again"] == 0
    assert sum(int(str(leg["calls_again"])) for leg in legs) == again
    assert [leg["calls"] for leg in legs[1:]] == [3, 2]
