"""The columns of an inventory."""

from proofsweep.model.tables.proofs import COLUMNS


def test_what_identifies_a_row_is_never_null() -> None:
    """All that the service may leave out is."""
    assert [column.name for column in COLUMNS if not column.nullable] == [
        "operation_id",
        "environment",
        "proof_id",
        "state",
    ]
