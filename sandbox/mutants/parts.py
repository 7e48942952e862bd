"""Parts of the service that err: each is put in the place of the true one, and shares all of its state."""

from collections.abc import Callable
from dataclasses import replace

from sandbox.clock import Clock
from sandbox.mutants.mutant import Swap
from sandbox.registry.keys import Key, Keys
from sandbox.registry.meters import Meters, Reading
from sandbox.registry.proofs import Proof, Proofs
from sandbox.seals.sidecars import SidecarSeals
from sandbox.signatures import Signatures
from sandbox.throttle import Throttle


class _Erring:
    """Stands in for a part: the same state, and another mind."""

    def __init__(self, true: object) -> None:
        self.__dict__ = true.__dict__


class _OpenDoor(_Erring, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Let everybody in: whose key is not known is taken for the first tenant."""
        return super().by_secret(secret) or self.of_tenant(self.first_tenant() or "")[0]


class _NoGrace(_Erring, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Refuse a key as soon as it is rotated."""
        key = super().by_secret(secret)
        return None if key is None or key.is_in_grace else key


class _OnlyGrace(_Erring, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Refuse the key that a rotation has made."""
        key = super().by_secret(secret)
        return key if key is None or key.is_in_grace else None


class _LatestUnlisted(_Erring, Keys):
    def of_tenant(self, tenant: str) -> list[Key]:
        """Leave the newest key out."""
        return super().of_tenant(tenant)[:-1]


class _FreeOfCharge(_Erring, Meters):
    def count(self, meter: str, now: float) -> Reading:
        """Count nothing."""
        return self.read(meter, now)


class _OneTenant(_Erring, Proofs):
    def owned(self, tenant: str, proof_id: str) -> Proof | None:
        """Give anybody's proof to anybody."""
        del tenant
        return self.find(proof_id)

    def newest(self, tenant: str, before: tuple[int, int] | None, limit: int) -> list[Proof]:
        """List everybody's proofs."""
        del tenant
        found: list[Proof] = []
        for row in self._database.execute("SELECT DISTINCT tenant FROM proofs").fetchall():
            found += super().newest(row["tenant"], before, limit)
        return sorted(found, key=lambda proof: (-proof.issued_at, -proof.seq))[:limit]


class _NothingForgotten(_Erring, Proofs):
    def erase(self, proof: Proof, now: int) -> None:
        """Keep the record."""


class _ForwardCursors(_Erring, Signatures):
    def cursor(self, listing: str, place: list[int]) -> str:
        """Point one entry too far: keys count upwards, proofs downwards."""
        step = 1 if listing.startswith("keys") else -1
        return super().cursor(listing, [*place[:-1], place[-1] + step])


class _UnsignedSidecars(_Erring, SidecarSeals):
    def _is_signed(self, *_: object) -> bool:
        """Take every signature for ours."""
        return True


class _OneLane(_Erring, Throttle):
    def wait_seconds(self, meter: str, name: str, now: float) -> int:
        """Let all calls go in the lane of rotation."""
        del name
        return super().wait_seconds(meter, "rotate", now)


class _StoppedClock(_Erring, Clock):
    def now(self) -> float:
        """Say that it is 1970."""
        return 0.0


def _swap(name: str, part: Callable[[object], object]) -> Swap:
    return lambda service: replace(service, **{name: part(getattr(service, name))})  # type: ignore[arg-type]  # by name


open_door: Swap = _swap("keys", _OpenDoor)
no_grace: Swap = _swap("keys", _NoGrace)
only_grace: Swap = _swap("keys", _OnlyGrace)
latest_unlisted: Swap = _swap("keys", _LatestUnlisted)
free_of_charge: Swap = _swap("meters", _FreeOfCharge)
one_tenant: Swap = _swap("proofs", _OneTenant)
nothing_forgotten: Swap = _swap("proofs", _NothingForgotten)
forward_cursors: Swap = _swap("signatures", _ForwardCursors)
unsigned_sidecars: Swap = _swap("sidecars", _UnsignedSidecars)
one_lane: Swap = _swap("throttle", _OneLane)
stopped_clock: Swap = _swap("clock", _StoppedClock)
