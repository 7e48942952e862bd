"""Which legs a run has, and the parts that their receipts name: read by name, since a listing may lag behind."""

import json
from dataclasses import dataclass

from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a table as read back: its name, rows and hex sha256.

    Attributes:
        merkle_root: over its rows, in hex, as the part says it; None for a part that was described by a receipt.
    """

    name: str
    rows: int
    sha256: str
    merkle_root: str | None = None

    def document(self) -> dict[str, object]:
        """Give what a receipt says of it under `parts`; the roots have a place of their own."""
        return {"name": self.name, "rows": self.rows, "sha256": self.sha256}


def last_leg(store: Store, run_id: str) -> int:
    """Give the number of the last leg, 0 without one. A leg exists if its claim exists: its folder may come earlier."""
    listed = [int(name) for name in store.folders(layout.legs_folder(run_id)) if name.isdecimal()]
    last = max(listed, default=0)
    while last and not has_claim(store, run_id, last):
        last -= 1
    while has_claim(store, run_id, last + 1):
        last += 1
    return last


def has_claim(store: Store, run_id: str, leg: int) -> bool:
    """Say whether a leg exists."""
    return store.read(layout.claim_name(run_id, leg)) is not None


def receipt_of(store: Store, run_id: str, leg: int) -> dict[str, object] | None:
    """Read how a leg ended; None while it runs.

    Raises:
        ResultsError: it is damaged.
    """
    content = store.read(layout.receipt_name(run_id, leg))
    try:
        document = None if content is None else json.loads(content)
    except ValueError as damage:
        name = layout.receipt_name(run_id, leg)
        raise ResultsError(
            f"{name} in the results store {store.url} is damaged: it is not a whole receipt. Restore it from a backup."
        ) from damage
    return document if isinstance(document, dict) else None


def ended_parts(store: Store, run_id: str) -> dict[int, list[Part]]:
    """Give the parts of each leg that has ended, by its receipt."""
    receipts = {leg: receipt_of(store, run_id, leg) for leg in range(1, last_leg(store, run_id) + 1)}
    named = {leg: receipt.get("parts") for leg, receipt in receipts.items() if receipt is not None}
    return {leg: [Part(**part) for part in parts] for leg, parts in named.items() if isinstance(parts, list)}
