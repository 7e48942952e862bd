"""Operations: uses of the partner's other endpoints, which are no verification runs; and rotations of a key. Pure."""

from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from proofsweep.domain.runs import new_run_id

GRACE_WINDOW = timedelta(hours=72)  # contract, Limits: how long a rotated key still works


class OperationKind(StrEnum):
    """What a run does that verifies no catalog; each kind has a table of its own."""

    INVENTORY = "inventory"
    INTERPRETATIONS = "interpretations"
    RECOVERY = "recovery"
    ROTATION = "rotation"
    ERASURE = "erasure"

    @property
    def table(self) -> str:
        return _TABLES[self]


_TABLES = {
    OperationKind.INVENTORY: "proofs",
    OperationKind.INTERPRETATIONS: "interpretations",
    OperationKind.RECOVERY: "recoveries",
    OperationKind.ROTATION: "rotations",
    OperationKind.ERASURE: "erasures",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A run of another kind than verifying a catalog, as its `plan.json` has it."""

    operation_id: str  # made as the IDs of runs are, so IDs sort by time; it names the kind
    kind: str
    environment: str  # the service's label
    base_url: str
    started_at: datetime

    @classmethod
    def named(cls, kind: OperationKind, tail: str, environment: str, base_url: str, now: datetime) -> "Operation":
        """Make one that begins now; `tail` is random, in hex."""
        operation_id = new_run_id(now, f"_{kind}_{tail}")
        return cls(operation_id=operation_id, kind=kind, environment=environment, base_url=base_url, started_at=now)

    @property
    def run_id(self) -> str:
        return self.operation_id

    @property
    def partitions(self) -> int:
        return 1

    @property
    def run_date(self) -> date:
        return self.started_at.astimezone(UTC).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationIntent(Operation):
    """Written before the first call, one for each key: a key can be rotated only once."""

    idempotency_key: str  # makes each repeat of the call give the same answer. It is worthless without the old key.
    key_fingerprint: str  # of the key that is rotated
    location: str  # where the new key goes, for a person

    @property
    def operation(self) -> Operation:
        """What its plan holds: all but the Idempotency-Key."""
        return Operation(**{each.name: getattr(self, each.name) for each in fields(Operation)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """A row of `rotations`: what the service answered. It never holds a key."""

    operation_id: str
    environment: str
    key_fingerprint: str
    new_key_fingerprint: str
    requested_at: datetime
    answered_at: datetime
    key_id: str | None = None
    new_key_id: str | None = None
    new_key_name: str | None = None
    previous_key_expires_at: datetime | None = None
    replayed: bool = False
    request_id: str | None = None

    @property
    def old_key_ends_at(self) -> datetime:
        """When the old key ends: as the service said, else by the contract (Limits: 72 hours)."""
        return self.previous_key_expires_at or self.requested_at + GRACE_WINDOW
