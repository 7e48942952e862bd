"""Each tag of the catalogs is a column of the views of files, at no cost for a query that does not name it."""

import pytest

from proofsweep.domain.items import Row
from proofsweep.queries.connection import OpenStore, opened
from proofsweep.queries.views import views
from proofsweep.store.parts import Results

from ...worlds.ended_nights import ACCEPTED, FAILED, MONDAY, REJECTED, TUESDAY, night

TAGGED = ["verdicts", "latest_answer", "catalog", "rejects", "changes"]
"""The views with tags as columns."""


@pytest.mark.parametrize("view", TAGGED)
@pytest.mark.parametrize("cells", [REJECTED, FAILED], ids=["rejected", "failed"])
def test_tags_are_columns(results: Results, view: str, cells: Row) -> None:
    """A tag with a name that the views need gets one of its own; other names are taken as they are."""
    tags = '{"supplier": "North", "outcome": "x", "general_advice": "w", "a/b \\"c\\"": "y", "~": "z"}'
    night(results, MONDAY, {"a": cells | {"tags": tags}, "b": cells | {"tags": None}})

    with opened(results) as store:
        columns = 'item_id, supplier, tag_outcome, tag_general_advice, "a/b ""c""", "~"'
        rows = store.connection.execute(f"SELECT {columns} FROM {view} ORDER BY item_id").fetchall()  # noqa: S608 - our own

    expected = [("a", "North", "x", "w", "y", "z"), ("b", None, None, None, None, None)]
    assert rows == ([] if (view, cells) == ("latest_answer", FAILED) else expected)


def test_a_tag_that_catalogs_have_is_not_taken_by_our_own_words() -> None:
    """Else a query of one store would name another column in the next."""
    usual = "supplier label release title artist album track genre isrc upc ean grid territory year version language"

    (rejects,) = (view for view in views(usual.split()) if view.name == "rejects")

    assert [name for name in usual.split() if f'AS "{name}"' not in rejects.query] == []


def test_two_spellings_of_a_tag_are_one_column(results: Results) -> None:
    """The newest run names it; a row of either spelling has its value there."""
    night(results, MONDAY, {"a": REJECTED | {"tags": '{"supplier": "North"}'}})
    night(results, TUESDAY, {"b": ACCEPTED | {"tags": '{"Supplier": "South"}'}})

    with opened(results) as store:
        rows = store.connection.execute("SELECT item_id, supplier FROM latest_answer ORDER BY item_id").fetchall()
        named = [column[0] for column in store.connection.table("latest_answer").description]

    assert rows == [("a", "North"), ("b", "South")]
    assert named[-1] == "Supplier"


def test_changes_have_the_tags_of_now_and_else_of_before(results: Results) -> None:
    """A file that is gone keeps those that it had."""
    north, south = ({"tags": f'{{"supplier": "{name}"}}'} for name in ("North", "South"))
    night(results, MONDAY, {"a": REJECTED | north, "b": REJECTED | north})
    night(results, TUESDAY, {"a": ACCEPTED | south})

    with opened(results) as store:
        query = "SELECT item_id, change, supplier FROM changes WHERE run_id = ? ORDER BY item_id"
        rows = store.connection.execute(query, [TUESDAY]).fetchall()

    assert rows == [("a", "fixed", "South"), ("b", "gone", "North")]


def test_a_query_that_names_no_tag_takes_no_tags_apart(results: Results) -> None:
    """Tags of millions of rows are texts: what nobody asks for is no part of the plan that DuckDB makes."""
    night(results, MONDAY, {"a": REJECTED | {"tags": '{"zebra": "North"}'}, "b": FAILED})

    with opened(results) as store:
        plans = [(each, _plan_of(store, f"FROM {each} SELECT count(*), max(item_id)")) for each in TAGGED]
        asked = [(each, _plan_of(store, f"FROM {each} SELECT max(zebra)")) for each in TAGGED]

    assert [view for view, plan in plans if "zebra" in plan] == []
    assert [view for view, plan in asked if "zebra" in plan] == TAGGED


def _plan_of(store: OpenStore, query: str) -> str:
    """Return how DuckDB answers a query."""
    return str(store.connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall())
