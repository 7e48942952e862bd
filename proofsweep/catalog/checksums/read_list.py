"""Read the lines of a checksum list as a stream, with bounds: a supplier writes it."""

from collections.abc import Iterator
from io import BytesIO, TextIOWrapper

from proofsweep.catalog.encodings import encoding_of
from proofsweep.errors import CatalogError, SourceError
from proofsweep.files.locations import one_line
from proofsweep.files.source import OpenFile, Source, buffered
from proofsweep.model.reasons import Reason

# A million files of 200 letters each: a larger file is no list.
MOST_LINES = 1_000_000
MOST_BYTES = 256 * 1024 * 1024
# A path has at most 4,096 bytes on Linux, all of which may be escaped, and the longest digest 128.
MOST_LINE_LETTERS = 8_448
# So much of a list shows its encoding. Binary content of 256 MiB would take half a minute.
_JUDGED_BYTES = 4 * 1024 * 1024


def lines_of_list(location: str, source: Source) -> Iterator[str]:
    """Yield the lines of a list without their ends, in the encoding that its bytes show.

    Raises:
        CatalogError: one line: it is not there, cannot be read, or is too large; possibly after many lines.
    """
    try:
        yield from _lines_of(source.open(location))
    except (SourceError, OSError, ValueError) as error:
        because = error.message if isinstance(error, SourceError) else f"It is no text: {one_line(str(error))}."
        raise CatalogError(f"{one_line(location)}: cannot be read as a list of checksums. {because}") from error


def _lines_of(file: OpenFile | None) -> Iterator[str]:
    if file is None:
        raise SourceError("There is no such file.", reason=Reason.UNREADABLE_FILE)
    with buffered(file) as plain:
        before = file.facts()
        if before.size_bytes > MOST_BYTES:
            raise _too_large(f"{MOST_BYTES:,} bytes")
        encoding = encoding_of(BytesIO(_whole_lines(plain.read(_JUDGED_BYTES))))
        plain.seek(0)
        text = TextIOWrapper(plain, encoding.codec, encoding.errors, newline="\n")
        number = 0
        while line := text.readline(MOST_LINE_LETTERS + 1):
            number += 1
            if number > MOST_LINES:
                raise _too_large(f"{MOST_LINES:,} lines")
            if len(line) > MOST_LINE_LETTERS:
                raise _too_large(f"{MOST_LINE_LETTERS:,} letters in line {number:,}")
            yield line.rstrip("\r\n")
        if file.facts() != before:
            raise SourceError("It changed while it was read: let its delivery finish.", reason=Reason.SOURCE_CHANGED)


def _whole_lines(content: bytes) -> bytes:
    """Return the beginning of a list up to its last line end: what follows may be half a letter."""
    return content[: content.rfind(b"\n") + 1] or content


def _too_large(bound: str) -> SourceError:
    return SourceError(f"It has more than {bound}.", reason=Reason.UNREADABLE_FILE)
