"""The columns of process notes."""

from proofsweep.model.tables.interpretations import COLUMNS


def test_a_note_says_by_which_policy_it_was_made() -> None:
    """If the service says so; what identifies a row is never null."""
    nullable = {column.name: column.nullable for column in COLUMNS}

    assert nullable["policy_version"]
    assert [name for name, is_so in nullable.items() if not is_so] == [
        "operation_id",
        "environment",
        "proof_id",
        "status",
        "asks",
        "asked_at",
    ]
