"""The view `changes`: what each run found otherwise than the runs before, and why."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from proofsweep.audit.prune import find_prunable, prune
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.queries.changes import CHANGES_IN_ORDER, COLUMNS, create_changed, run_changes
from proofsweep.queries.connection import answering, opened
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, THURSDAY, TUESDAY, WEDNESDAY, night

FRIDAY, SATURDAY = ("20261120T020000Z_000aaaaaa", "20261121T020000Z_000aaaaaa")
GRADE: Row = {"classification": "human", "grade_human": 0.9, "grade_rubric_version": "1"}
CASES: list[tuple[Row, Row, tuple[str, str | None] | None]] = [
    (ACCEPTED, ACCEPTED, None),
    (ACCEPTED, REJECTED, ("broken", None)),
    (REJECTED, ACCEPTED, ("fixed", None)),
    (ACCEPTED, REJECTED | {"audio_sha256": "other"}, ("broken", "audio_changed")),
    (ACCEPTED, ACCEPTED | {"audio_sha256": "other"}, ("changed", "audio_changed")),
    (ACCEPTED, ACCEPTED | {"audio_sha256": None}, None),
    (
        ACCEPTED | {"audio_version": "1"},
        INELIGIBLE | {"audio_sha256": None, "audio_version": "2"},
        ("broken", "audio_changed"),
    ),
    (ACCEPTED | {"sidecar_sha256": "1"}, REJECTED | {"sidecar_sha256": "2"}, ("broken", "sidecar_changed")),
    (ACCEPTED, ACCEPTED | {"sidecar": "/s", "sidecar_sha256": "2"}, ("changed", "sidecar_delivered")),
    (ACCEPTED | GRADE, ACCEPTED | GRADE | {"grade_human": 0.1}, ("changed", None)),
    (ACCEPTED | GRADE, ACCEPTED | GRADE | {"grade_rubric_version": "2"}, ("changed", "rubric_changed")),
    (ACCEPTED | GRADE, REJECTED | {"grade_rubric_version": "2"}, ("broken", None)),
    (ACCEPTED, ACCEPTED | {"relative_path": "elsewhere/a"}, ("changed", "moved")),
    (REJECTED, REJECTED | {"reason": "unreadable", "verdict": "unreadable"}, ("changed", None)),
    (ACCEPTED, FAILED | {"audio_sha256": "other"}, ("broken", "no_answer_now")),
    (ACCEPTED, INELIGIBLE | {"audio_sha256": None}, ("broken", "file_or_catalog_changed")),
    (FAILED, REJECTED, ("changed", "no_answer_before")),
]
# Each cell of two rows that the view compares, but for the sidecar: there its digest and that there is one.
ONE_CELL: list[Row] = [
    {"audio_sha256": "other"},
    {"audio_version": "2"},
    {"sidecar": "/s"},
    {"relative_path": "elsewhere"},
    {"relative_path": None, "audio": "/elsewhere"},
    {"outcome": "rejected"},
    {"verdict": "unheard"},
    {"reason": "unheard"},
    {"classification": "unheard"},
    {"grade_human": 0.1},
    {"grade_ai": 0.1},
    {"grade_unknown": 0.1},
    {"grade_risk_category": "unheard"},
    {"grade_rubric_version": "unheard"},
]


def changes(results: Results, run_id: str) -> list[tuple[object, ...]]:
    columns = "item_id, change, cause, before_outcome, now_outcome"
    query = f"SELECT {columns} FROM changes WHERE run_id = '{run_id}' ORDER BY item_id"  # noqa: S608 - our own text
    with opened(results, "beta", asked=query) as store:
        return store.execute(query).fetchall()


def test_a_change_has_a_cause_that_the_tables_know(results: Results) -> None:
    """What did not change is not listed."""
    night(results, MONDAY, {f"{number:02}": before for number, (before, _, _) in enumerate(CASES)})
    night(results, TUESDAY, {f"{number:02}": now for number, (_, now, _) in enumerate(CASES)})

    found = {str(item): seen for item, *seen in (row[:3] for row in changes(results, TUESDAY))}

    assert found == {f"{number:02}": list(seen) for number, (_, _, seen) in enumerate(CASES) if seen is not None}


def test_items_are_first_seen_gone_and_moved(results: Results) -> None:
    """The same audio under another ID is one row, with the outcome that it had."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED, "c": REJECTED})
    night(results, TUESDAY, {"a": ACCEPTED, "d": ACCEPTED | {"audio_sha256": "sha of c"}, "e": REJECTED})

    assert changes(results, MONDAY) == [
        ("a", "new", "first_seen", None, "accepted"),
        ("b", "new", "first_seen", None, "accepted"),
        ("c", "new", "first_seen", None, "rejected"),
    ]
    assert changes(results, TUESDAY) == [
        ("b", "gone", "gone", "accepted", None),
        ("d", "fixed", "moved", "rejected", "accepted"),
        ("e", "new", "first_seen", None, "rejected"),
    ]


def test_what_lies_in_a_folder_that_cannot_be_read_is_not_gone(results: Results) -> None:
    """Nobody knows which files are in it that night; what lies elsewhere is gone as ever."""
    night(results, MONDAY, {"closed/a": REJECTED, "open/b": ACCEPTED})
    night(results, TUESDAY, {"closed/": INELIGIBLE | {"reason": "unreadable_folder"}})

    assert changes(results, TUESDAY) == [
        ("closed/", "new", "first_seen", None, "ineligible"),
        ("open/b", "gone", "gone", "accepted", None),
    ]


def test_what_remains_after_a_pruning_is_not_told_as_new(results: Results) -> None:
    """The rows that it would be compared with are gone; what came since is new, and another catalog's files are."""
    for run_id in (MONDAY, TUESDAY, WEDNESDAY):
        night(results, run_id, {"a": ACCEPTED, "b": REJECTED}, is_noted=True)
    night(results, THURSDAY, {"a": ACCEPTED, "b": REJECTED, "c": ACCEPTED}, is_noted=True)
    night(results, FRIDAY, {"d": ACCEPTED}, is_noted=True, catalog="/c/another.csv")
    night(results, SATURDAY, {"a": ACCEPTED, "b": REJECTED, "c": ACCEPTED, "e": REJECTED}, is_noted=True)
    now = datetime(2026, 11, 23, 2, tzinfo=UTC)
    prune(results, find_prunable(results, 5, now))

    for _ in range(2):
        with opened(results) as store:
            found = store.execute("SELECT run_id, item_id, change FROM changes ORDER BY ALL").fetchall()
        assert found == [(FRIDAY, "d", "new"), (SATURDAY, "e", "new")]
        shutil.rmtree(Path(results.store.url, "_latest"), ignore_errors=True)


def test_a_run_that_was_pruned_calls_no_file_gone(results: Results) -> None:
    """Its rows went since others are newer; it is still known, as it says what its catalog lists."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED, "gone": ACCEPTED}, is_noted=True)
    plan = night(results, TUESDAY, {"a": ACCEPTED, "b": REJECTED}, is_noted=True)
    night(results, FRIDAY, {"a": ACCEPTED, "b": REJECTED}, is_noted=True, catalog="/c/another.csv")
    assert list(changes_of(results, plan)) == ["gone"]
    prune(results, find_prunable(results, 1, datetime(2026, 11, 19, tzinfo=UTC)))

    assert results.parts_of("verdicts", plan) == []
    assert changes(results, TUESDAY) == []
    assert changes_of(results, plan) == {}


def changes_of(results: Results, now: Plan) -> dict[str | None, tuple[str, str | None]]:
    with run_changes(results, now) as found:
        rows = list(found.rows())
        assert {tuple(row) for row in rows} <= {COLUMNS}
        assert sum(count for _, _, count in found.counts()) == len(rows)
        order = [CHANGES_IN_ORDER.index(str(row["change"])) for row in rows]
        assert order == sorted(order)
        return {row["item_id"]: (str(row["change"]), row["cause"]) for row in rows}


def test_a_night_without_an_answer_hides_no_earlier_one(results: Results) -> None:
    """Also if the failed night was whole; each such night says that there is no answer."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED, "c": ACCEPTED})
    night(results, TUESDAY, {"a": FAILED, "b": FAILED, "c": FAILED})
    now = night(results, WEDNESDAY, {"a": ACCEPTED, "b": REJECTED, "c": FAILED})

    assert changes_of(results, now) == {"b": ("broken", None), "c": ("broken", "no_answer_now")}


def test_grades_of_two_rubrics_are_not_compared(results: Results) -> None:
    """They are report-only; that the rubric changed is told, and the file is as before."""
    night(results, MONDAY, {"a": ACCEPTED | GRADE, "b": ACCEPTED | GRADE, "gone": ACCEPTED})
    other = GRADE | {"grade_human": 0.1}
    now = night(results, TUESDAY, {"a": ACCEPTED | other, "b": ACCEPTED | other | {"grade_rubric_version": "r2"}})

    with run_changes(results, now) as found:
        assert found.counts() == [("changed", None, 1), ("gone", "gone", 1)]
        assert found.as_before() == 1


def test_at_most_so_many_files_of_each_kind_are_given(results: Results) -> None:
    """The counts are of all; the same file twice in a catalog is one item."""
    night(results, MONDAY, {"x": ACCEPTED})
    twice = {"x": ACCEPTED, "x again": ACCEPTED | {"item_id": "x", "relative_path": "x", "audio_sha256": "sha of x"}}
    now = night(results, TUESDAY, twice | {f"n{number}": ACCEPTED for number in range(4)})

    with run_changes(results, now) as found:
        assert (found.counts(), found.as_before()) == ([("new", "first_seen", 4)], 1)
        assert [row["item_id"] for row in found.rows(2)] == ["n0", "n1"]


def test_each_cell_that_is_compared_is_in_the_digest(results: Results) -> None:
    """An item that differs in one of them alone is read."""
    items = [f"item {number}" for number in range(len(ONE_CELL))]
    before = dict.fromkeys(items, ACCEPTED)
    before["item 1"] = ACCEPTED | {"audio_sha256": None, "audio_version": "1"}  # versions count without a digest
    night(results, MONDAY, before)
    night(results, TUESDAY, {item: before[item] | cell for item, cell in zip(items, ONE_CELL, strict=True)})

    with opened(results, "all") as store:
        changed = store.execute("SELECT item_id FROM changes WHERE change <> 'new' ORDER BY ALL").fetchall()

    assert changed == [(item,) for item in sorted(items)]


def test_many_catalogs_are_compared_within_little_memory(results: Results) -> None:
    """In one query: one for each needs its own memory, and looks through the whole store."""
    newest = [f"20261117T02{number:02}00Z_000aaaaaa" for number in range(20)]
    for run_id in newest:
        catalog = f"/c/{run_id[11:13]}.csv"
        night(results, run_id.replace("20261117", "20261116"), {f"a of {catalog}": ACCEPTED}, catalog=catalog)
        night(results, run_id, {f"a of {catalog}": REJECTED}, catalog=catalog)

    with answering(results, ["beta"], "changes") as store:
        store.execute("SET memory_limit = '100MB'; SET threads = 2")
        create_changed(store, newest)
        found = store.execute("SELECT change, count(*), count(DISTINCT run_id) FROM changed GROUP BY ALL").fetchall()

    assert found == [("broken", 20, 20)]
