"""What an operation did is one line, and what a person should know beside it."""

from proofsweep.answers.operation_lines import line_of_inventory, line_of_notes, line_of_recovery, notes_of_inventory
from proofsweep.model.proofs import Inventory, NotesRefreshed, Recovered


def test_an_inventory_is_one_line() -> None:
    """With a note that pending proofs are not listed."""
    found = Inventory(operation_id="o", states={"matched": 1_200, "not_listed": 2}, unnamed=1)

    assert line_of_inventory(found) == "1,200 proofs listed: 1,200 as answered, 2 of accepted files are not listed"
    assert "is pending, was erased, belongs to another partner" in next(iter(notes_of_inventory(found)))
    assert list(notes_of_inventory(found))[1] == "1 listed items had no proof ID, and were left out."
    assert list(notes_of_inventory(Inventory(operation_id="o", states={}))) == [
        "Proofs that are pending are never listed."
    ]


def test_a_listing_that_may_not_be_whole_says_so() -> None:
    """On the same line."""
    found = Inventory(operation_id="o", states={}, problem="no page was new")

    assert line_of_inventory(found) == "0 proofs listed: none; the listing may not be whole: no page was new"


def test_notes_are_one_line() -> None:
    """How many were wanted, and what became of them."""
    assert line_of_notes(NotesRefreshed(operation_id="o", wanted=3, states={"ready": 2, "gone": 1})) == (
        "3 proofs without a note: 1 gone, 2 ready"
    )
    assert line_of_notes(NotesRefreshed(operation_id=None, wanted=0, states={})).startswith("Every accepted proof has")


def test_a_recovery_is_one_line() -> None:
    """What was written comes first."""
    done = Recovered(operation_id="o", outcomes={"intact": 7, "recovered": 2, "failed": 1})

    assert line_of_recovery(done) == "10 sidecars: 2 recovered, 7 as they were accepted, 1 could not be had"
    assert line_of_recovery(Recovered(operation_id="o", outcomes={})) == "0 sidecars: none"
