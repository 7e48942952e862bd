"""Prove one row: what was recorded of an item, and how the receipt of its leg holds it, without the other rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from proofsweep.audit.leg_receipts import LegReceipt, read_receipts
from proofsweep.audit.rows_of_item import read_object, rows_of_item
from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.model.findings import Findings
from proofsweep.model.redaction import Redaction
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.redactions import recorded_digests, redactions_of
from proofsweep.store.row_digests import canonical_rows, levels_of, path_in

SAYS = "This is what proofsweep recorded. The service that it is about signed nothing."
NO_RECEIPT = "is of a leg that has no receipt yet: nothing holds its rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvablePart:
    """A part whose rows can be proved one by one."""

    name: str
    receipt: LegReceipt
    rows: pa.Table  # all of them; the content of redacted ones is gone
    levels: Sequence[Sequence[bytes]]  # the tree over their digests, the rows first, the root alone last
    redacted: Mapping[int, Redaction]  # the redaction of each row whose content is gone, by its index

    def proofs(self, indexes: Sequence[int]) -> Iterator[dict[str, object]]:
        """Yield the proof of each row at some indexes, as JSON-ready values."""
        texts = canonical_rows(self.rows.take(pa.array(indexes, pa.int64())))
        for index, text in zip(indexes, texts, strict=True):
            is_there = index not in self.redacted
            proof: dict[str, object] = {
                "row": text.decode() if is_there else None,
                "part": self.name,
                "index": index,
                "rows": self.rows.num_rows,
                "path": [digest.hex() for digest in path_in(self.levels, index)],
            }
            yield proof if is_there else proof | {"row_sha256": self.levels[0][index].hex()}


def prove(results: Results, item: str, run_id: str | None = None) -> dict[str, object]:
    """Return the proof of an item's newest row, of all runs or one, as JSON-ready values (see docs/audit.md).

    `item` is its ID, or the location of its audio. ResultsError if there is no such row, no receipt holds it, or it is
    not as it was recorded.
    """
    found = [each for each in rows_of_item(results, item) if each.name.startswith("verdicts/")]
    found = [each for each in found if run_id in {None, layout.run_of(each.name)}]
    if not found:
        raise ResultsError(f"There is no row of an item {item!r} in {results.store.url}, or it was pruned or redacted.")
    newest = max(found, key=lambda each: layout.run_of(each.name))
    receipt = read_receipts(results.store, layout.run_of(newest.name), Findings()).get(layout.leg_of(newest.name))
    if receipt is None:
        raise ResultsError(f"{newest.name} {NO_RECEIPT}.")
    part = provable_part(results, newest.name, receipt, redactions_of(results.store))
    [proof] = part.proofs(newest.indexes[-1:])
    return {
        "says": SAYS,
        **proof,
        "merkle_root": part.levels[-1][0].hex(),
        "receipt": (results.store.read(receipt.name) or b"").decode(),
        "receipt_name": receipt.name,
        "receipt_sha256": receipt.sha256,
    }


def provable_part(results: Results, name: str, receipt: LegReceipt, redactions: Iterable[Redaction]) -> ProvablePart:
    """Read a part, and hold it against the receipt of its leg; ResultsError if it is not as the receipt says."""
    table, known = read_object(results, name), list(redactions)
    levels = levels_of(recorded_digests(table, name, known))
    if levels[-1][0].hex() != receipt.merkle_roots.get(name):
        raise ResultsError(f"{name} is not as its receipt says: run proofsweep audit.")
    redacted = {
        index: redaction
        for redaction in known
        for each in redaction.objects
        if each.name == name
        for index in each.rows
    }
    return ProvablePart(name=name, receipt=receipt, rows=table, levels=levels, redacted=redacted)
