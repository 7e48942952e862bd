"""Operations: uses of the partner's other endpoints, which are no verification runs. Pure."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from http import HTTPStatus

from pydantic import TypeAdapter

from proofsweep.domain.exchanges import Call


class OperationKind(StrEnum):
    INVENTORY = "inventory"
    INTERPRETATIONS = "interpretations"
    RECOVERY = "recovery"
    ROTATION = "rotation"
    ERASURE = "erasure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One inventory, one recovery of sidecars."""

    operation_id: str  # made as the IDs of runs are, so IDs sort by time
    kind: str
    environment: str  # the service's label
    base_url: str
    started_at: datetime

    @property
    def run_date(self) -> date:
        """The UTC date on which it began; the folders of its parts have it in their names."""
        return self.started_at.astimezone(UTC).date()

    def document(self) -> dict[str, object]:
        return asdict(self) | {"started_at": self.started_at.isoformat()}


_READER = TypeAdapter(Operation)


def operation_of(document: Mapping[str, object]) -> Operation:
    """Read an operation from its intent or its receipt; ValueError if it is not whole."""
    return _READER.validate_python(document)


@dataclass(slots=True)
class CallCounts:
    throttled: int = 0
    bytes_sent: int = 0
    # keyed calls that were sent, by UTC day; GET /partner/usage counts so too.
    by_day: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def calls(self) -> int:
        return sum(self.by_day.values())

    def add(self, call: Call, status: int | None, bytes_sent: int | None, started_at: datetime) -> None:
        """Count an exchange; without `bytes_sent` it had no connection."""
        self.bytes_sent += bytes_sent or 0
        self.throttled += call.is_keyed and status == HTTPStatus.TOO_MANY_REQUESTS
        if call.is_keyed and bytes_sent is not None:
            self.by_day[started_at.astimezone(UTC).date().isoformat()] += 1

    def document(self) -> dict[str, object]:
        return {
            "calls": self.calls,
            "calls_by_day": dict(self.by_day),
            "throttled": self.throttled,
            "bytes_sent": self.bytes_sent,
        }
