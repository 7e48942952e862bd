"""The contract's numbers are the contract's."""

from proofsweep.domain import headers


def test_the_slot_takes_65_mebibytes_and_not_65_million_bytes() -> None:
    """A file between the two numbers must not be refused."""
    assert headers.SLOT_BYTES == 68_157_440
