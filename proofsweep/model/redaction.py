"""What a redaction takes from rows, and the documents that say so. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated

from pydantic import StringConstraints

from proofsweep.model.tables import planned_items
from proofsweep.model.tables.registry import TABLES

MARKER = "redacted"
"""What stands in a cell whose content is gone, where the table allows no null."""

KEPT = {name: table.kept for name, table in TABLES.items() if table.kept} | {"_runs": planned_items.KEPT}
"""The columns that a redacted row keeps, by the first folder of the names of the objects that hold rows of items.

Counts stay right, and a run can go on, by these: none of them tells what the item was.
"""

Digest = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2})*$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedObject:
    """An object of the store that loses the content of some rows.

    Attributes:
        sha256: of the object before, in hex.
        rows: the hex digest of each of these rows, by its index in the object, counted from 0; of rows without a salt,
            a random number stands for it, since their content could be guessed from the digest.
        merkle_root: over all rows and these numbers, in hex; None if the leg's receipt has the root that counts.
    """

    name: str
    sha256: str
    rows: Mapping[int, Digest]
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
        """Return the intent as JSON-ready values."""
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
    earlier_receipts: tuple[Mapping[str, str], ...] = ()
