"""The contract's numbers are the contract's."""

from proofsweep.contract import limits


def test_the_slot_takes_65_mebibytes_and_not_65_million_bytes() -> None:
    """A file between the two numbers must not be refused."""
    assert limits.SLOT_BYTES == 68_157_440


def test_ranges_include_both_of_their_ends() -> None:
    """A range that the contract writes as 1-90 allows 1 and allows 90."""
    ends = [(span[0], span[-1]) for span in (limits.USAGE_DAYS, limits.IDEMPOTENCY_KEY_LENGTH)]

    assert ends == [(1, 90), (16, 128)]
