"""Where a file of the tables is: they hold its place as UTF-8 text, and the planned items hold each byte of it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import location_of
from proofsweep.store import layout
from proofsweep.store.parts import ITEMS, Results, read_table

_PLACED = pa.schema([ITEMS.field(name) for name in ("manifest_row", "audio", "sidecar")])
_ESCAPE = "\\x"  # `utf8_text` writes a byte that is not UTF-8 so; a name may hold the same letters

_Cells = dict[str, Any]  # of a row of `verdicts`, with its `run_id` and `manifest_row`


def with_locations(results: Results, rows: Iterable[_Cells]) -> list[_Cells]:
    """Return rows of `verdicts`, or of `Latest`, whose `audio` and `sidecar` are locations, in their order.

    A row is left out if only the planned items know the bytes of its places, and they were pruned or are damaged.
    ResultsError if the store cannot be read.
    """
    in_question = list(rows)
    numbers: defaultdict[str, list[int]] = defaultdict(list)  # of manifest rows, by run
    for row in in_question:
        if _is_unsure(row):
            numbers[row["run_id"]].append(row["manifest_row"])
    planned: dict[tuple[str, int], _Cells] = {}
    for run_id, manifest_rows in numbers.items():
        for cells in _planned(results, run_id, manifest_rows):
            planned[run_id, cells["manifest_row"]] = cells
    located: list[_Cells] = []
    for row in in_question:
        item = planned.get((row["run_id"], row["manifest_row"]))
        if not _is_unsure(row):
            located.append(row)
        elif item is not None:
            located.append(row | _locations(row, item))
    return located


def _is_unsure(row: _Cells) -> bool:
    return _ESCAPE in (row["audio"] or "") or _ESCAPE in (row.get("sidecar") or "")


def _locations(row: _Cells, item: _Cells) -> _Cells:
    locations: _Cells = {"audio": location_of(item["audio"])}
    if row.get("sidecar") is not None:
        locations["sidecar"] = location_of(item["sidecar"])
    return locations


def _planned(results: Results, run_id: str, manifest_rows: list[int]) -> Iterator[_Cells]:
    record = results.log.known.records.get(run_id)
    if record is None:
        return
    for number in sorted({row // record.plan.batch_items for row in manifest_rows}):
        name = layout.items_name(run_id, number)
        # Read outside of `suppress`: a store that fails has pruned nothing.
        content = results.store.read(name)
        with suppress(ResultsError):
            table = read_table(results.store, name, _PLACED, content or b"")
            yield from table.filter(pc.field("manifest_row").isin(manifest_rows)).to_pylist()
