"""The figures of an inventory."""

from datetime import UTC, datetime

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.operations.results import Erasure, Inventory, cells_of, counts_of, proof_list


def test_what_is_not_listed_is_not_counted_as_listed() -> None:
    """It stands in the same table."""
    found = Inventory(operation_id="o", states={"matched": 3, "differs": 1, "not_listed": 2})

    assert (found.listed, found.count("not_listed"), found.count("no_file")) == (4, 2, 0)


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_an_id_counts_once() -> None:
    """In the order of the list; empty lines and cells are counted apart."""
    found = proof_list([("1", "b"), ("2", " a "), ("3", ""), ("4", "b"), ("5", "b")])

    assert (found.proof_ids, found.repeated, found.empty) == (("b", "a"), 2, 1)


def test_lists_of_the_same_proofs_have_the_same_digest() -> None:
    """Whatever their order."""
    one, two, three = (proof_list(enumerate_of(text)) for text in ("a b", "b a a", "a c"))

    assert one.sha256 == two.sha256 != three.sha256


def enumerate_of(text: str) -> list[tuple[str, str]]:
    """Make the cells of a list of words."""
    return [("here", word) for word in text.split()]


@pytest.mark.parametrize("text", [".", "..", "a b", "a\tb", "a\u202eb", "a,b", '"a"', "x" * 513, "'=a"])
def test_what_cannot_be_an_id_is_refused_with_its_place(text: str) -> None:
    """The message does not repeat it: it may be a real ID that was written badly."""
    with pytest.raises(UsageError, match="line 7: this is no proof ID; nothing was erased") as refused:
        proof_list([("line 6", "good"), ("line 7", text)])

    assert text not in {".", ".."} or refused.value.message.count(text) <= 2
    assert "good" not in refused.value.message


@pytest.mark.parametrize("cells", [[], [("line 1", "")], [("line 1", "  ")]])
def test_an_empty_list_is_refused(cells: list[tuple[str, str]]) -> None:
    """A list that lost its content must not look like a success."""
    with pytest.raises(UsageError, match="no proof ID to erase"):
        proof_list(cells)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a\n", "\n", "b"], ["a\n", "\n", "b"]),
        (["proof_id\n", "a\n"], ["a"]),
        (["song,proof_id\r\n", '"x, y",a\r\n', "z,\r\n", "z\r\n"], ["a", "", ""]),
        (["proof_id , song\n", "'-a,x\n"], ["-a"]),
        (["audio,proof_id,proof_id,proofsweep_run\n", "x,a tag,a,r\n"], ["a"]),
        (["song,proof_id\n", '"two\n', 'lines",a\n'], ["a"]),
    ],
)
def test_ids_are_found_in_lines_and_in_csv(lines: list[str], expected: list[str]) -> None:
    """A report of `proofsweep export` has an apostrophe before what a spreadsheet would run."""
    assert [text for _, text in cells_of(lines, "list.txt")] == expected


@pytest.mark.parametrize(("lines", "name"), [(["song,proof\n", "a,b\n"], "list.txt"), (["a\n"], "list.CSV")])
def test_a_csv_file_without_the_column_is_refused(lines: list[str], name: str) -> None:
    """Else songs would be asked for as proofs."""
    with pytest.raises(UsageError, match="has no column proof_id"):
        list(cells_of(lines, name))


def test_a_place_is_the_line_in_the_file() -> None:
    """A person looks there."""
    assert [place for place, _ in cells_of(["proof_id\n", '"a\n', 'b"\n', "c\n"], "l.csv")] == [
        "l.csv, line 3",
        "l.csv, line 4",
    ]


def test_what_is_not_known_to_be_erased_counts_as_failed() -> None:
    """Also an answer with another word."""
    erasures = [
        Erasure(proof_id=str(number), asked_at=NOW, answered_at=NOW, outcome=outcome, reason=reason)
        for number, (outcome, reason) in enumerate(
            [("erased", None), ("already_erased", None), ("queued", "unknown_outcome"), (None, "http_500")]
        )
    ]

    assert counts_of(each.row() for each in erasures) == {"erased": 1, "already_erased": 1, "failed": 2}
