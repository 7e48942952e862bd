"""The hash tree over the rows of a part, as RFC 9162 (section 2.1) builds it with SHA-256. Pure."""

import hashlib
from collections.abc import Sequence

_LEAF, _NODE = b"\x00", b"\x01"


def leaf_of(canonical_row: bytes) -> bytes:
    """Give the digest of one row, 32 bytes."""
    return hashlib.sha256(_LEAF + canonical_row).digest()


def levels_of(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """Give the tree over digests of rows, in the order of the part: the rows first, the root alone last."""
    levels = [list(leaves) or [hashlib.sha256().digest()]]
    while len(levels[-1]) > 1:
        levels.append(_next_level(levels[-1]))
    return levels


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Give the root over digests of rows; of no row the digest of nothing."""
    return levels_of(leaves)[-1][0]


def path_in(levels: Sequence[Sequence[bytes]], place: int) -> list[bytes]:
    """Give the digests that lead from the row at a place, counted from 0, to the root; the nearest first."""
    path = []
    for level in levels[:-1]:
        if place ^ 1 < len(level):
            path.append(level[place ^ 1])
        place //= 2
    return path


def _next_level(level: Sequence[bytes]) -> list[bytes]:
    """Join neighbours; a last one without a neighbour goes up as it is."""
    joined = [_node(left, right) for left, right in zip(level[::2], level[1::2], strict=False)]
    return joined + list(level[-1:]) if len(level) % 2 else joined


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()
