"""A completion report: a manifest that also says of each row how it ended. It can be verified again as it is. Pure."""

import re
from collections.abc import Mapping, Sequence

from proofsweep.domain.reasons import advice_for_outcome, plain_words_for

RUN_COLUMN = "proofsweep_run"  # The run that gave the outcome. A manifest with this column is a report.

FILE_COLUMN = "file"  # The file as seen from the catalog's root, for people: it comes first, before the tags.

READ = (
    *("outcome", "in_words", "what_to_do", "for_supplier", "detail", "reason", "verdict", "http_status", "error_code"),
    *("audio_bytes", "finished_at"),
)
"""What people read of a row. It stands after the tags."""

NAMED = (
    *("manifest_line", "audio", "sidecar", "id", "audio_sha256", "proof_id", "uploads_request_id", "verify_request_id"),
    RUN_COLUMN,
)
"""Locations and IDs, for the next run and for support. They come last."""

_MADE = {FILE_COLUMN, "in_words", "what_to_do", "for_supplier", "id", RUN_COLUMN}
CELLS = (
    *(name for name in (*READ, *NAMED) if name not in _MADE),
    *("relative_path", "item_id", "run_id"),
)
"""The columns of `verdicts` that a report is made of, but for the tags."""

SHEETS = ("totals", "files")
"""The sheets of a report as a workbook. The second has the rows: it is the one that is read as a manifest."""

# Text that begins so is a formula to a spreadsheet; the wide forms are for those of East Asia. One that cuts cells at
# semicolons or tabs finds beginnings inside of our cells.
_BEGINNING = r"(^|[;\t\r\n])"
_FORMULA = r"(?=[\"']*[=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001 - these letters are meant
_UNSAFE = re.compile(f"{_BEGINNING}{_FORMULA}")
_DEFUSED = re.compile(f"{_BEGINNING}'{_FORMULA}")


def own_columns(header: Sequence[str]) -> Mapping[str, int]:
    """Return the positions of a report's own columns in a header, by their names; none if it is no report.

    A catalog may have tags of such names. So the last column of a name counts, of `file` the first.
    """
    plain = [name.strip().lower() for name in header]
    if RUN_COLUMN not in plain:
        return {}
    own = {name: len(plain) - 1 - plain[::-1].index(name) for name in (*READ, *NAMED) if name in plain}
    return own | ({FILE_COLUMN: plain.index(FILE_COLUMN)} if FILE_COLUMN in plain else {})


def defused(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula; `restored` takes it away."""
    return _UNSAFE.sub(r"\1'", text)


def restored(text: str) -> str:
    """Return the text from which `defused` made this."""
    return _DEFUSED.sub(r"\1", text)


def own_header() -> list[str]:
    """Return the names of a report's own columns; the tags stand between the first and the others."""
    return [FILE_COLUMN, *READ, *NAMED]


def own_cells(row: Mapping[str, object], for_supplier: str | None) -> list[object]:
    """Return the report's own cells of a row of `verdicts`, in the order of `own_header`."""
    outcome, reason = str(row["outcome"]), str(row["reason"] or "")
    is_alone = row.get("sidecar", "") is None
    known = dict(row) | {
        "in_words": plain_words_for(outcome, reason),
        "what_to_do": advice_for_outcome(outcome, reason, is_alone=is_alone),
    }
    known |= {"for_supplier": for_supplier, "id": row["item_id"], RUN_COLUMN: row["run_id"]}
    file = row["audio"] if row["relative_path"] is None else row["relative_path"]
    return [file, *(known[name] for name in (*READ, *NAMED))]
