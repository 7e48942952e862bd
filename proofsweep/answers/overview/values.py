"""What an overview shows, as values. Pure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta

from proofsweep.model.progress import OpenLeg


@dataclass(frozen=True, slots=True, kw_only=True)
class UpcomingRun:
    """A flow run that an orchestrator has planned; None for what its parameters leave open."""

    at: datetime
    deployment: str
    account: str | None
    catalog: str | None

    def names(self, catalog: str) -> bool:
        """Whether it is of a catalog; a relative location is one on its worker, so only its end can be compared."""
        if self.catalog is None:
            return False
        is_whole = self.catalog.startswith("/") or "://" in self.catalog
        return self.catalog == catalog if is_whole else catalog.endswith(f"/{self.catalog.removeprefix('./')}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowWorker:
    """A worker that an orchestrator knows, and its last heartbeat."""

    name: str
    pool: str
    beaten_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSchedule:
    """What an orchestrator says: its runs to come, the earliest first, and its workers; or why it says nothing."""

    upcoming: Sequence[UpcomingRun] = ()
    workers: Sequence[FlowWorker] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogLine:
    """How a catalog of an account stands. Counts are those of the view `coverage`; None for what is never listed whole.

    Attributes:
        oldest_open_reject: the time of the oldest answer among its rejected files.
        last_run: the newest run, not superseded; `last_ended_by` is `active`, `killed` or `planned only`, or its end.
    """

    account: str
    catalog: str
    files: int | None = None
    covered: int | None = None
    rejected: int | None = None
    failed: int | None = None
    ineligible: int | None = None
    oldest_open_reject: datetime | None = None
    last_run: str
    last_ended_by: str
    last_at: datetime
    next_run: datetime | None = None

    @property
    def remaining(self) -> int | None:
        """How many files have no answer for their version that is listed."""
        return None if self.files is None or self.covered is None else self.files - self.covered


@dataclass(frozen=True, slots=True, kw_only=True)
class LegLine:
    """A leg without an end: a process works on it, or was killed."""

    account: str
    catalog: str
    leg: OpenLeg

    def document(self) -> dict[str, object]:
        """Return it for JSON."""
        return {"account": self.account, "catalog": self.catalog, **self.leg.document()}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLine:
    """A key of an account.

    Attributes:
        quota_left: calls, as they were said at `as_of`.
        calls_per_day: over the last week, of the legs that ended; None if none did.
        ends_at: when the key expires, as far as it is known.
        lane_rate: calls per second that the service let through.
    """

    account: str
    fingerprint: str
    quota_left: int | None = None
    as_of: datetime | None = None
    resets_at: datetime | None = None
    calls_per_day: float | None = None
    ends_at: datetime | None = None
    lane_rate: float | None = None

    def spent_on(self) -> date | None:
        """Return the day on which the quota ends at this pace; None if it lasts until its reset, or nobody knows."""
        if self.quota_left is None or self.as_of is None or not self.calls_per_day:
            return None
        days = self.quota_left / self.calls_per_day
        if days > _LONGEST_DAYS:
            return None
        spent_at = self.as_of + timedelta(days=days)
        return None if self.resets_at is not None and spent_at >= self.resets_at else spent_at.date()

    def days_left(self, now: datetime) -> int | None:
        """Return how many whole days the key has; None if its end is not known."""
        return None if self.ends_at is None else max(0, (self.ends_at - now).days)


# A quota is monthly (contract, Limits). Chosen: what lasts for two months never ends within one.
_LONGEST_DAYS = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineLine:
    """A machine: what it runs, and its last sign of life."""

    name: str
    works_on: Sequence[str]
    beaten_at: datetime | None
    is_silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """How all accounts stand at an instant."""

    at: datetime
    catalogs: Sequence[CatalogLine]
    legs: Sequence[LegLine]
    keys: Sequence[KeyLine]
    machines: Sequence[MachineLine]
    schedule: FlowSchedule | None  # None where there is no orchestrator

    def document(self) -> dict[str, object]:
        """Return it for JSON."""
        return {
            "at": self.at.isoformat(timespec="seconds"),
            "catalogs": [asdict(line) | {"remaining": line.remaining} for line in self.catalogs],
            "legs": [line.document() for line in self.legs],
            "keys": [
                asdict(line) | {"spent_on": line.spent_on(), "days_left": line.days_left(self.at)} for line in self.keys
            ],
            "machines": [asdict(line) for line in self.machines],
            "schedule": None if self.schedule is None else asdict(self.schedule),
        }
