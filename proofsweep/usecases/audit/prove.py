"""Prove one row: what was recorded of an item, and how the receipt of its leg holds it, without the other rows."""

from proofsweep.domain import layout
from proofsweep.domain.audit.findings import Findings
from proofsweep.domain.audit.merkle import levels_of, path_in
from proofsweep.errors import ResultsError
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.redactions import recorded_digests, redactions_of
from proofsweep.storage.results.row_digests import canonical_rows
from proofsweep.usecases.audit.find_item import Found, read_object, rows_of_item
from proofsweep.usecases.audit.leg_receipts import read_receipts

_SAYS = "This is what proofsweep recorded. The service that it is about signed nothing."


def prove(results: Results, item: str, run_id: str | None = None) -> dict[str, object]:
    """Give the proof of an item's newest row, as JSON-ready values; docs/audit.md says how to check it.

    Args:
        results: where the runs are.
        item: its ID, or the location of its audio.
        run_id: the run whose row is wanted; None takes the newest run that has one.

    Raises:
        ResultsError: there is no such row, no receipt holds it, or it is not as it was recorded.
    """
    found = [each for each in rows_of_item(results, item) if each.name.startswith("verdicts/")]
    found = [each for each in found if run_id in {None, layout.run_of(each.name)}]
    if not found:
        raise ResultsError(f"There is no row of an item {item!r} in {results.store.url}, or it was pruned or redacted.")
    return _proof_of(results, max(found, key=lambda each: layout.run_of(each.name)))


def _proof_of(results: Results, found: Found) -> dict[str, object]:
    receipt = read_receipts(results.store, layout.run_of(found.name), Findings()).get(layout.leg_of(found.name))
    if receipt is None:
        raise ResultsError(f"The leg of {found.name} has no receipt yet: nothing holds its rows.")
    root = receipt.merkle_roots.get(found.name)
    if root is None:
        raise ResultsError(f"{found.name} is of an earlier version and has no Merkle root for single rows.")
    table, place = read_object(results, found.name), found.places[-1]
    levels = levels_of(recorded_digests(table, found.name, redactions_of(results.store)))
    if levels[-1][0].hex() != root:
        raise ResultsError(f"{found.name} is not as its receipt says: run proofsweep audit.")
    return {
        "says": _SAYS,
        "row": canonical_rows(table.slice(place, 1))[0].decode(),
        "part": found.name,
        "place": place,
        "rows": table.num_rows,
        "path": [digest.hex() for digest in path_in(levels, place)],
        "merkle_root": root,
        "receipt": (results.store.read(receipt.name) or b"").decode(),
        "receipt_name": receipt.name,
        "receipt_sha256": receipt.sha256,
    }
