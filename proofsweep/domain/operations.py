"""Operations: uses of the partner's other endpoints, which are no verification runs; and rotations of a key. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from proofsweep.domain.items import Row
from proofsweep.domain.runs import new_run_id
from proofsweep.domain.text import minute_of

if TYPE_CHECKING:  # what only reads a store starts without pydantic
    from proofsweep.domain.models import KeyRecord

REPLAY_WINDOW = timedelta(hours=24)  # contract, Limits: how long the same Idempotency-Key gives the same answer again
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

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Operation":
        """Read one from its document; KeyError, TypeError or ValueError if it is damaged."""
        members = {each.name: document[each.name] for each in fields(cls)}
        return cls(**members | {"started_at": datetime.fromisoformat(document["started_at"])})

    @property
    def run_id(self) -> str:
        return self.operation_id

    @property
    def partitions(self) -> int:
        return 1

    @property
    def run_date(self) -> date:
        return self.started_at.astimezone(UTC).date()

    def document(self) -> dict[str, object]:
        return asdict(self) | {"started_at": self.started_at.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationIntent:
    """Written before the first call, one for each key: a key can be rotated only once."""

    operation_id: str  # names the rotation in all tables
    idempotency_key: str  # makes each repeat of the call give the same answer. It is worthless without the old key.
    environment: str
    base_url: str
    key_fingerprint: str  # of the key that is rotated
    location: str  # where the new key goes, for a person
    created_at: str  # ISO instant

    @classmethod
    def of(cls, operation: Operation, idempotency_key: str, key_fingerprint: str, location: str) -> "RotationIntent":
        return cls(
            operation_id=operation.operation_id,
            idempotency_key=idempotency_key,
            environment=operation.environment,
            base_url=operation.base_url,
            key_fingerprint=key_fingerprint,
            location=location,
            created_at=operation.started_at.isoformat(),
        )

    @property
    def requested_at(self) -> datetime:
        return datetime.fromisoformat(self.created_at)

    @property
    def operation(self) -> Operation:
        return Operation(
            operation_id=self.operation_id,
            kind=OperationKind.ROTATION,
            environment=self.environment,
            base_url=self.base_url,
            started_at=self.requested_at,
        )


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

    def row(self) -> Row:
        return asdict(self)


def is_recent(rotation: Rotation, now: datetime) -> bool:
    return now < rotation.old_key_ends_at


def why_conflict(intent: RotationIntent, now: datetime, *, was_asked_before: bool) -> str:
    """Explain a 409 (contract, Errors 6); an earlier command may have rotated the key and lost the answer."""
    elsewhere = (
        "The key was rotated before, elsewhere: by a person, another machine or another results store. It works until "
        f"{_hours(GRACE_WINDOW)} hours after that. Get the new key from whoever has it, or ask the partner."
    )
    if not was_asked_before:
        return elsewhere
    began = minute_of(intent.requested_at.astimezone(UTC))
    if now - intent.requested_at < REPLAY_WINDOW:
        return f"This rotation began at {began}, and the service does not answer it again. {elsewhere}"
    ends = intent.requested_at.astimezone(UTC) + GRACE_WINDOW
    return (
        f"This rotation began at {began}; its answer is given again for {_hours(REPLAY_WINDOW)} hours only, and these "
        f"are over. Nobody can get the new key any more: ask the partner for another one. The old key ends at "
        f"{minute_of(ends)} at the latest."
    )


def _hours(window: timedelta) -> int:
    return int(window.total_seconds() // 3600)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretBlocks:
    """Reads, writes and deletes secret blocks of the orchestrator; each raises ConfigError when it cannot."""

    read: Callable[[str], str]
    write: Callable[[str, str], None]
    delete: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ListedKey:
    record: "KeyRecord"
    is_in_use: bool | None = None  # whether it is the key of this call; None if no recorded rotation tells
    rotation: Rotation | None = None  # the recorded rotation that made it, if there is one
    replaced_by: Rotation | None = None  # the recorded rotation that replaced it, if there is one
