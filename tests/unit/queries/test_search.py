"""The tables are searched for an item and its calls, whatever environment it is of."""

import json

import pytest

from proofsweep.queries.search import Search, searching
from proofsweep.store import layout
from proofsweep.store.parts import SCHEMAS, Results

from ...worlds.ended_runs import answered, end_leg, exchange, plan_of_run

FIRST, SECOND = (plan_of_run(f"202611{day}T020000Z_000aa", items=5) for day in (19, 20))
TAGS = {
    "a": {"ISRC": "QZNUL2600017", "title": "Déjà Vu", "UPC": "0840 123"},
    "b": {"isrc": "QZNUL2600018", "title": 'The "Sun"'},
    "c": {"isrc": "QZNUL2600019", "title": "Suns"},
    "d": {"isrc": "QZNUL2600020", "title": "-"},
}
FILES = {
    "a": "01 Dusk",
    "b": "02 Dawn",
    "c": "03 Dusk",
    "d": "03 Da\u0308mmerung",
}  # the last as a disk of a Mac has it


@pytest.fixture
def tracks(results: Results) -> Results:
    """Three answered files in two nights; the second night has no answer for one of them, after some calls."""
    rows = [
        answered(FIRST, row, item, audio=f"/c/North/{name}.wav", tags=json.dumps(TAGS[item], ensure_ascii=False))
        for row, (item, name) in enumerate(FILES.items())
    ]
    rows = [row | {"verify_request_id": f"r-{row['item_id']}", "proof_id": f"p-{row['item_id']}"} for row in rows]
    end_leg(results, FIRST, rows)
    failed = answered(SECOND, 2, "c", "failed", reason="timeout") | {"audio": rows[2]["audio"]}
    again = answered(SECOND, 1, "b", answered_by_row=2) | {
        name: rows[1][name] for name in ("audio", "proof_id", "tags")
    }
    end_leg(results, SECOND, [failed, again])
    calls = [
        exchange(SECOND, 2, "verify", 3, status=200, request_id="second"),
        exchange(SECOND, 2, "uploads", 1, status=503, request_id="first"),
        exchange(SECOND, 7, "verify", 2, request_id="of another row"),
    ]
    results.create_part(layout.part_name("exchanges", SECOND.run_id, SECOND.run_date, 0, 1), "exchanges", calls)
    return results


@pytest.mark.parametrize(
    ("wanted", "items"),
    [
        ("/c/North/01 Dusk.wav", "a"),
        ("a", "a"),
        ("r-b", "b"),
        ("p-b", "b"),
        ("proof:p-b", "b"),
        ("first", "c"),
        ("North/02 dawn.wav", "b"),
        ("qznul2600018", "b"),
        ("déjà vu", "a"),
        ("de\u0301ja\u0300 vu", "a"),
        ("deja vu", "a"),
        ("QZ-NUL-26-00017", "a"),
        ("qz nul 26 00017", "a"),
        ("0840123", "a"),
        ("/c/North/03 Dämmerung.wav", "d"),
        ("dämmerung", "d"),
        ("dammerung", "d"),
        ("north/02  dawn", "b"),
        ("- -", ""),
        ('the "sun"', "b"),
        ("dusk", "ac"),
        ("north", "abdc"),
        ("isrc", ""),
        ("of another row", ""),
        (" ", ""),
    ],
)
def test_a_file_is_found_by_what_people_know(tracks: Results, wanted: str, items: str) -> None:
    """An exact ID or location goes before a part; the names of tags are no answer, and a tag is not searched in."""
    with searching(tracks) as search:
        found = search.items(wanted)

    assert [row["item_id"] for row in found] == list(items)


def calls_of(search: Search, item_id: str) -> list[object]:
    return [call["request_id"] for call in search.calls(search.verdicts(item_id))]


def test_each_row_has_the_calls_for_the_item(tracks: Results) -> None:
    """Retries and the calls of the row whose answer was used are there, in the order of time; other rows' are not."""
    with searching(tracks) as search:
        verdicts = search.verdicts("c")
        [call, _] = search.calls(verdicts)
        kinds = [(each["call"], each["calls"]) for each in search.kinds_of_calls(verdicts)]

        assert [(row["run_id"], row["outcome"]) for row in verdicts] == [
            (SECOND.run_id, "failed"),
            (FIRST.run_id, "accepted"),
        ]
        assert calls_of(search, "c") == calls_of(search, "b") == ["first", "second"]
        assert calls_of(search, "a") == []
    assert set(verdicts[0]) == set(SCHEMAS["verdicts"].names)
    assert set(call) == set(SCHEMAS["exchanges"].names)
    assert kinds == [("uploads", 1), ("verify", 1)]


def test_a_name_that_is_not_utf8_is_found_as_the_tables_have_it(results: Results) -> None:
    row = answered(FIRST, 0, "odd", audio=r"/c/caf\xe9.wav")
    end_leg(results, FIRST, [row])

    with searching(results) as search:
        for wanted in ("/c/caf\udce9.wav", "caf\udce9", r"caf\xe9.wav"):
            assert [item["item_id"] for item in search.items(wanted)] == ["odd"]
