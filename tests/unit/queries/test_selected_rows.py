"""Rows are chosen of a run, or of each item the one that says how it stands now."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import WorkItem
from proofsweep.domain.runs import Plan
from proofsweep.queries.attention import AttentionGroup, attention_of
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.queries.status import NEED_ATTENTION
from proofsweep.store import schemas
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results
from proofsweep.store.rows import planned_row
from proofsweep.verify.history import note_leg

from ...worlds.ended_runs import answered, end_leg, plan_of_run

MONDAY, TUESDAY = plan_of_run("20261116T100000Z_a", 6), plan_of_run("20261117T100000Z_b", 6)
BAD = ("rejected", "failed", "ineligible")
PLAN = plan_of_run("20261116T100000Z_a", 6, catalog_root="file:///c")


@pytest.fixture
def results(tmp_path: Path) -> Results:
    store = Results(open_store(str(tmp_path)))
    monday = ("accepted", "rejected", "accepted", "failed", "rejected", "rejected")
    tuesday = ("accepted", "accepted", "failed", "ineligible", "failed", "ineligible")
    for plan, outcomes in ((MONDAY, monday), (TUESDAY, tuesday)):
        reasons = {"rejected": "tampered", "failed": "timeout", "ineligible": "empty"}
        rows = [
            answered(plan, row, item, outcome, reason=reasons.get(outcome), tags=f'{{"supplier": "{item}"}}')
            for row, (item, outcome) in enumerate(zip("abcdef", outcomes, strict=True))
        ]
        end_leg(store, plan, rows)
        note_leg(store, plan)
    return store


def items_of(selected: SelectedRows) -> list[tuple[str, object, object]]:
    rows = [row for _, row in selected.rows(["item_id", "outcome", "run_id"])]
    return sorted((str(row["item_id"]), row["outcome"], row["run_id"]) for row in rows)


def test_without_a_run_each_item_stands_as_its_newest_answer_says(results: Results) -> None:
    """`b` was accepted since; `e` stays rejected though its last attempt failed; of `c` and `f` the news is told."""
    selected = SelectedRows(results=results, environment="beta", outcomes=BAD)

    assert items_of(selected) == [
        ("c", "failed", TUESDAY.run_id),
        ("d", "ineligible", TUESDAY.run_id),
        ("e", "rejected", MONDAY.run_id),
        ("f", "ineligible", TUESDAY.run_id),
    ]


def test_a_night_that_the_base_lacks_is_read_too(results: Results) -> None:
    """Else its rows would be missing from the list in silence."""
    wednesday = plan_of_run("20261118T100000Z_c")
    end_leg(results, wednesday, [answered(wednesday, 0, "z", "rejected")])

    assert ("z", "rejected", wednesday.run_id) in items_of(
        SelectedRows(results=results, environment="beta", outcomes=BAD)
    )


def test_a_name_that_is_not_utf_8_comes_from_the_plan(results: Results) -> None:
    """The table has an escape in its place, which leads to no file."""
    plan: Plan = plan_of_run("20261119T100000Z_d")
    item = WorkItem(manifest_row=0, item_id="x", audio="/c/\udcff.wav", sidecar=None)
    planned = schemas.pa.Table.from_pylist([planned_row(item)], schema=schemas.ITEMS)
    results.write_items(plan.run_id, 0, planned)
    end_leg(results, plan, [answered(plan, 0, "x", "rejected", audio=r"/c/\xff.wav")])

    [(_, row)] = SelectedRows(results=results, environment="beta", plan=plan).rows(["item_id"])

    assert row["audio"] == "/c/\udcff.wav"


@pytest.fixture
def selected(tmp_path: Path) -> SelectedRows:
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


def attention_groups(
    selected: SelectedRows, tag: str | None = None, given_up: Collection[str] = ()
) -> Sequence[AttentionGroup]:
    return attention_of(selected, most_files=9, tag=tag, given_up=given_up).groups


def test_rows_are_put_apart_by_a_tag(selected: SelectedRows) -> None:
    """Its name counts in any case. Rows without it come last."""
    groups = attention_groups(selected, "SUPPLIER")

    assert [(each.value, each.reason, [file.file for file in each.files]) for each in groups] == [
        ("Nord", "tampered", ["/c/a"]),
        ("Nord", "unreadable", ["/c/f"]),
        ("Süd", "timeout", ["/c/c"]),
        (None, "tampered", ["/c/d"]),
        (None, "unreadable", ["/c/e"]),
    ]


def test_a_tag_that_no_row_has_is_refused(selected: SelectedRows) -> None:
    """A list of all files without it would read as if it was forgotten in the manifest."""
    with pytest.raises(UsageError, match=r"'suplier' \(did you mean Supplier\?\); there are Supplier, isrc"):
        attention_groups(selected, "suplier")


def test_files_that_no_pass_tries_again_are_a_kind_of_their_own(selected: SelectedRows) -> None:
    """A rejected file has its answer, whatever became of it later."""
    groups = attention_groups(selected, given_up={"c", "d"})

    assert [(each.reason, each.is_given_up) for each in groups] == [
        ("tampered", False),
        ("unreadable", False),
        ("timeout", True),
    ]
    assert "no pass tries it again" in groups[2].what_to_do


def test_without_its_planned_item_a_row_keeps_the_name_of_the_table(results: Results) -> None:
    """A pruning deletes the planned items."""
    plan = plan_of_run("20261119T100000Z_e")
    end_leg(results, plan, [answered(plan, 0, "x", "rejected", audio=r"/c/\xff.wav")])

    [(_, row)] = SelectedRows(results=results, environment="beta", plan=plan).rows(["item_id"])

    assert row["audio"] == r"/c/\xff.wav"
