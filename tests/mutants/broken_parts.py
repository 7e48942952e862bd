"""Broken parts of the service: each takes the place of the correct part and shares its state."""

from collections.abc import Callable
from dataclasses import replace

from proofsweep_sandbox.clock import Clock
from proofsweep_sandbox.registry.keys import Key, Keys
from proofsweep_sandbox.registry.meters import MeterReading, Meters
from proofsweep_sandbox.registry.proofs import Proof, Proofs
from proofsweep_sandbox.seals.sidecars import SidecarSeals
from proofsweep_sandbox.signatures import Signatures
from proofsweep_sandbox.throttle import Throttle

from .definition import PartReplacement


class BrokenPart:
    """A part with the state of the correct one, and another behaviour."""

    def __init__(self, correct: object) -> None:
        self.__dict__ = correct.__dict__


class _AnyKeyAccepted(BrokenPart, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Take an unknown key as the first tenant's."""
        return super().by_secret(secret) or self.of_tenant(self.first_tenant() or "")[0]


class _OldKeyRefused(BrokenPart, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Refuse a key as soon as it is rotated."""
        key = super().by_secret(secret)
        return None if key is None or key.is_in_grace else key


class _NewKeyRefused(BrokenPart, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Refuse the key that a rotation has made."""
        key = super().by_secret(secret)
        return key if key is None or key.is_in_grace else None


class _NewestKeyHidden(BrokenPart, Keys):
    def of_tenant(self, tenant: str) -> list[Key]:
        """Omit the newest key."""
        return super().of_tenant(tenant)[:-1]


class _NothingCounted(BrokenPart, Meters):
    def count(self, meter: str, now: float) -> MeterReading:
        """Count nothing."""
        return self.read(meter, now)


class _TenantsIgnored(BrokenPart, Proofs):
    def owned(self, tenant: str, proof_id: str) -> Proof | None:
        """Return a proof of any tenant."""
        del tenant
        return self.find(proof_id)

    def newest(self, tenant: str, before: tuple[int, int] | None, limit: int) -> list[Proof]:
        """List the proofs of all tenants."""
        del tenant
        found: list[Proof] = []
        for row in self._database.execute("SELECT DISTINCT tenant FROM proofs").fetchall():
            found += super().newest(row["tenant"], before, limit)
        return sorted(found, key=lambda proof: (-proof.issued_at, -proof.seq))[:limit]


class _ErasedProofsKept(BrokenPart, Proofs):
    def erase(self, proof: Proof, now: int) -> None:
        """Keep the record."""


class _OneEntrySkipped(BrokenPart, Signatures):
    def cursor(self, listing: str, position: list[int]) -> str:
        """Skip one entry: keys are listed in ascending order, proofs in descending order."""
        step = 1 if listing.startswith("keys") else -1
        return super().cursor(listing, [*position[:-1], position[-1] + step])


class _AnySignatureAccepted(BrokenPart, SidecarSeals):
    def _is_signed(self, *_: object) -> bool:
        """Accept every signature."""
        return True


class _RotationLaneUsed(BrokenPart, Throttle):
    def wait_seconds(self, meter: str, name: str, now: float) -> int:
        """Throttle every call in the lane of rotation."""
        del name
        return super().wait_seconds(meter, "rotate", now)


class _ClockStopped(BrokenPart, Clock):
    def now(self) -> float:
        """Return the year 1970."""
        return 0.0


def both(first: PartReplacement, second: PartReplacement) -> PartReplacement:
    """Put two broken parts into the service."""
    return lambda service: second(first(service))


def replacing(name: str, part: Callable[[object], object]) -> PartReplacement:
    """Put a broken part into the service."""
    return lambda service: replace(service, **{name: part(getattr(service, name))})  # type: ignore[arg-type]  # by name


accept_any_key: PartReplacement = replacing("keys", _AnyKeyAccepted)
refuse_old_key: PartReplacement = replacing("keys", _OldKeyRefused)
refuse_new_key: PartReplacement = replacing("keys", _NewKeyRefused)
hide_newest_key: PartReplacement = replacing("keys", _NewestKeyHidden)
count_nothing: PartReplacement = replacing("meters", _NothingCounted)
ignore_tenants: PartReplacement = replacing("proofs", _TenantsIgnored)
keep_erased_proofs: PartReplacement = replacing("proofs", _ErasedProofsKept)
skip_one_entry: PartReplacement = replacing("signatures", _OneEntrySkipped)
accept_any_signature: PartReplacement = replacing("sidecars", _AnySignatureAccepted)
use_rotation_lane: PartReplacement = replacing("throttle", _RotationLaneUsed)
stop_clock: PartReplacement = replacing("clock", _ClockStopped)
