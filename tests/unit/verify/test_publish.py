"""Each row and each exchange of a journal ends in one part, whoever publishes it and however often."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from proofsweep.domain.runs import Plan
from proofsweep.store.journal import Segments
from proofsweep.store.parts import Results
from proofsweep.verify.commit import publish_exchanges, publish_rows

from ..conftest import LegBuilder
from ..left_behind import BreakingStore, rows_of, write_journal, write_part


@pytest.fixture
def plan(new_leg: LegBuilder) -> Plan:
    """A run of six items in three shards."""
    return new_leg.plan(6, shard_items=2)


def publish(results: Results, plan: Plan, *, keeps_out: bool = False) -> list[int]:
    """Publish the rows of the first leg; give the rows in each of its parts."""
    published = publish_rows(results, plan, 1, Segments(results, plan.run_id, 1), keeps_out=keeps_out)
    return [part.rows for part in published.of_leg(1)]


def publish_trail(results: Results, plan: Plan) -> list[int]:
    """Publish the exchanges of the first leg; give the number in each of its parts."""
    return [part.rows for part in publish_exchanges(results, plan, 1, Segments(results, plan.run_id, 1))]


def test_a_name_that_is_taken_leaves_its_rows_remaining(results: Results, plan: Plan) -> None:
    """Another process took the leg for dead and published what it found; what came later is verified by another leg."""
    write_part(results, plan, 1, 0, [0])
    write_part(results, plan, 1, 1, [])
    write_journal(results, plan, 1, [0, 1, 2, 4])

    published = publish_rows(results, plan, 1, Segments(results, plan.run_id, 1), keeps_out=False)

    assert [part.rows for part in published.of_leg(1)] == [1, 0, 1]
    assert published.remaining == 4
    assert rows_of(results, plan) == [0, 4]


def test_a_journal_that_vanishes_while_it_is_read_leaves_what_another_process_published(
    results: Results, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That one has settled the leg; this process only slept, and goes on in the middle of its own settlement."""
    write_journal(results, plan, 1, [0])
    segments = Segments(results, plan.run_id, 1)
    whole_table = Segments.table

    def settled_by_another(self: Segments, name: str, columns: Sequence[str] | None = None) -> pa.Table | None:
        rows = whole_table(self, name, columns)
        if columns is not None:
            write_part(results, plan, 1, 0, [0])
            self.delete()
        return rows

    monkeypatch.setattr(Segments, "table", settled_by_another)

    published = publish_rows(results, plan, 1, segments, keeps_out=False)

    assert [part.rows for part in published.of_leg(1)] == [1]
    assert rows_of(results, plan) == [0]


def test_the_audit_trail_is_published_once(results: Results, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often, and whatever the portions were: a leg that comes back merges its segments anew."""
    monkeypatch.setattr("proofsweep.verify.commit._EXCHANGES_PER_PART", 2)
    for number in range(5):
        write_journal(results, plan, 1, [number], f"w{number}")
    first, again = publish_trail(results, plan), publish_trail(results, plan)
    Segments(results, plan.run_id, 1).delete()
    write_journal(results, plan, 1, [3, 5, 0, 1])

    late = publish_trail(results, plan)

    assert (first, again, late) == ([2, 2, 1], [2, 2, 1], [2, 2, 1, 1])
    assert sorted(map(str, rows_of(results, plan, "exchanges"))) == ["0", "1", "2", "3", "4", "5"]


def test_an_audit_trail_that_a_listing_does_not_show_is_not_doubled(results: Results, plan: Plan) -> None:
    """Its name is taken, and what stands there is left out."""
    write_journal(results, plan, 1, [0, 1])
    publish_trail(results, plan)
    write_journal(results, plan, 1, [2], "z")
    lagging = Results(NothingListed(Path(results.store.url)))

    parts = publish_exchanges(lagging, plan, 1, Segments(results, plan.run_id, 1))

    assert [part.rows for part in parts] == [2, 1]
    assert rows_of(results, plan, "exchanges") == [0, 1, 2]


class NothingListed(BreakingStore):
    """A store whose listings show nothing."""

    def names(self, folder: str) -> list[str]:
        """Lag behind."""
        del folder
        return []
