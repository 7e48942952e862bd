"""The facts of a catalog page are the view `catalog`, counted."""

from collections.abc import Iterator
from datetime import date

import duckdb
import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.queries import catalog
from proofsweep.queries.catalog import CatalogFacts, PageChoice, catalog_facts, kinds_of, shown_name, spellings_of
from proofsweep.queries.connection import answering
from proofsweep.store.parts import Results

from ...worlds import five_nights
from ...worlds.ended_nights import ACCEPTED, FAILED, MONDAY, REJECTED, TUESDAY, WEDNESDAY, night

LAST = five_nights.NIGHTS[-1].run_id
COLUMNS = "file VARCHAR, audio VARCHAR, item_id VARCHAR, outcome VARCHAR, reason VARCHAR, verify_request_id VARCHAR, "
ROWS = [
    ("a/1.wav", "/c/a/1.wav", "1", "rejected", "tampered", "r1", None, '{"Supplier": "Acme"}'),
    ("a/2.wav", "/c/a/2.wav", "2", "rejected", "tampered", "r2", None, '{"supplier": "' + "x" * 99 + '"}'),
    ("a/3.wav", "/c/a/3.wav", "3", "failed", "bad_answer", "r3", None, None),
    ("a/4.wav", "/c/a/4.wav", "4", "failed", "http_422", "r4", None, None),
    ("a/5.wav", "/c/a/5.wav", "5", "failed", None, None, None, None),
]


@pytest.fixture
def filled(results: Results) -> Results:
    """Five nights."""
    return five_nights.fill(results)


@pytest.fixture
def facts(filled: Results) -> Iterator[CatalogFacts]:
    """The facts after them."""
    with catalog_facts(filled, "beta", PageChoice(tags=["supplier", "release"]), [LAST]) as found:
        yield found


def test_counts_agree_with_coverage_and_with_one_another(facts: CatalogFacts, filled: Results) -> None:
    """All files, each catalog's, and those of all values of a tag."""
    counts, by_tag = facts.counts(), facts.by_tag("supplier")
    query = (
        "SELECT files, covered, accepted, rejected, failed, ineligible, not_sent, gone, need_attention FROM coverage"
    )
    with answering(filled, "beta", "coverage") as connection:
        coverage = connection.execute(query).fetchall()

    names = ("files", "covered", "accepted", "rejected", "failed", "ineligible", "not_sent", "gone", "need_attention")
    assert coverage == [tuple(getattr(counts, name) for name in names)]
    assert facts.by_catalog() == [("/c", counts)]
    assert sum(each.counts.files for each in by_tag.values) == counts.files
    assert sum(each.counts.need_attention for each in by_tag.values) == counts.need_attention
    assert sum(kind.files for kind in facts.kinds()) == counts.need_attention


def test_what_turned_in_the_last_run_has_its_names(facts: CatalogFacts) -> None:
    """And what is wrong now, or was before."""
    broken, fixed = (facts.turned("changed", change) for change in ("broken", "fixed"))

    assert (broken.files, fixed.files) == (3, 3)
    assert {row.why for row in broken.shown} >= {"the credential in the file cannot be read"}
    assert all(row.name.endswith(".wav") and row.values for row in fixed.shown)
    by_tag = facts.by_tag("supplier")
    assert (sum(each.broken for each in by_tag.values), sum(each.fixed for each in by_tag.values)) == (3, 3)


def test_the_values_that_need_most_come_first(facts: CatalogFacts) -> None:
    """A page names a hundred of them; all are counted."""
    releases = facts.by_tag("release")

    needs = [each.counts.need_attention for each in releases.values]
    assert needs == sorted(needs, reverse=True)
    assert all((each.oldest is not None) == bool(each.counts.need_attention) for each in releases.values)
    assert (len(releases.values), releases.left_out) == (100, 0)


@pytest.mark.parametrize(("day", "broken", "fixed"), [(20, 3, 3), (19, 3, 6), (17, 3, 12), (16, 0, 0)])
def test_what_turned_since_a_day_is_told_by_its_ends(filled: Results, day: int, broken: int, fixed: int) -> None:
    """What broke and was mended between is neither; before the first night there is nothing to compare with."""
    choice = PageChoice(since=date(2026, 11, day))

    with catalog_facts(filled, "beta", choice, [LAST]) as found:
        assert found.turned("changed_since", "broken").files == broken
        assert found.turned("changed_since", "fixed").files == fixed


def test_a_reject_is_open_since_it_was_first_rejected(results: Results) -> None:
    """An acceptance between begins anew, a night without an answer does not."""
    a, b = ({"tags": f'{{"supplier": "{name}"}}'} for name in ("A", "B"))
    night(results, MONDAY, {"a": REJECTED | a, "b": REJECTED | b, "c": ACCEPTED})
    night(results, TUESDAY, {"a": FAILED | a, "b": ACCEPTED | b, "c": ACCEPTED})
    night(results, WEDNESDAY, {"a": REJECTED | a, "b": REJECTED | b, "c": ACCEPTED})

    with catalog_facts(results, "beta", PageChoice(tags=["supplier"]), [WEDNESDAY]) as found:
        values = found.by_tag("supplier").values

    days = {each.value: each.oldest.strftime("%A") for each in values if each.oldest is not None}
    assert days == {"A": "Monday", "B": "Wednesday"}


COLUMNS += "since TIMESTAMPTZ, tags VARCHAR"


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    """A table of five files."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE items ({COLUMNS})")
    connection.executemany(f"INSERT INTO items VALUES ({', '.join('?' * 8)})", ROWS)  # noqa: S608 - placeholders
    return connection


def test_files_are_grouped_by_what_to_do(connection: duckdb.DuckDBPyConnection) -> None:
    """Reasons with one remedy are one kind; request IDs are shown where the partner is asked."""
    first, second = kinds_of(connection, "items", spellings_of(connection, PageChoice(tags=["SUPPLIER"])))

    assert (first.files, first.has_requests) == (3, True)
    assert {(reason.code, reason.files) for reason in first.reasons} == {("", 1), ("bad_answer", 1), ("http_422", 1)}
    assert [row.request_id for row in first.shown] == ["r3", "r4", None]
    assert (second.files, second.has_requests) == (2, False)
    assert second.reasons[0].plain == "the credential was changed after it was issued"
    assert [row.values for row in second.shown] == [["Acme"], ["x" * 59 + "…"]]


def test_only_the_first_files_of_a_reason_are_shown(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are counted."""
    monkeypatch.setattr(catalog, "MOST_OF_A_REASON", 1)

    second = kinds_of(connection, "items", {})[1]

    assert (second.files, [row.name for row in second.shown]) == (2, ["1.wav"])


def test_the_usual_tag_is_shown_if_it_is_there(connection: duckdb.DuckDBPyConnection) -> None:
    """One that is asked for must be there."""
    assert spellings_of(connection, PageChoice(usual_tag="supplier")) == {"supplier": ["Supplier", "supplier"]}
    assert spellings_of(connection, PageChoice(usual_tag="label")) == {}
    assert spellings_of(connection, PageChoice()) == {}
    with pytest.raises(UsageError, match="has the tag 'label'"):
        spellings_of(connection, PageChoice(tags=["label"]))


@pytest.mark.parametrize(
    ("file", "audio", "shown"),
    [
        ("a/b.wav", "/c/a/b.wav", ("a/", "b.wav")),
        ("b.wav", "/c/b.wav", ("", "b.wav")),
        ("folder/", "/c/folder/", ("", "folder")),
        ("proof:P-1", "proof:P-1", ("", "item-1")),
        ("", "", ("", "item-1")),
        ("a\u202e\nb.wav", None, ("", "a\\u202e\\nb.wav")),
        ("a/" + "x" * 200, None, ("", "…" + "x" * 120)),
    ],
)
def test_a_name_is_one_line_without_a_proof_id(file: str, audio: str | None, shown: tuple[str, str]) -> None:
    """Of a very long one the end is shown."""
    assert shown_name(file, audio, "item-1") == shown
