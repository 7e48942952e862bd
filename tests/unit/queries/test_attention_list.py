"""The files that need attention are grouped by what to do, and shown as text."""

import duckdb
import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.queries import catalog
from proofsweep.queries.catalog import PageChoice, kinds_of, shown_name, spellings_of

COLUMNS = "file VARCHAR, audio VARCHAR, item_id VARCHAR, outcome VARCHAR, reason VARCHAR, verify_request_id VARCHAR, "
COLUMNS += "since TIMESTAMPTZ, tags VARCHAR"
ROWS = [
    ("a/1.wav", "/c/a/1.wav", "1", "rejected", "tampered", "r1", None, '{"Supplier": "Acme"}'),
    ("a/2.wav", "/c/a/2.wav", "2", "rejected", "tampered", "r2", None, '{"supplier": "' + "x" * 99 + '"}'),
    ("a/3.wav", "/c/a/3.wav", "3", "failed", "bad_answer", "r3", None, None),
    ("a/4.wav", "/c/a/4.wav", "4", "failed", "http_422", "r4", None, None),
    ("a/5.wav", "/c/a/5.wav", "5", "failed", None, None, None, None),
]


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
