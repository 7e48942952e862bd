"""The figures of an inventory."""

from proofsweep.model.proofs import Inventory


def test_what_is_not_listed_is_not_counted_as_listed() -> None:
    """It stands in the same table."""
    found = Inventory(operation_id="o", states={"matched": 3, "differs": 1, "not_listed": 2})

    assert (found.listed, found.count("not_listed"), found.count("no_file")) == (4, 2, 0)
