"""The hash tree is that of RFC 9162, and a path leads from a row to the root and nowhere else."""

import hashlib

import pytest

from proofsweep.audit.check_evidence import root_of as root_by_path
from proofsweep.store.row_digests import leaf_of, levels_of, path_in, root_of


def by_the_standard(rows: list[bytes]) -> bytes:
    """Build the root as the standard's own recursion says."""
    if len(rows) == 1:
        return hashlib.sha256(b"\x00" + rows[0]).digest()
    split = 1
    while split * 2 < len(rows):
        split *= 2
    return hashlib.sha256(b"\x01" + by_the_standard(rows[:split]) + by_the_standard(rows[split:])).digest()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 100])
def test_the_root_is_that_of_the_standard_and_each_path_leads_to_it(count: int) -> None:
    """For every number of rows, at every index."""
    rows = [str(number).encode() for number in range(count)]
    leaves = [leaf_of(row) for row in rows]
    levels = levels_of(leaves)

    assert root_of(leaves) == by_the_standard(rows)
    for index, leaf in enumerate(leaves):
        path = [digest.hex() for digest in path_in(levels, index)]
        assert root_by_path(leaf, index, count - 1, [*path]) == root_of(leaves).hex()
        assert root_by_path(leaf_of(b"other"), index, count - 1, [*path]) != root_of(leaves).hex()
        assert not root_by_path(leaf, index, count - 1, [*path, leaf.hex()])


def test_no_row_has_the_digest_of_nothing() -> None:
    """As the standard says of the empty tree."""
    assert root_of([]) == hashlib.sha256().digest()
