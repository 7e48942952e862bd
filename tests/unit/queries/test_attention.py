"""What needs attention is counted by kind, and the first files are named."""

from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.queries.selected_rows import SelectedRows, attention_groups
from proofsweep.queries.status import NEED_ATTENTION, NamedFile, describe_run, named_files
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run

PLAN = plan_of_run("20261116T100000Z_a", 6, catalog_root="file:///c")


@pytest.fixture
def selected(tmp_path: Path) -> SelectedRows:
    """A run of six rows, five of which need attention."""
    results = Results(open_store(str(tmp_path)))
    kinds = [
        ("a", "rejected", "tampered", '{"supplier": "Nord"}'),
        ("b", "accepted", None, None),
        ("c", "failed", "timeout", '{"supplier": "Süd"}'),
        ("d", "rejected", "tampered", None),
        ("e", "rejected", "unreadable", '{"isrc": "1"}'),
        ("f", "rejected", "unreadable", '{"Supplier": "Nord"}'),
    ]
    rows = [
        answered(PLAN, row, item, outcome, reason=reason, tags=tags)
        for row, (item, outcome, reason, tags) in enumerate(kinds)
    ]
    end_leg(results, PLAN, rows)
    return SelectedRows(results=results, environment="beta", plan=PLAN, outcomes=NEED_ATTENTION)


def test_rows_are_counted_by_kind(selected: SelectedRows) -> None:
    """At most so many files of each kind are named; the kinds stand in the order of outcomes."""
    groups = attention_groups(selected, 1)

    assert [(each.outcome, each.reason, each.rows, each.files) for each in groups] == [
        ("rejected", "tampered", 2, ["/c/a"]),
        ("rejected", "unreadable", 2, ["/c/e"]),
        ("failed", "timeout", 1, ["/c/c"]),
    ]
    assert groups[2].what_to_do.startswith("verify again")


def test_rows_are_put_apart_by_a_tag(selected: SelectedRows) -> None:
    """Its name counts in any case. Rows without it come last."""
    groups = attention_groups(selected, 9, "SUPPLIER")

    assert [(each.value, each.reason, each.files) for each in groups] == [
        ("Nord", "tampered", ["/c/a"]),
        ("Nord", "unreadable", ["/c/f"]),
        ("Süd", "timeout", ["/c/c"]),
        (None, "tampered", ["/c/d"]),
        (None, "unreadable", ["/c/e"]),
    ]


def test_a_tag_that_no_row_has_is_refused(selected: SelectedRows) -> None:
    """A list of all files without it would read as if it was forgotten in the manifest."""
    with pytest.raises(UsageError, match=r"'suplier' \(did you mean supplier\?\); there are supplier, isrc"):
        attention_groups(selected, 9, "suplier")


def test_the_first_files_of_a_run_are_named_as_in_the_catalog(selected: SelectedRows) -> None:
    """Relative to its root, in its order, and ten at most; no part is read if all were accepted."""
    run = describe_run(selected.results, PLAN.run_id)
    assert named_files(selected.results, run)[:2] == [
        NamedFile("a", "rejected", "tampered"),
        NamedFile("c", "failed", "timeout"),
    ]
    assert len(named_files(selected.results, run)) == 5
    assert named_files(selected.results, replace(run, groups=())) == []


def test_files_that_no_pass_tries_again_are_a_kind_of_their_own(selected: SelectedRows) -> None:
    """A rejected file has its answer, whatever became of it later."""
    groups = attention_groups(selected, 9, given_up={"c", "d"})

    assert [(each.reason, each.is_given_up) for each in groups] == [
        ("tampered", False),
        ("unreadable", False),
        ("timeout", True),
    ]
    assert "no pass tries it again" in groups[2].what_to_do
