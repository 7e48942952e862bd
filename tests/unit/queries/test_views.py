"""Each view is one SQL file with its meaning on top; what it answers stands in the files beside this one."""

from datetime import UTC, datetime

import duckdb
import pytest

from proofsweep.domain.exchanges import Call
from proofsweep.queries.connection import answering, opened
from proofsweep.queries.tables import script_of
from proofsweep.queries.views import NAMES, views
from proofsweep.store import layout
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, THURSDAY, TUESDAY, WEDNESDAY, night
from ...worlds.ended_runs import answered, plan_of_run
from ...worlds.exchange_rows import exchange
from ..ended_operations import call_of, leave_operation, operation_named
from ..passes_of_monitoring import leave_pass

DAY = datetime(2026, 11, 16, tzinfo=UTC)

NEWEST_ROWS = """
    FROM store.newest
    QUALIFY row_number() OVER (
        PARTITION BY environment, item_id ORDER BY epoch DESC, finished_at DESC, run_id DESC
    ) = 1
"""
"""The newest row of each item, of any outcome."""


def test_each_view_says_what_it_is() -> None:
    """Its query does not begin with the comment."""
    assert [view.name for view in views()] == list(NAMES)
    assert all(view.meaning.endswith(".") and not view.query.startswith("--") for view in views())


@pytest.mark.parametrize("name", NAMES)
def test_a_view_can_be_made_with_those_alone_that_it_reads(results: Results, name: str) -> None:
    """What makes one view makes no other that it does not read."""
    night(results, MONDAY, {"a": ACCEPTED})

    with answering(results, "beta", name) as connection:
        connection.execute(f"FROM {name}").fetchall()
        made = "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
        there = {view for (view,) in connection.execute(made).fetchall()}

    assert name in there
    assert there < set(NAMES)


def test_a_failed_night_never_hides_an_answer(results: Results) -> None:
    """What was rejected still needs attention as that."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED, "c": INELIGIBLE, "d": FAILED, "e": REJECTED, "f": ACCEPTED})
    night(results, TUESDAY, {"a": FAILED, "b": FAILED, "c": ACCEPTED, "d": FAILED, "e": ACCEPTED, "f": INELIGIBLE})

    with opened(results) as store:

        def found(view: str) -> dict[str, str]:
            rows = store.connection.execute(f"SELECT item_id, outcome FROM {view}").fetchall()  # noqa: S608 - our own text
            assert len(rows) == len(dict(rows))
            return dict(rows)

        answers, rejects = map(found, ("latest_answer", "rejects"))

    assert answers == {"a": "accepted", "b": "rejected", "c": "accepted", "e": "accepted", "f": "accepted"}
    assert rejects == {"a": "failed", "b": "rejected", "d": "failed", "f": "ineligible"}


def test_the_snapshot_and_the_tables_give_the_same_newest_rows(results: Results) -> None:
    """Whether all legs are in it, some, or none, in one entry or in several."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED, "c": ACCEPTED})
    found = []
    for run_id, rows, is_noted in (
        (TUESDAY, {"a": FAILED, "b": ACCEPTED}, False),
        (WEDNESDAY, {"a": REJECTED, "d": FAILED}, True),
    ):
        night(results, run_id, rows, remaining=1, is_noted=is_noted)
        with opened(results) as store:
            query = f"SELECT item_id, run_id, outcome FROM ({NEWEST_ROWS}) ORDER BY item_id"  # noqa: S608 - our own text
            found.append(store.connection.execute(query).fetchall())

    assert found == [
        [("a", TUESDAY, "failed"), ("b", TUESDAY, "accepted"), ("c", MONDAY, "accepted")],
        [
            ("a", WEDNESDAY, "rejected"),
            ("b", TUESDAY, "accepted"),
            ("c", MONDAY, "accepted"),
            ("d", WEDNESDAY, "failed"),
        ],
    ]


def test_coverage_counts_the_answers_of_each_catalog(results: Results) -> None:
    """Rows that were not due count as files of the catalog."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED, "c": FAILED})
    night(results, TUESDAY, {"c": FAILED}, skipped=3, listed="abcd")

    with opened(results) as store:
        columns = "catalog, files, answered, accepted, rejected, newest_run_id"
        rows = store.connection.execute(f"SELECT {columns} FROM coverage").fetchall()  # noqa: S608 - our own text

    assert rows == [("/c/catalog.csv", 4, 2, 1, 1, TUESDAY)]


def test_rows_and_calls_of_a_leg_that_was_killed_are_seen(results: Results) -> None:
    """Its receipt and its row of `runs` come later: when the next leg settles it."""
    plan = plan_of_run(MONDAY, 2)
    results.write_plan(plan)
    Legs(results, plan.run_id).claim(1)
    results.create_part(
        layout.exchanges_name(plan.run_id, plan.run_date, 0, 1), "exchanges", [exchange(plan, 0, request_id="r-1")]
    )

    rows = [answered(plan, 0, "a")]
    results.create_part(layout.verdicts_name(plan.run_id, plan.run_date, 0, 1), "verdicts", rows)

    with opened(results) as store:
        for view in ("verdicts", "latest_answer", "catalog"):
            assert store.connection.execute(f"SELECT item_id FROM {view}").fetchall() == [("a",)]  # noqa: S608 - ours
        calls = store.connection.execute("SELECT request_id FROM exchanges").fetchall()

    assert calls == [("r-1",)]


def coverage(results: Results) -> list[tuple[object, ...]]:
    """Return files and answers of each catalog, as our views and as a plain DuckDB with the printed ones have them."""
    query = "SELECT catalog, files, answered, accepted, newest_run_id FROM coverage ORDER BY ALL"
    with opened(results) as store:
        found = store.connection.execute(query).fetchall()
        script = script_of(results, store.environments, views())
    with duckdb.connect() as plain:
        plain.execute(script)
        assert plain.execute(query).fetchall() == found
    return found


def test_coverage_is_of_the_files_that_are_listed_now(results: Results) -> None:
    """Two files went, and two came that were never sent: the run was stopped before them, or left them out."""
    catalog = "/c/catalog.csv"
    night(results, MONDAY, dict.fromkeys("abcd", ACCEPTED))
    night(results, TUESDAY, {"a": ACCEPTED}, remains="bef")

    assert coverage(results) == [(catalog, 4, 2, 2, TUESDAY)]

    night(results, WEDNESDAY, {"e": REJECTED}, skipped=1, listed="be")  # `b` was answered before `a` went
    assert coverage(results) == [(catalog, 2, 2, 1, WEDNESDAY)]

    night(results, THURSDAY, {"e": ACCEPTED, "f": FAILED})
    assert coverage(results) == [(catalog, 2, 1, 1, THURSDAY)]


def test_a_catalog_is_where_it_lies_or_its_name(results: Results) -> None:
    """However its location is written; a file that two catalogs list is answered in both, and counts once."""
    rows = {"a": ACCEPTED, "b": ACCEPTED}
    night(results, MONDAY, rows | {"gone": ACCEPTED}, catalog="e/../cat1", catalog_identity="/cat1")
    night(results, TUESDAY, rows, catalog="link", catalog_identity="/cat1")
    night(results, WEDNESDAY, rows | {"again": ACCEPTED | {"item_id": "a"}}, catalog="list.csv")

    assert coverage(results) == [("link", 2, 2, 2, TUESDAY), ("list.csv", 2, 2, 2, WEDNESDAY)]


def test_calls_of_operations_are_seen_beside_those_of_runs(results: Results) -> None:
    """In their environment."""
    night(results, MONDAY, {"a": ACCEPTED})
    inventory, elsewhere, monitoring = (
        operation_named("20261116T030000Z_000bb"),
        operation_named("20261116T040000Z_000bb", environment="production"),
        operation_named("20261117T030000Z_000cc", "monitoring"),
    )
    leave_operation(results, inventory, [call_of(inventory, "r-1"), call_of(inventory, "r-2", Call.HEALTH)])
    leave_operation(results, elsewhere, [call_of(elsewhere, "r-9")])
    probes = [call_of(monitoring, "r-3", Call.USAGE, 429), call_of(monitoring, "r-4", Call.HEALTH)]
    leave_pass(results, monitoring.operation_id, probes=probes)

    with opened(results) as store:
        calls = store.connection.execute("SELECT request_id, run_id FROM exchanges ORDER BY ALL").fetchall()
        probes = store.connection.execute("SELECT request_id FROM probes ORDER BY ALL").fetchall()

    assert calls == [("r-1", inventory.operation_id), ("r-2", inventory.operation_id)]
    assert probes == [("r-3",), ("r-4",)]


@pytest.mark.parametrize("is_noted", [True, False])
def test_an_answer_of_a_clock_that_was_ahead_is_newest_until_the_next_one(results: Results, *, is_noted: bool) -> None:
    """The next leg saw that one's receipt, so its epoch is later; the clocks decide within an epoch."""
    ahead, epoch = "20300101T020000Z_000aaaaaa", {"epoch": 1}
    night(results, ahead, {"a": ACCEPTED, "b": FAILED, "c": ACCEPTED}, is_noted=is_noted)
    night(results, MONDAY, {"a": REJECTED | epoch, "b": ACCEPTED | epoch}, is_noted=is_noted, leg_cells=epoch)
    night(results, TUESDAY, {"a": FAILED | epoch}, is_noted=is_noted, leg_cells=epoch)

    with opened(results) as store:
        found = [
            dict(store.connection.execute(f"SELECT item_id, run_id FROM {view}").fetchall())  # noqa: S608 - our own text
            for view in ("latest_answer", f"({NEWEST_ROWS})")
        ]
        script = script_of(results, ["beta"], views())
    with duckdb.connect() as plain:
        plain.execute(script)
        query = f"SELECT item_id, run_id FROM ({NEWEST_ROWS})"  # noqa: S608 - our own text
        found.append(dict(plain.execute(query).fetchall()))

    assert found == [{"a": MONDAY, "b": MONDAY, "c": ahead}, *[{"a": TUESDAY, "b": MONDAY, "c": ahead}] * 2]
