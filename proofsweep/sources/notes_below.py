"""Which rows of a list are totals, or notes at its end, and name no file. Pure."""

import re
from collections.abc import Sequence

from proofsweep.files.names import is_audio_name
from proofsweep.sources.columns import Columns

MOST_NOTES = 100  # more rows without a file in a row are no notes

_ROWS_COMPARED = 1_000  # so many rows of a list show how many cells a row has
_TOTAL = re.compile(
    r"\W*(?:grand |sub)?(?:summen?|zwischensumme|gesamt\w*|totals?|totale|totaal|sum|somme|suma|soma|summa|anzahl|count"
    r"|итого|всего)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"[\W\d_]*\d[\W\d_]*(?:[^\W\d_]{1,8}\.?)?")  # `1.234,50 EUR`, `03:25:10`, `42 Titel`


class NotesBelow:
    """Tells by the rows above whether a row may be a total or a note below the list.

    A row of a missing file is none: it has an id, a sidecar, a supplier, or most of the cells that other rows have.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._most_cells = 0  # of a row, but for the audio
        self._has_endings = False  # whether the audio of rows above is named with an ending of audio

    def may_be_note(self, columns: Columns, cells: Sequence[str]) -> bool:
        """Judge the next row; one that is no note is counted among the rows above."""
        is_file = columns.audio is not None and is_audio_name(cells[columns.audio].strip())
        if is_file and self._rows >= _ROWS_COMPARED:
            return False
        audio, others = _parts_of(columns, cells)
        if not is_file and self._rows and self._is_note(columns, audio, others):
            return True
        self._rows += 1
        self._most_cells = max(self._most_cells, len(others))
        self._has_endings = self._has_endings or is_file
        return False

    def _is_note(self, columns: Columns, audio: str, others: dict[int, str]) -> bool:
        if audio and (columns.is_of_proofs or not self._has_endings or "/" in audio or "\\" in audio):
            return False
        if _sums_up(columns, audio, others):
            return True
        if audio:
            return not others
        # The row of a missing file has an id, a sidecar or a supplier all the same.
        named = {columns.sidecar, columns.item_id}
        if columns.supplier is not None:
            named.add(columns.tags[columns.supplier])
        return named.isdisjoint(others) and 2 * len(others) <= self._most_cells


def is_total(columns: Columns, cells: Sequence[str]) -> bool:
    """Whether a row that may be a note sums up, as subtotals do, which stand between the rows of suppliers."""
    return _sums_up(columns, *_parts_of(columns, cells))


def _parts_of(columns: Columns, cells: Sequence[str]) -> tuple[str, dict[int, str]]:
    """Return the cell of the audio, and the others with text by their position."""
    filled = dict[int, str]()
    for index, cell in enumerate(cells):
        text = cell.strip()
        if text:
            filled[index] = text
    audio = ""
    if columns.audio is not None:
        audio = filled.pop(columns.audio, "")
    return audio, filled


def _sums_up(columns: Columns, audio: str, others: dict[int, str]) -> bool:
    """Whether the first cell of a row says that it sums up, and the others are amounts."""
    filled = {**others}
    if audio and columns.audio is not None:
        filled[columns.audio] = audio
    if not filled:
        return False
    first, *rest = [filled[index] for index in sorted(filled)]
    return _TOTAL.match(first) is not None and all(map(_AMOUNT.fullmatch, rest))
