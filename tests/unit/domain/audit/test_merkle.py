"""The hash tree is that of RFC 9162, and a path leads from a row to the root and nowhere else."""

import hashlib

import pytest

from proofsweep.domain.audit.merkle import leaf_of, levels_of, path_in, root_of


def by_the_standard(rows: list[bytes]) -> bytes:
    """Build the root as the standard's own recursion says."""
    if len(rows) == 1:
        return hashlib.sha256(b"\x00" + rows[0]).digest()
    split = 1
    while split * 2 < len(rows):
        split *= 2
    return hashlib.sha256(b"\x01" + by_the_standard(rows[:split]) + by_the_standard(rows[split:])).digest()


def root_by_path(leaf: bytes, place: int, count: int, path: list[bytes]) -> bytes:
    """Follow a path to its end, as the documentation says."""
    rest, last = list(path), count - 1
    while last:
        if place ^ 1 <= last:
            other = rest.pop(0)
            leaf = hashlib.sha256(b"\x01" + (other + leaf if place % 2 else leaf + other)).digest()
        place, last = place // 2, last // 2
    assert rest == []
    return leaf


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 100])
def test_the_root_is_that_of_the_standard_and_each_path_leads_to_it(count: int) -> None:
    """For every number of rows, at every place."""
    rows = [str(number).encode() for number in range(count)]
    leaves = [leaf_of(row) for row in rows]
    levels = levels_of(leaves)

    assert root_of(leaves) == by_the_standard(rows)
    for place, leaf in enumerate(leaves):
        path = path_in(levels, place)
        assert root_by_path(leaf, place, count, path) == root_of(leaves)
        assert root_by_path(leaf_of(b"other"), place, count, path) != root_of(leaves)


def test_no_row_has_the_digest_of_nothing() -> None:
    """As the standard says of the empty tree."""
    assert root_of([]) == hashlib.sha256().digest()
