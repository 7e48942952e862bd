"""The table of erasures keeps what was received, also without a usable answer."""

from proofsweep.model.tables.erasures import COLUMNS


def test_only_what_is_always_known_is_never_null() -> None:
    """A failed call has no outcome, and may have no request ID."""
    never_null = [column.name for column in COLUMNS if not column.nullable]

    assert never_null == ["operation_id", "environment", "proof_id", "asked_at", "answered_at"]
