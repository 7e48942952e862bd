"""A planner learns which items have an answer, and how old it is."""

from pathlib import Path

import pytest

from proofsweep.store import known_rows as module
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.known_rows import HashedItems, newest_answers
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.leg.note_leg import note_leg

from ..ended_runs import answered, end_leg, plan_of_run

OLD, NEW = plan_of_run("20261101T120000Z_000aa", items=4), plan_of_run("20261120T120000Z_000aa", items=3)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store in which `a` was answered twice, `b` failed lately, `c` never had an answer, `d` only long ago."""
    results = Results(FolderStore(tmp_path))
    end_leg(results, OLD, [answered(OLD, row, name) for row, name in enumerate("abd")])
    note_leg(results, OLD)
    outcomes = {"a": "rejected", "b": "failed", "c": "ineligible"}
    end_leg(results, NEW, [answered(NEW, row, name, word) for row, (name, word) in enumerate(outcomes.items())])
    note_leg(results, NEW)
    return results


@pytest.mark.parametrize("few", [5_000, 2])
def test_the_newest_answers_of_some_items_are_given(
    results: Results, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed night does not hide the answer before it; few items are found as many are."""
    monkeypatch.setattr(module, "_FEW_ITEMS", few)

    rows = [row for table in newest_answers(results, "beta", iter(["c", "b", "x", "a"])) for row in table.to_pylist()]

    assert [(row["item_id"], row["outcome"], row["run_id"]) for row in rows] == [
        ("a", "rejected", NEW.run_id),
        ("b", "accepted", OLD.run_id),
    ]


def test_another_environment_has_no_answers_here(results: Results) -> None:
    """An answer of beta is none of production."""
    assert list(newest_answers(results, "production", ["a"])) == []


def test_a_set_of_items_holds_what_it_was_given() -> None:
    """Also nothing, and an item twice."""
    items = HashedItems(["b", "a", "b"])

    assert ("a" in items, "b" in items, "c" in items, len(items)) == (True, True, False, 3)
    assert "a" not in HashedItems([])
