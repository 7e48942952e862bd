"""Broken registries of slots and proofs, broken meters and broken cursors."""

from proofsweep_sandbox.registry.meters import MeterReading, Meters
from proofsweep_sandbox.registry.proofs import Proof, Proofs
from proofsweep_sandbox.registry.slots import Slot, Slots
from proofsweep_sandbox.signatures import Signatures

from .broken_parts import BrokenPart, replacing
from .definition import PartReplacement


class _UploadsOfAll(BrokenPart, Slots):
    def by_upload(self, tenant: str, upload_id: str) -> Slot | None:
        """Return a slot of any tenant."""
        del tenant
        row = self._database.execute("SELECT * FROM slots WHERE upload_id = ?", (upload_id,)).fetchone()
        return None if row is None else Slot.of(row)


class _OneSlotAtATime(BrokenPart, Slots):
    def add(self, slot: Slot) -> None:
        """Forget the tenant's empty slots."""
        self._database.execute("DELETE FROM slots WHERE tenant = ? AND sha256 IS NULL", (slot.tenant,))
        super().add(slot)


class _PendingListed(BrokenPart, Proofs):
    def newest(self, tenant: str, before: tuple[int, int] | None, limit: int) -> list[Proof]:
        """List pending proofs too."""
        rows = self._database.execute("SELECT proof_id FROM proofs WHERE tenant = ? AND pending", (tenant,)).fetchall()
        pending = [self.owned(tenant, row["proof_id"]) for row in rows]
        return [*filter(None, pending), *super().newest(tenant, before, limit)]


class _NewestErasedToo(BrokenPart, Proofs):
    def erase(self, proof: Proof, now: int) -> None:
        """Erase the tenant's newest proof too."""
        super().erase(proof, now)
        for other in self.newest(proof.tenant, None, 1):
            super().erase(other, now)


class _CountedTwice(BrokenPart, Meters):
    def count(self, meter: str, now: float) -> MeterReading:
        """Count each call twice."""
        super().count(meter, now)
        return super().count(meter, now)


class _AnyListingsCursor(BrokenPart, Signatures):
    def sign(self, purpose: str, text: str) -> str:
        """Sign a cursor for all lists."""
        return super().sign("list" if " of " in purpose else purpose, text)


share_uploads: PartReplacement = replacing("slots", _UploadsOfAll)
forget_empty_slots: PartReplacement = replacing("slots", _OneSlotAtATime)
list_pending: PartReplacement = replacing("proofs", _PendingListed)
erase_newest_too: PartReplacement = replacing("proofs", _NewestErasedToo)
count_twice: PartReplacement = replacing("meters", _CountedTwice)
share_cursors: PartReplacement = replacing("signatures", _AnyListingsCursor)
