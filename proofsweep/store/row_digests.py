"""The canonical bytes of each row of a table, and their digests; docs/audit.md defines them for other programs.

A row is the line `proofsweep row 1`, then those of its cells that are not null, sorted by the name of the column:
`name:length:value`. A line feed stands between two lines. So a column that later versions add does not change the
digest of an older row.
"""

import hashlib
import sys
from array import array
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_LEAF, _NODE = b"\x00", b"\x01"


def leaf_of(canonical_row: bytes) -> bytes:
    """Return the digest of one row, 32 bytes."""
    return hashlib.sha256(_LEAF + canonical_row).digest()


def levels_of(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """Return the tree over digests of rows, in the order of the part: the rows first, the root alone last."""
    levels = [list(leaves) or [hashlib.sha256().digest()]]
    while len(levels[-1]) > 1:
        levels.append(_next_level(levels[-1]))
    return levels


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the root over digests of rows; of no row the digest of nothing."""
    return levels_of(leaves)[-1][0]


def path_in(levels: Sequence[Sequence[bytes]], index: int) -> list[bytes]:
    """Return the digests that lead from the row at a index, counted from 0, to the root; the nearest first."""
    path = []
    for level in levels[:-1]:
        if index ^ 1 < len(level):
            path.append(level[index ^ 1])
        index //= 2
    return path


def _next_level(level: Sequence[bytes]) -> list[bytes]:
    """Join neighbours; a last one without a neighbour goes up as it is."""
    joined = [
        hashlib.sha256(_NODE + left + right).digest() for left, right in zip(level[::2], level[1::2], strict=False)
    ]
    return joined + list(level[-1:]) if len(level) % 2 else joined


# Arrow leaves a row out of the result if it has no cell to join, so each row has this one; it names the definition.
_FIRST_LINE = b"proofsweep row 1"

# Rows whose bytes are in memory at once, some 20 MB. Each portion costs some 3 ms whatever its size.
_ROWS_AT_ONCE = 16_384

_Column = Any  # An Arrow column in chunks; the stubs of Arrow do not know what its functions make of one

ROOT_KEY = b"proofsweep.merkle_root"  # Where a part says its Merkle root, among the metadata of the Parquet file


def row_digests(table: pa.Table) -> list[bytes]:
    """Return the digest of each row, in the order of the table."""
    portions = (table.slice(first, _ROWS_AT_ONCE) for first in range(0, table.num_rows, _ROWS_AT_ONCE))
    return [leaf_of(row) for portion in portions for row in canonical_rows(portion)]


def merkle_root(table: pa.Table) -> str:
    """Return the Merkle root over the rows, in hex."""
    return root_of(row_digests(table)).hex()


def with_merkle_root(table: pa.Table) -> pa.Table:
    """Note the Merkle root of the rows in the metadata of the table."""
    known = {bytes(name): bytes(value) for name, value in (table.schema.metadata or {}).items()}
    return table.replace_schema_metadata({**known, ROOT_KEY: merkle_root(table).encode()})


def canonical_rows(table: pa.Table) -> list[bytes]:
    """Return the bytes of each row that its digest is made of."""
    names = sorted(table.column_names, key=str.encode)
    filled = [name for name in names if table[name].null_count < table.num_rows]
    if not filled:
        return [_FIRST_LINE] * table.num_rows
    cells = [pa.scalar(_FIRST_LINE), *(_lines(name, _texts(table[name])) for name in filled)]
    return [row or b"" for row in _joined(cells, b"\n", pc.JoinOptions(null_handling="skip")).to_pylist()]


def _lines(name: str, texts: _Column) -> _Column:
    lengths = pc.cast(pc.cast(pc.binary_length(texts), pa.string()), pa.binary())
    return _joined([pa.scalar(name.encode()), lengths, texts], b":", pc.JoinOptions(null_handling="emit_null"))


def _texts(column: _Column) -> _Column:
    """Write cells: instants as whole microseconds, fractions as the 8 bytes of a double in hex, others as they read."""
    kind = column.type
    if pa.types.is_floating(kind):
        return pc.if_else(column.is_valid(), pa.array(_doubles(column.fill_null(0.0)), pa.binary()), None)
    if pa.types.is_timestamp(kind):
        column = pc.cast(pc.cast(column, pa.timestamp("us", tz="UTC")), pa.int64())
    return pc.cast(pc.cast(column, pa.string()), pa.binary())


def _doubles(column: _Column) -> list[str]:
    doubles: _Column = pc.cast(column, pa.float64())
    doubles = doubles.combine_chunks()
    numbers = array("d", memoryview(doubles.buffers()[1])[8 * doubles.offset :][: 8 * len(doubles)].tobytes())
    if sys.byteorder == "little":
        numbers.byteswap()
    digits = numbers.tobytes().hex()
    return [digits[index : index + 16] for index in range(0, len(digits), 16)]


def _joined(parts: Sequence[_Column | pa.BinaryScalar], separator: bytes, options: pc.JoinOptions) -> _Column:
    return pc.call_function("binary_join_element_wise", [*parts, pa.scalar(separator)], options)
