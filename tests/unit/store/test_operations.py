"""What an operation leaves is found again by its ID, which names its kind; a day of monitoring is one part."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.runs import Operation, OperationKind
from proofsweep.queries.connection import opened
from proofsweep.results import open_results
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import is_complete, operation_of, probes_of
from proofsweep.store.parts import Results

from ...worlds.ended_runs import end_leg, plan_of_run
from ..ended_operations import leave_operation, operation_named
from ..passes_of_monitoring import leave_pass, leave_passes
from ..scripted_service import NOW

PASS = datetime(2026, 11, 20, 23, 50, tzinfo=UTC)
FIRST, SECOND = (operation_named(f"20261120T0{hour}0000Z_000aa") for hour in (1, 2))


def test_an_operation_is_found_by_its_plan(results: Results) -> None:
    """It ends with its receipt; no other text is read as one's ID."""
    store = results.store
    results.write_plan(FIRST)
    leave_operation(results, SECOND)

    known = [FIRST.operation_id, SECOND.operation_id]
    assert list(results.log.runs().operations) == known
    assert [operation_of(store, each) for each in (*known, "../../etc/passwd")] == [FIRST, SECOND, None]
    assert [is_complete(results, each) for each in known] == [False, True]
    with pytest.raises(NameTaken):
        results.write_plan(replace(FIRST, environment="other"))


@pytest.mark.parametrize("kind", OperationKind)
def test_the_kind_is_known_by_the_id(results: Results, kind: OperationKind) -> None:
    """So who lists the runs of catalogs opens no operation, and takes none for a run."""
    plan = plan_of_run("20261120T010000Z_000aa")
    end_leg(results, plan, [])
    leave_operation(results, Operation.named(kind, "ab12cd", "beta", "https://partner.example/v1", NOW))

    runs = results.log.runs()
    (operation_id,) = runs.operations

    assert layout.kind_of(operation_id) == kind
    assert list(runs.records) == [plan.run_id]
    with pytest.raises(ResultsError, match="There is no run"):
        results.plan(operation_id)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"started_at": 1}'])
def test_damage_is_one_line(results: Results, content: bytes) -> None:
    results.store.create(f"_runs/{FIRST.operation_id}/plan.json", content)

    with pytest.raises(ResultsError, match=rf"_runs/{FIRST.operation_id}.* is damaged"):
        operation_of(results.store, FIRST.operation_id)


def test_a_day_of_an_environment_is_one_part(results: Results) -> None:
    """Two environments do not wait for each other; the view and Python show each probe once."""
    beta, other = leave_passes(results, PASS, 4), leave_passes(results, PASS + timedelta(days=1), 2, "other")

    with opened(results, "beta") as store:
        view = store.execute("SELECT operation_id, call FROM probes").fetchall()
    python = open_results(results.store.url).table("probes", columns=["operation_id"])["operation_id"].to_pylist()

    assert len([*results.all_parts("probes")]) == 3
    assert sorted(view) == sorted((each, call) for each in beta for call in ("health", "usage"))
    assert sorted(python) == sorted(2 * [*beta, *other])


def test_passes_that_end_in_the_same_moment_both_keep_their_rows(results: Results) -> None:
    """The second one has read the part before the first one wrote it."""
    other = leave_pass(results, "20261120T235000Z_000bb")
    [name] = results.all_parts("probes")
    late = [results.store.read(name) or b""]
    results.store.delete(name)

    own = leave_pass(results, "20261120T235000Z_000aa", rest=lambda _: late and results.store.replace(name, late.pop()))

    found = results.table("probes", [name])["operation_id"].to_pylist()
    assert sorted(found) == sorted(2 * [own, other])


def test_a_pass_keeps_the_rows_of_one_that_no_listing_shows_yet(results: Results) -> None:
    """The part of the day is asked for by its name; so is what monitoring decides by."""

    class LaggingStore(FolderStore):
        def names(self, _folder: str) -> list[str]:
            return []

    lagging, rests = Results(LaggingStore(Path(results.store.url))), [None] * 4  # it looks no more often
    begins = [f"20261120T235{minute}00Z_000aa" for minute in (0, 5)]
    passes = [leave_pass(lagging, began, rest=lambda _: rests.pop()) for began in begins]

    found = results.table("probes", results.all_parts("probes"))["operation_id"].to_pylist()
    assert sorted(found) == sorted(2 * passes)
    assert probes_of(lagging, "beta", ["call"], [PASS.date()]).num_rows == 4


def test_a_damaged_part_is_an_error_and_is_not_replaced(results: Results) -> None:
    """A person decides what becomes of it."""
    leave_passes(results, PASS, 1)
    [name] = results.all_parts("probes")
    results.store.replace(name, b"PAR1")

    with pytest.raises(ResultsError, match="damaged"):
        leave_passes(results, PASS, 1)

    assert results.store.read(name) == b"PAR1"
