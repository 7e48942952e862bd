"""The contract's numbers are the contract's."""

from proofsweep.contract import limits


def test_the_slot_takes_65_mebibytes_and_not_65_million_bytes() -> None:
    """A file between the two numbers must not be turned away."""
    assert limits.SLOT_BYTES == 68_157_440


def test_ranges_hold_both_of_their_ends() -> None:
    """A range that is written 1-100 in the contract allows 1 and allows 100."""
    ends = [(span[0], span[-1]) for span in (limits.PAGE_SIZE, limits.USAGE_DAYS, limits.IDEMPOTENCY_KEY_LENGTH)]

    assert ends == [(1, 100), (1, 90), (16, 128)]
    assert limits.USAGE_DAYS_DEFAULT in limits.USAGE_DAYS
