"""The table of what needs attention: it sorts and searches in the browser, and shows all foreign text as text."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import itables
import pandas as pd
from itables.javascript import generate_init_offline_itables_html

from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.files.locations import path_of, path_within
from proofsweep.model.tables.columns import Row
from proofsweep.text import printable

# Some megabyte of text, so that the whole page stays below three.
_MOST_FILES = 5_000
_LONGEST_NAME = 200

_COLUMNS = ["audio", "outcome", "reason", "verify_request_id", "tags"]


@dataclass(frozen=True, slots=True)
class AttentionTable:
    """The table as HTML, and how many files are not in it."""

    html: str
    left_out: int


def attention_table(selected: SelectedRows, rows: int) -> AttentionTable:
    """Make the table of these rows, and count those that it leaves out; ResultsError if the store cannot be read."""
    chosen = list(islice(_entries(selected), _MOST_FILES))
    if not chosen:
        return AttentionTable("", 0)
    library = generate_init_offline_itables_html(Path(itables.options.dt_bundle)).partition("<noscript>")[0] + "</div>"
    table = itables.to_html_datatable(
        pd.DataFrame(chosen).loc[:, lambda frame: (frame != "").any()],  # no column without a word
        connected=False,
        allow_html=False,
        maxBytes=0,
        showIndex=False,
        table_id="attention",
        column_filters="header",
        lengthMenu=[25, 100, 1000],
        layout={"topStart": "search", "topEnd": "pageLength", "bottomStart": "info", "bottomEnd": "paging"},
        classes="display compact",
        style="width:100%",
        display_logo_when_loading=False,
    )
    return AttentionTable(library + table, max(rows - len(chosen), 0))


def _entries(selected: SelectedRows) -> Iterator[dict[str, str]]:
    for plan, table in selected.tables(_COLUMNS):
        root = "" if plan.catalog_root is None else path_of(plan.catalog_root, "/")
        yield from (_entry(row, root) for row in table.to_pylist())


def _entry(row: Row, root: str) -> dict[str, str]:
    audio, reason = str(row["audio"]), str(row["reason"] or "")
    return {
        "file": _shortened(path_within(audio, root) if root else audio),
        "outcome": str(row["outcome"]),
        "reason": _shortened(reason),
        "tags": _shortened(", ".join(f"{name}: {cell}" for name, cell in json.loads(str(row["tags"] or "{}")).items())),
        "request ID": _shortened(str(row["verify_request_id"] or "")),
    }


def _shortened(text: str) -> str:
    """Write text on one line; of a very long name the end counts."""
    line = printable(text)
    return line if len(line) <= _LONGEST_NAME else "…" + line[-_LONGEST_NAME:]
