"""Rows are chosen of a run, or of each item the one that says how it stands now."""

import json

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.domain.tags import key_of_value
from proofsweep.queries.selected_rows import SelectedRows, attention_groups, having
from proofsweep.store.parts import Results
from proofsweep.verify.history import record_leg

from ...worlds.ended_runs import answered, end_leg, plan_of_run

MONDAY, TUESDAY = plan_of_run("20261116T100000Z_a", 6), plan_of_run("20261117T100000Z_b", 6)
PLAN = plan_of_run("20261116T100000Z_a", 6, catalog_root="file:///c")


@pytest.fixture
def two_nights(results: Results) -> Results:
    monday = ("accepted", "rejected", "accepted", "failed", "rejected", "rejected")
    tuesday = ("accepted", "accepted", "failed", "ineligible", "failed", "ineligible")
    for plan, outcomes in ((MONDAY, monday), (TUESDAY, tuesday)):
        reasons = {"rejected": "tampered", "failed": "timeout", "ineligible": "empty"}
        rows = [
            answered(plan, row, item, outcome, reason=reasons.get(outcome), tags=f'{{"supplier": "{item}"}}')
            for row, (item, outcome) in enumerate(zip("abcdef", outcomes, strict=True))
        ]
        end_leg(results, plan, rows)
        record_leg(results, plan)
    return results


BAD = ("rejected", "failed", "ineligible")


def items_of(selected: SelectedRows) -> list[tuple[str, object, object]]:
    with selected.opened(having(BAD), has_rows=True) as files:
        rows = [row for _, row in files.rows_by(["item_id", "outcome", "run_id"])]
    return sorted((str(row["item_id"]), row["outcome"], row["run_id"]) for row in rows)


def test_without_a_run_each_item_stands_as_its_newest_answer_says(two_nights: Results) -> None:
    """`b` was accepted since; `e` stays rejected though its last attempt failed; of `c` and `f` the news is told."""
    assert items_of(SelectedRows.of(two_nights, None, "beta")) == [
        ("c", "failed", TUESDAY.run_id),
        ("d", "ineligible", TUESDAY.run_id),
        ("e", "rejected", MONDAY.run_id),
        ("f", "ineligible", TUESDAY.run_id),
    ]


def test_a_night_that_the_base_lacks_is_read_too(two_nights: Results) -> None:
    """Else its rows would be missing from the list in silence."""
    wednesday = plan_of_run("20261118T100000Z_c")
    end_leg(two_nights, wednesday, [answered(wednesday, 0, "z", "rejected")])

    assert ("z", "rejected", wednesday.run_id) in items_of(SelectedRows.of(two_nights, None, "beta"))


@pytest.fixture
def selected(results: Results) -> SelectedRows:
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
    return SelectedRows.of(results, PLAN.run_id, "")


def test_rows_are_put_apart_by_a_tag(selected: SelectedRows) -> None:
    """Its name counts in any case. Rows without it come last."""
    with selected.opened() as files:
        groups = attention_groups(files, most_files=9, by="SUPPLIER")

    assert [(each.value, each.reason, [file.file for file in each.files]) for each in groups] == [
        ("Nord", "tampered", ["/c/a"]),
        ("Nord", "unreadable", ["/c/f"]),
        ("Süd", "timeout", ["/c/c"]),
        (None, "tampered", ["/c/d"]),
        (None, "unreadable", ["/c/e"]),
    ]


SPELLINGS = [
    "Straße Süd",
    "STRASSE  SÜD",
    "su\u0308d",
    "SÜD ",
    "\u200esüd",
    "ΑΣ",
    "ας",
    "İz",
    "iz",
    "a\u3000b\t",
    "A B",
]


def test_spellings_of_one_supplier_are_one_heading(results: Results) -> None:
    """In SQL and in Python alike: else a list, a letter and a selection would count different files."""
    rows = [
        answered(PLAN, row, str(row), "rejected", reason="tampered", tags=json.dumps({"by": name}, ensure_ascii=False))
        for row, name in enumerate(SPELLINGS)
    ]
    end_leg(results, PLAN, rows)

    with SelectedRows.of(results, PLAN.run_id, "").opened() as files:
        groups = attention_groups(files, most_files=9, by="by")
        [value] = files.tag_values(["by"]).values()
        keys = {key for key, _, _ in files.counts_by(value)}

    assert sorted(group.rows for group in groups) == [2, 2, 2, 2, 3]
    assert len({group.value for group in groups}) == 5
    assert keys == {key_of_value(name) for name in SPELLINGS}


def test_the_heading_is_the_same_for_each_reason(results: Results) -> None:
    """A supplier is not two because its files lack different things."""
    rows = [
        answered(PLAN, row, str(row), "rejected", reason=reason, tags=json.dumps({"by": name}))
        for row, (name, reason) in enumerate([("Acme", "tampered"), ("ACME", "unreadable"), ("", "tampered")])
    ]
    end_leg(results, PLAN, rows)

    with SelectedRows.of(results, PLAN.run_id, "").opened() as files:
        groups = attention_groups(files, most_files=9, by="by")

    assert [(group.value, group.reason) for group in groups] == [
        ("ACME", "tampered"),
        ("ACME", "unreadable"),
        (None, "tampered"),
    ]


def test_a_tag_that_no_row_has_is_refused(selected: SelectedRows) -> None:
    """A list of all files without it would read as if it was forgotten in the manifest."""
    with (
        selected.opened() as files,
        pytest.raises(UsageError, match=r"'suplier' \(did you mean Supplier\?\); there are Supplier, isrc"),
    ):
        attention_groups(files, most_files=9, by="suplier")


@pytest.mark.parametrize(
    ("reason", "outcome", "tags", "is_told"),
    [
        ("tampered", "rejected", {}, True),
        ("a_verdict_of_tomorrow", "rejected", {}, True),
        ("too_large", "ineligible", {}, True),
        (None, "accepted", {}, False),
        ("source_changed", "failed", {}, False),
        ("timeout", "failed", {}, False),
        ("contradictory_answer", "rejected", {}, False),
        ("source_forbidden", "ineligible", {}, False),
        ("missing_audio", "ineligible", {}, False),
        ("missing_audio", "ineligible", {"message_id": "M1"}, True),
    ],
)
def test_a_supplier_hears_of_what_is_wrong_with_a_file_alone(
    results: Results, reason: str | None, outcome: str, tags: dict[str, str], *, is_told: bool
) -> None:
    """What is our own fault, or the service's, is told to nobody; nor is a file that only our catalog names."""
    end_leg(results, PLAN, [answered(PLAN, 0, "a", outcome, reason=reason, tags=json.dumps(tags))])

    with SelectedRows.of(results, PLAN.run_id, "").opened(has_rows=True) as files:
        [(_, row)] = files.rows_by(["is_told"])

    assert row["is_told"] is is_told
