"""The legs of a run: terms of its lease, whose receipts form a chain."""

import os
from pathlib import Path

import pytest

from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results


@pytest.fixture
def legs(tmp_path: Path) -> Legs:
    return Legs(Results(FolderStore(tmp_path)), "r")


def test_legs_are_numbered_and_an_active_one_is_named(legs: Legs) -> None:
    """The message says what shows it."""
    before = legs.numbers()
    legs.claim(1)

    assert (before, legs.numbers(), legs.run_id) == ([], [1], "r")
    assert legs.active_error(1).message.startswith(f"Leg 1 of run r is being worked on by process {os.getpid()} on ")
    assert legs.active_error(2).message == (
        "Leg 2 of run r is being worked on by another process; see: proofsweep status r"
    )


def test_what_an_earlier_receipt_says_of_rows_is_read(legs: Legs) -> None:
    """The last leg with a receipt counts; what is no row is ignored."""
    legs.write_receipt(1, {"in_doubt": [1]})
    legs.write_receipt(2, {"in_doubt": [2, "x"]})

    assert [legs.in_doubt_before(leg) for leg in (1, 2, 4)] == [frozenset(), frozenset({1}), frozenset({2})]
