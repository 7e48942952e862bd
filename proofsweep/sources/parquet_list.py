"""Read a list that is Parquet, as text: portion by portion, whatever types its columns have."""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.sources.cells import binary_text, cell_text, duration_text

_BATCH_ROWS = 8192
_ARE_BYTES = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_binary_view,
)
_INTERVAL = struct.Struct("<III")  # months, days and milliseconds, as the standard has it

if TYPE_CHECKING:
    _Column = pa.Array[pa.Scalar[Any]]


def parquet_rows(
    content: IO[bytes], locations_in: Callable[[Sequence[str]], Iterable[int | None]]
) -> Iterator[tuple[tuple[str, ...], Sequence[str]]]:
    """Yield the names of the columns and the cells of each row.

    `locations_in` gives the columns that hold locations: names of files may be any bytes.
    """
    file = pq.ParquetFile(content)
    # Arrow knows no intervals, and gives their twelve bytes.
    intervals = set[str]()
    for index in range(len(file.schema)):
        kind = file.schema.column(index)
        if kind.converted_type == "INTERVAL":
            intervals.add(kind.path)
    for batch in file.iter_batches(batch_size=_BATCH_ROWS):
        names = tuple(batch.schema.names)
        locations = set(locations_in(names))
        columns = list[Iterator[str]]()
        for index, (name, column) in enumerate(zip(names, batch.columns, strict=True)):
            if name in intervals and pa.types.is_fixed_size_binary(column.type):
                columns.append(map(_interval_text, column.to_pylist()))
            else:
                columns.append(_texts(column, is_location=index in locations))
        for cells in zip(*columns, strict=True):
            yield names, cells


def _texts(column: "_Column", *, is_location: bool) -> Iterator[str]:
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_float32(kind) or pa.types.is_float16(kind):
        shortest = column.cast(pa.string()).to_pylist()
        return map(_short_float, column.to_pylist(), shortest)
    if pa.types.is_duration(kind):
        # Python has no nanoseconds.
        column = column.cast(pa.duration("us"), safe=False)
    elif not is_location and any(is_one(kind) for is_one in _ARE_BYTES):
        return map(binary_text, column.to_pylist())
    try:
        return map(cell_text, column.to_pylist())
    except (ValueError, OverflowError):  # Python has no such value, as a date in the year 20000
        return map(cell_text, column.cast(pa.string()).to_pylist())


def _short_float(value: float | None, shortest: str | None) -> str:
    # In Python, 0.1 of 32 bits is 0.10000000149011612.
    text = cell_text(value)
    if shortest is None or "." not in text:
        return text
    return cell_text(float(shortest))


def _interval_text(value: bytes | None) -> str:
    if value is None:
        return ""
    months, days, milliseconds = _INTERVAL.unpack(value)
    duration = timedelta(days=days, milliseconds=milliseconds)
    return duration_text(duration, months)
