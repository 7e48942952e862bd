"""The table of rotations says which keys, when, and by which request; it has no place for a key."""

from proofsweep.store.tables.rotations import COLUMNS


def test_no_column_can_hold_a_key() -> None:
    """Keys are named by IDs and fingerprints only."""
    named = [column.name for column in COLUMNS if "key" in column.name]

    assert named == [
        *("key_fingerprint", "new_key_fingerprint", "key_id", "new_key_id", "new_key_name"),
        "previous_key_expires_at",
    ]
