"""How receipts of different runs hold each other: each names the digests of those that its writer saw.

Several processes may end legs at once, in stores without conditional writes, so the receipts form no line but a graph,
as the commits of a version control system do. Whoever keeps the digest of one receipt can check all that it leads to.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from proofsweep.domain import layout
from proofsweep.storage.results.plans_and_parts import sha256_hex
from proofsweep.storage.results.receipts import last_leg
from proofsweep.storage.results.store import Store

# Chosen: so many runs may end side by side before one is held by no later receipt. Half is little for a store that
# several machines use; twice makes the end of each leg wait for twice as many requests.
_NEWEST_RUNS = 8


@dataclass(frozen=True, slots=True)
class ReceiptLink:
    """A receipt of a leg or of a redaction, and the hex sha256 of its bytes."""

    name: str
    sha256: str


def newest_receipts(store: Store, run_id: str = "") -> list[ReceiptLink]:
    """Give the last receipts of the newest runs but one, and that of the last redaction.

    Raises:
        ResultsError: the store cannot be read.
    """
    others = [name for name in store.folders("_runs") if name != run_id][-_NEWEST_RUNS:]
    with ThreadPoolExecutor(_NEWEST_RUNS) as pool:
        found = list(pool.map(lambda other: _last_of_run(store, other), others))
    redactions = [name for name in store.names(layout.REDACTED_FOLDER) if name.endswith("-receipt.json")]
    return [link for link in (*found, _first(store, reversed(redactions))) if link is not None]


def _last_of_run(store: Store, run_id: str) -> ReceiptLink | None:
    """Give the last receipt of a run; its last leg may be at work."""
    last = last_leg(store, run_id)
    return _first(store, (layout.receipt_name(run_id, leg) for leg in range(last, 0, -1)))


def _first(store: Store, names: Iterable[str]) -> ReceiptLink | None:
    for name in names:
        content = store.read(name)
        if content is not None:
            return ReceiptLink(name, sha256_hex(content))
    return None
