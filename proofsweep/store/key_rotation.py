"""A rotation of the key as values: what was intended, what was answered, and what a refusal means. Pure."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from proofsweep.domain.models import KeyRecord
from proofsweep.domain.text import minute_of
from proofsweep.store.model_operations import Operation, OperationKind
from proofsweep.store.tables.columns import Row

REPLAY_WINDOW = timedelta(hours=24)  # contract, Limits: how long the same Idempotency-Key gives the same answer again
GRACE_WINDOW = timedelta(hours=72)  # contract, Limits: how long a rotated key still works


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
    """Return whether the old key of a rotation still works: then a repeat is rather a mistake than a wish."""
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
    record: KeyRecord
    is_in_use: bool | None = None  # whether it is the key of this call; None if no recorded rotation tells
    rotation: Rotation | None = None  # the recorded rotation that made it, if there is one
    replaced_by: Rotation | None = None  # the recorded rotation that replaced it, if there is one
