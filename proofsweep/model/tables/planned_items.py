"""The shards of a plan: work items as Parquet rows, in manifest order."""

from proofsweep.model.declared import declared_from, declared_json
from proofsweep.model.items import WorkItem, raw_bytes
from proofsweep.model.reasons import Ineligible, Reason
from proofsweep.model.tables.columns import BYTES, FLAG, INT, TEXT, Column, Row

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


def planned_row(item: WorkItem) -> Row:
    return {
        "manifest_row": item.manifest_row,
        "item_id": item.item_id,
        "audio": raw_bytes(item.audio),
        "sidecar": None if item.sidecar is None else raw_bytes(item.sidecar),
        "audio_bytes": item.audio_bytes,
        "audio_version": item.audio_version,
        "tags": item.tags_json,
        "reason": str(item.ineligible.reason) if item.ineligible else None,
        "detail": item.ineligible.detail if item.ineligible else None,
        "sidecar_version": item.sidecar_version,
        "relative_path": item.relative_path,
        "declared": declared_json(item.declared),
        "is_delivered": item.is_delivered,
        "is_touched": item.is_touched,
        "manifest_line": item.manifest_line,
    }


def planned_item(row: Row) -> WorkItem:
    reason, detail = row["reason"], row["detail"]
    sidecar = row["sidecar"]
    return WorkItem(
        manifest_row=int(str(row["manifest_row"])),
        item_id=str(row["item_id"]),
        audio=_location(row["audio"]),
        sidecar=None if sidecar is None else _location(sidecar),
        audio_bytes=_maybe_int(row["audio_bytes"]),
        audio_version=_maybe_text(row["audio_version"]),
        tags_json=_maybe_text(row["tags"]),
        sidecar_version=_maybe_text(row["sidecar_version"]),
        relative_path=_maybe_text(row["relative_path"]),
        declared=None if row["declared"] is None else declared_from(str(row["declared"])),
        is_delivered=bool(row["is_delivered"]),
        is_touched=bool(row["is_touched"]),
        manifest_line=_maybe_text(row["manifest_line"]),
        ineligible=None if reason is None else Ineligible(Reason(str(reason)), str(detail)),
    )


def _location(cell: object) -> str:
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else ""


def _maybe_int(cell: object) -> int | None:
    return cell if isinstance(cell, int) else None


def _maybe_text(cell: object) -> str | None:
    return cell if isinstance(cell, str) else None
