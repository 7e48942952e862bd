"""The legs of a run: each is a term of the run's lease, and its receipt says how it ended."""

from dataclasses import dataclass

from proofsweep.domain.errors import RunIsActive
from proofsweep.store import layout
from proofsweep.store.lease import Lease
from proofsweep.store.store import sha256_hex


@dataclass(frozen=True, slots=True)
class Legs(Lease):
    """The legs of one run; the lease is named by the run's ID."""

    @property
    def run_id(self) -> str:
        return self.name

    def numbers(self) -> list[int]:
        return list(range(1, self.last() + 1))

    def in_doubt_before(self, leg: int) -> frozenset[int]:
        """Return the rows that were in doubt when the last leg before this one ended that has a receipt."""
        receipts = (self.receipt(number) for number in range(leg - 1, 0, -1))
        rows = next((receipt for receipt in receipts if receipt is not None), {}).get("in_doubt")
        return frozenset(row for row in rows if isinstance(row, int)) if isinstance(rows, list) else frozenset()

    def active_error(self, number: int) -> RunIsActive:
        return RunIsActive(
            f"Leg {number} of run {self.run_id} is being worked on by {self.who_holds(number)}; "
            f"see: proofsweep status {self.run_id}"
        )

    def epoch(self, leg: int) -> int:
        """Return the epoch of a leg, by its claim; 0 if there is none that can be read."""
        holder = self.holder(leg)
        epoch = None if holder is None else holder.facts.get("epoch")
        return epoch if isinstance(epoch, int) else 0

    def receipt_digest(self, leg: int) -> str | None:
        content = self.results.store.read(layout.receipt_name(self.run_id, leg))
        return None if content is None else sha256_hex(content)
