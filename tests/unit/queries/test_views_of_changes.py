"""The view `changes`: what each run found otherwise than the runs before, and why."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from proofsweep.audit.prune import Keep, find_prunable, prune
from proofsweep.domain.items import Row
from proofsweep.operations.erase import Erasure
from proofsweep.queries.connection import opened
from proofsweep.queries.tables import script_of
from proofsweep.queries.views import views
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, THURSDAY, TUESDAY, WEDNESDAY, night
from ..ended_operations import leave_operation, operation_named

FRIDAY, SATURDAY = ("20261120T020000Z_000aaaaaa", "20261121T020000Z_000aaaaaa")


def changes(results: Results, run_id: str) -> list[tuple[object, ...]]:
    """Return what changed in a run: item, kind of change, cause, and both outcomes."""
    with opened(results, "beta") as store:
        columns = "item_id, change, cause, before_outcome, now_outcome"
        query = f"SELECT {columns} FROM changes WHERE run_id = '{run_id}' ORDER BY item_id"  # noqa: S608 - our own text
        return store.connection.execute(query).fetchall()


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
    (
        ACCEPTED | {"sidecar_sha256": "1"},
        REJECTED | {"sidecar_sha256": "2"},
        ("broken", "sidecar_changed"),
    ),
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


def test_a_change_has_a_cause_that_the_tables_know(results: Results) -> None:
    """What did not change is not listed."""
    night(results, MONDAY, {f"{number:02}": before for number, (before, _, _) in enumerate(CASES)})
    night(results, TUESDAY, {f"{number:02}": now for number, (_, now, _) in enumerate(CASES)})

    found = {str(item): seen for item, *seen in (row[:3] for row in changes(results, TUESDAY))}

    assert found == {f"{number:02}": list(seen) for number, (_, _, seen) in enumerate(CASES) if seen is not None}


def test_another_deployment_of_the_service_is_a_cause(results: Results) -> None:
    """Only if both are known, and nothing of the file changed."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED}, leg_cells={"service_commit": "one"})
    rows = {"a": REJECTED, "b": REJECTED | {"audio_sha256": "other"}}
    night(results, TUESDAY, rows, leg_cells={"service_commit": "two"})

    assert [row[:3] for row in changes(results, TUESDAY)] == [
        ("a", "broken", "service_deployment_changed"),
        ("b", "broken", "audio_changed"),
    ]


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


@pytest.mark.parametrize(
    "otherwise",
    [
        {"remaining": 1},
        {"skipped": 1},
        {"catalog_kind": "ingest"},
        {"catalog": "/c/another.csv"},
    ],
)
def test_what_merely_remains_is_not_gone(results: Results, otherwise: dict[str, object]) -> None:
    """A stopped run, one of the due rows, a pass over a folder and another catalog say nothing of the other items."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED})
    night(results, TUESDAY, {"a": REJECTED}, **otherwise)  # type: ignore[arg-type]  # cells of the plan

    assert changes(results, TUESDAY) == [("a", "broken", None, "accepted", "rejected")]


def test_an_item_that_went_while_runs_were_stopped_is_gone_once(results: Results) -> None:
    """It is told by the next run that left nothing out, and not again."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED})
    night(results, TUESDAY, {"c": ACCEPTED}, remaining=1)
    night(results, WEDNESDAY, {"a": ACCEPTED})
    night(results, THURSDAY, {"a": ACCEPTED})

    assert [row[:2] for row in changes(results, WEDNESDAY)] == [("b", "gone"), ("c", "gone")]
    assert changes(results, THURSDAY) == []


def test_a_rerun_of_some_rows_is_compared_with_the_night(results: Results) -> None:
    """Also if it is another catalog, and though no whole run of that one went before."""
    night(results, MONDAY, {"a": REJECTED, "b": ACCEPTED})
    night(results, TUESDAY, {"a": ACCEPTED}, catalog="/c/rejected.csv")

    assert changes(results, TUESDAY) == [("a", "fixed", None, "rejected", "accepted")]


def test_environments_are_not_compared(results: Results) -> None:
    """An item of the sandbox is not an item of production."""
    night(results, MONDAY, {"a": ACCEPTED}, environment="production")
    night(results, TUESDAY, {"a": REJECTED})

    assert changes(results, TUESDAY) == [("a", "new", "first_seen", None, "rejected")]


def test_the_same_item_twice_in_a_run_is_one_change(results: Results) -> None:
    """A catalog may list a file twice."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED})
    night(results, TUESDAY, {"a": REJECTED, "b": REJECTED | {"item_id": "a"}})

    assert [row[:2] for row in changes(results, TUESDAY)] == [("a", "broken"), ("b", "gone")]


UNREGISTERED: Row = REJECTED | {"verdict": "unregistered", "reason": "unregistered"}


def test_a_proof_that_was_erased_by_us_is_a_cause(results: Results) -> None:
    """Only of a later `unregistered`, of the same audio, in the same environment; a failed erasure erased nothing."""
    before = {item: ACCEPTED | {"proof_id": f"proof of {item}"} for item in "abcdef"}
    now = dict.fromkeys("abcdef", UNREGISTERED) | {"b": REJECTED, "c": UNREGISTERED | {"audio_sha256": "other"}}
    night(results, MONDAY, before)
    erased = [_erased(item, TUESDAY) for item in "abc"]
    rows = [*erased, _erased("d", TUESDAY, None), _erased("e", THURSDAY)]
    leave_operation(results, operation_named(TUESDAY, "erasure"), rows={"erasures": rows})
    elsewhere = operation_named(THURSDAY, "erasure", environment="production")
    leave_operation(results, elsewhere, rows={"erasures": [_erased("f", TUESDAY)]})
    night(results, WEDNESDAY, now)

    assert [(item, cause) for item, _, cause, *_ in changes(results, WEDNESDAY)] == [
        ("a", "erased_by_us"),
        ("b", None),
        ("c", "audio_changed"),
        ("d", None),
        ("e", None),
        ("f", None),
    ]


def test_only_the_proof_of_the_newest_acceptance_counts_as_erased(results: Results) -> None:
    """An older one may have been erased in good order, when the file was issued again."""
    for run_id, proof in ((MONDAY, "proof of a"), (TUESDAY, "a newer proof")):
        night(results, run_id, {"a": ACCEPTED | {"proof_id": proof}})
    leave_operation(results, operation_named(TUESDAY, "erasure"), rows={"erasures": [_erased("a", TUESDAY)]})
    night(results, WEDNESDAY, {"a": UNREGISTERED})
    night(results, THURSDAY, {"a": ACCEPTED | {"proof_id": "a newer proof"}})

    assert [(item, cause) for item, _, cause, *_ in changes(results, WEDNESDAY)] == [("a", None)]


def _erased(item: str, when: str, outcome: str | None = "erased") -> Row:
    at = operation_named(when).started_at
    return Erasure(proof_id=f"proof of {item}", asked_at=at, answered_at=at, outcome=outcome).row()


def test_what_remains_after_a_pruning_is_not_told_as_new(results: Results) -> None:
    """The rows that it would be compared with are gone; what came since is new, and another catalog's files are."""
    for run_id in (MONDAY, TUESDAY, WEDNESDAY):
        night(results, run_id, {"a": ACCEPTED, "b": REJECTED}, is_noted=True)
    night(results, THURSDAY, {"a": ACCEPTED, "b": REJECTED, "c": ACCEPTED}, is_noted=True)
    night(results, FRIDAY, {"d": ACCEPTED}, is_noted=True, catalog="/c/another.csv")
    night(results, SATURDAY, {"a": ACCEPTED, "b": REJECTED, "c": ACCEPTED, "e": REJECTED}, is_noted=True)
    now = datetime(2026, 11, 23, 2, tzinfo=UTC)
    prune(results, find_prunable(results, 5, Keep.LATEST, now), lambda: now)

    for _ in range(2):
        with opened(results) as store:
            found = store.connection.execute("SELECT run_id, item_id, change FROM changes ORDER BY ALL").fetchall()
            script = script_of(results, ["beta"], views())
        with duckdb.connect() as plain:
            plain.execute(script)
            assert plain.execute("SELECT run_id, item_id, change FROM changes ORDER BY ALL").fetchall() == found
        assert found == [(FRIDAY, "d", "new"), (SATURDAY, "e", "new")]
        shutil.rmtree(Path(results.store.url, "_snapshot"), ignore_errors=True)


def test_a_night_that_leaves_rows_out_finds_what_is_gone_and_what_has_moved(results: Results) -> None:
    """In that night, by what its catalog lists; the next whole night does not find it again."""
    sha = {"audio_sha256": "sha of c"}
    night(results, MONDAY, dict.fromkeys("abcd", ACCEPTED))
    night(results, TUESDAY, {"new c": ACCEPTED | sha}, skipped=2, listed=["a", "d", "new c"])
    night(results, WEDNESDAY, {"d": ACCEPTED}, skipped=2, listed=["a", "d", "new c"])
    night(results, THURSDAY, {"a": ACCEPTED, "d": ACCEPTED, "new c": ACCEPTED | sha})

    assert changes(results, TUESDAY) == [("b", "gone", "gone", "accepted", None), MOVED]
    assert changes(results, WEDNESDAY) == []
    assert changes(results, THURSDAY) == []


MOVED = ("new c", "changed", "moved", "accepted", "accepted")


def test_what_is_gone_before_any_whole_night_is_found_too(results: Results) -> None:
    """The first nights were stopped, or left rows out; and what comes back is new."""
    night(results, MONDAY, {"a": ACCEPTED, "b": REJECTED}, remains="cd")
    night(results, TUESDAY, {"c": ACCEPTED}, skipped=2, listed="acd")
    night(results, WEDNESDAY, {"d": ACCEPTED, "b": REJECTED}, skipped=2, listed="abcd")
    night(results, THURSDAY, dict.fromkeys("abcd", ACCEPTED))

    assert changes(results, TUESDAY) == [
        ("b", "gone", "gone", "rejected", None),
        ("c", "new", "first_seen", None, "accepted"),
    ]
    assert [change[:3] for change in changes(results, THURSDAY)] == [("b", "fixed", None)]
