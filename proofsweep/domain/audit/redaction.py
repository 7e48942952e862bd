"""What a redaction takes from rows, and the documents that say so. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from proofsweep.domain.tables import ingest, interpretations, planned_items, proofs, recoveries, verdicts
from proofsweep.domain.tables.columns import BYTES, Column

MARKER = "redacted"
"""What stands in a cell whose content is gone, where the table allows no null."""

_COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "verdicts": verdicts.COLUMNS,
    "ingest": ingest.COLUMNS,
    "recoveries": recoveries.COLUMNS,
    "proofs": proofs.COLUMNS,
    "interpretations": interpretations.COLUMNS,
    "_runs": planned_items.COLUMNS,
}
"""The columns of the objects that hold rows of items, by the first folder of their names."""

# Counts stay right, and a run can go on, by these: none of them tells what the item was.
_KEPT = {
    "verdicts": (
        *("run_id", "leg", "environment", "manifest_row", "outcome", "accepted", "action"),
        *("verify_attempts", "calls", "epoch"),
    ),
    "ingest": ("run_id", "leg", "environment", "watched", "outcome", "tries", "disposition", "acted_at"),
    "recoveries": ("operation_id", "environment", "outcome", "acted_at"),
    "proofs": ("operation_id", "environment", "state"),
    "interpretations": ("operation_id", "environment", "status", "asks", "asked_at"),
    "_runs": ("manifest_row", "reason"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedObject:
    """An object of the store that loses the content of some rows.

    Attributes:
        sha256: of the object before, in hex.
        rows: the hex digest of each of these rows, by its place in the object, counted from 0; of rows without a salt,
            a random number stands for it, since their content could be guessed from the digest.
        merkle_root: over all rows and these numbers, in hex; None if the leg's receipt has the root that counts.
    """

    name: str
    sha256: str
    rows: Mapping[int, str]
    merkle_root: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A redaction as it was decided; it names no item.

    Attributes:
        number: counts the redactions of the store from 1.
        decided_at: ISO instant in UTC.
    """

    number: int
    decided_at: str
    objects: tuple[RedactedObject, ...]
    proofsweep_version: str = ""

    def document(self) -> dict[str, object]:
        """Give the intent as JSON-ready values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """That a redaction came to its end.

    Attributes:
        intent_sha256: of the intent, in hex.
        objects: the hex sha256 of each object afterwards, by its name.
        earlier_receipts: names and digests of its intent and of the receipts that it saw.
    """

    intent_sha256: str
    completed_at: str
    objects: Mapping[str, str]
    earlier_receipts: Sequence[Mapping[str, str]] = ()


def is_kept(folder: str, column: str) -> bool:
    """Say whether a redacted row keeps its cell of a column."""
    return column in _KEPT[folder]


def markers_of(folder: str) -> dict[str, str | bytes]:
    """Give what stands in the cells of a redacted row that may not be null, by column."""
    needed = [column for column in _COLUMNS[folder] if not column.nullable and not is_kept(folder, column.name)]
    return {column.name: MARKER.encode() if column.kind == BYTES else MARKER for column in needed}
