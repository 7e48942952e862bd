"""The shards of a plan: work items as Parquet rows, in manifest order."""

from typing import Any

from proofsweep.domain.items import Row, WorkItem, declared_from, declared_json, raw_bytes
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.store.tables.columns import BYTES, FLAG, INT, TEXT, Column

COLUMNS = (
    Column("manifest_row", INT, "0-based row of the catalog", nullable=False),
    Column("item_id", TEXT, "as in verdicts", nullable=False),
    Column("audio", BYTES, "location as exact bytes, because a file name may not be UTF-8", nullable=False),
    Column("sidecar", BYTES, "location of the sidecar"),
    Column("audio_bytes", INT, "size when planned"),
    Column("audio_version", TEXT, "version when planned"),
    Column("tags", TEXT, "the manifest's further columns as a JSON object"),
    Column("reason", TEXT, "why the item is ineligible; null if it will be sent"),
    Column("detail", TEXT, "the reason in one sentence for a person"),
    Column("sidecar_version", TEXT, "version of the sidecar when planned"),
    Column("relative_path", TEXT, "as in verdicts"),
    Column(
        "declared", TEXT, "what the delivery says of the audio: JSON object of `size_bytes` and digests by algorithm"
    ),
    Column("is_delivered", FLAG, "whether the file is of a delivery"),
    Column("is_touched", FLAG, "whether only its time differs from what was answered, as far as a listing shows"),
    Column("manifest_line", TEXT, "as in verdicts"),
)


# Cells that a work item has under the same name: those that rows of `verdicts` have too, and all.
OF_ITEM = (
    *("manifest_row", "item_id", "audio_bytes", "audio_version"),
    *("sidecar_version", "relative_path", "manifest_line"),
)
_AS_PLANNED = (*OF_ITEM, "is_delivered", "is_touched")


def planned_row(item: WorkItem) -> Row:
    return {name: getattr(item, name) for name in _AS_PLANNED} | {
        "audio": raw_bytes(item.audio),
        "sidecar": None if item.sidecar is None else raw_bytes(item.sidecar),
        "tags": item.tags_json,
        "reason": str(item.ineligible.reason) if item.ineligible else None,
        "detail": item.ineligible.detail if item.ineligible else None,
        "declared": declared_json(item.declared),
    }


def planned_item(row: Row) -> WorkItem:
    cells: dict[str, Any] = row
    reason, declared = cells["reason"], cells["declared"]
    return WorkItem(
        **{name: cells[name] for name in _AS_PLANNED},
        audio=_location(cells["audio"]),
        sidecar=None if cells["sidecar"] is None else _location(cells["sidecar"]),
        tags_json=cells["tags"],
        declared=None if declared is None else declared_from(declared),
        ineligible=None if reason is None else Ineligible(Reason(reason), cells["detail"]),
    )


def _location(cell: bytes) -> str:
    return cell.decode("utf-8", "surrogateescape")
