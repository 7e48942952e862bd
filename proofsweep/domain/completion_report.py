"""A completion report: a manifest that also says of each row how it ended. It can be verified again as it is. Pure."""

import re
from collections.abc import Sequence
from itertools import takewhile

from proofsweep.domain.tables.columns import Row

RUN_COLUMN = "proofsweep_run"
"""The run that gave the outcome. A manifest with this column is a report."""

COLUMNS = (
    *("outcome", "reason", "what_to_do", "detail", "verdict", "http_status", "error_code"),
    *("audio_bytes", "audio_sha256", "uploads_request_id", "verify_request_id", "finished_at"),
    RUN_COLUMN,
)
"""The report's own columns. They come last, after `audio`, `sidecar`, `id` and the tags."""

SCREENING_PREFIX = "screening_"
"""Begins the names of columns that say which conditions of the config a file meets; they stand before `COLUMNS`."""

# A cell that begins so is a formula to a spreadsheet; the wide forms are for those of East Asia.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001 - these letters are meant


def own_columns(header: Sequence[str]) -> frozenset[int]:
    """Give the positions of a report's own columns in a header; none if it is no report.

    The last column of a name counts: a catalog may have a tag of the same name.
    """
    plain = [name.strip().lower() for name in header]
    if RUN_COLUMN not in plain:
        return frozenset()
    own = {len(plain) - 1 - plain[::-1].index(name) for name in COLUMNS if name in plain}
    before = takewhile(lambda at: plain[at].startswith(SCREENING_PREFIX), range(min(own) - 1, -1, -1))
    return frozenset(own.union(before))


def defused(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula; `restored` takes it away."""
    return f"'{text}" if _FORMULA.match(text) else text


def restored(text: str) -> str:
    """Give the text from which `defused` made this."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def own_cells(row: Row, what_to_do: str) -> list[object]:
    """Give the report's own cells of a row of `verdicts`."""
    known = row | {"what_to_do": what_to_do, RUN_COLUMN: row["run_id"]}
    return [known[name] for name in COLUMNS]
