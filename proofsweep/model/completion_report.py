"""A completion report: a manifest that also says of each row how it ended. It can be verified again as it is. Pure."""

import re
from collections.abc import Iterable, Sequence

from proofsweep.model.tables.columns import Row

RUN_COLUMN = "proofsweep_run"  # The run that gave the outcome. A manifest with this column is a report.

COLUMNS = (
    *("outcome", "reason", "what_to_do", "detail", "verdict", "http_status", "error_code"),
    *("audio_bytes", "audio_sha256", "proof_id", "uploads_request_id", "verify_request_id", "finished_at"),
    RUN_COLUMN,
)
"""The report's own columns. They come last, after `audio`, `sidecar`, `id` and the tags."""

SCREENING_PREFIX = "screening_"
"""Begins the names of columns that say which conditions of the config a file meets; they stand before the run's."""

# Text that begins so is a formula to a spreadsheet; the wide forms are for those of East Asia. One that cuts cells at
# semicolons or tabs finds beginnings inside of our cells.
_BEGINNING = r"(^|[;\t\r\n])"
_FORMULA = r"(?=[\"']*[=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001 - these letters are meant
_UNSAFE = re.compile(f"{_BEGINNING}{_FORMULA}")
_DEFUSED = re.compile(f"{_BEGINNING}'{_FORMULA}")


def own_columns(header: Sequence[str]) -> frozenset[int]:
    """Return the positions of a report's own columns in a header; none if it is no report.

    The last column of a name counts, and a screening column only between others: a catalog may have tags of such names.
    """
    plain = [name.strip().lower() for name in header]
    if RUN_COLUMN not in plain:
        return frozenset()
    own = {len(plain) - 1 - plain[::-1].index(name) for name in COLUMNS if name in plain}
    return frozenset(own.union(at for at in range(min(own), max(own)) if plain[at].startswith(SCREENING_PREFIX)))


def defused(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula; `restored` takes it away."""
    return _UNSAFE.sub(r"\1'", text)


def restored(text: str) -> str:
    """Return the text from which `defused` made this."""
    return _DEFUSED.sub(r"\1", text)


def own_header(screening: Iterable[str]) -> list[str]:
    """Return the names of a report's own columns."""
    return [*COLUMNS[:-1], *screening, RUN_COLUMN]


def own_cells(row: Row, what_to_do: str, screening: Iterable[object] = ()) -> list[object]:
    """Return the report's own cells of a row of `verdicts`, in the order of `own_header`."""
    known = row | {"what_to_do": what_to_do}
    return [*(known[name] for name in COLUMNS[:-1]), *screening, row["run_id"]]
