"""A run and its legs as values: the plan, the claim, the counts and how a leg ended."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

SHARD_ITEMS = 1_000
MOST_SHARDS = 256
SINGLE_ITEM_RUN = 200
"""Runs of up to so many items show each of them as a Prefect task of its own."""

BEAT_SECONDS = 10
STALE_SECONDS = 30


class EndedBy(StrEnum):
    """Why a leg ended, as in the `runs` table."""

    COMPLETE = "complete"
    QUOTA = "quota"
    WINDOW = "window"
    CANCELLED = "cancelled"
    KEY_REFUSED = "key_refused"
    BREAKER = "breaker"
    KILLED = "killed"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was asked: the content of `plan.json`. Locations are printable text.

    Attributes:
        catalog_digest: hex sha256 of the catalog as it was planned.
        eligible: items that will be sent; the others are ineligible by what the listing knew.
        pairs: eligible items with a sidecar.
        audio_bytes: of the eligible items.
        reasons: ineligible items by reason.
        ignored: entries of a scanned folder that gave no item, by kind.
    """

    run_id: str
    created_at: str
    environment: str
    base_url: str
    catalog: str
    catalog_kind: str
    catalog_digest: str
    items: int
    eligible: int
    pairs: int
    audio_bytes: int
    shard_items: int
    shards: int
    reasons: dict[str, int] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    proofsweep_version: str = ""

    @property
    def is_small(self) -> bool:
        """Say whether the run shows each of its items as a Prefect task."""
        return self.items <= SINGLE_ITEM_RUN

    @property
    def run_date(self) -> date:
        """The UTC date on which the run began; it names the folders of all its legs."""
        return datetime.fromisoformat(self.created_at).astimezone(UTC).date()


@dataclass(frozen=True, slots=True, order=True)
class Slice:
    """A piece of one shard: rows `first` to `last` of it, counted from 0, `last` left out."""

    shard: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who runs a leg: enough to tell, on the same host, whether that process is still there.

    Attributes:
        process_started: the kernel's own start mark of the process, since numbers of processes are used again.
        uptime_seconds: of its boot when it claimed, by the monotonic clock; None from older versions.
        facts: cells of the `runs` row that only that process knew, for whoever must write it in its stead.
    """

    host: str
    boot: str
    pid: int
    process_started: str
    claimed_at: str
    uptime_seconds: float | None = None
    facts: dict[str, object] = field(default_factory=dict, compare=False)  # who claims is told by the rest


def new_run_id(now: datetime, tail: str) -> str:
    """Name a run so that names sort by time: UTC to the millisecond, then a random tail; there is no hyphen in it."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}_{now.microsecond // 1000:03}{tail}"


def shard_items_for(items: int) -> int:
    """Say how many items a shard holds: at least 1,000, and never more than 256 shards a run."""
    return max(SHARD_ITEMS, -(-items // MOST_SHARDS))


def slices_of(plan: Plan) -> Iterator[Slice]:
    """Cut a run into Prefect tasks: single items of a small run, whole shards of any other."""
    for shard in range(plan.shards):
        rows = min(plan.shard_items, plan.items - shard * plan.shard_items)
        step = 1 if plan.is_small else rows
        yield from (Slice(shard, first, first + step) for first in range(0, rows, step))


def shard_of(plan: Plan, manifest_row: int) -> int:
    """Say which shard a row lies in: a plan's rows are numbered without gaps."""
    return manifest_row // plan.shard_items


@dataclass(frozen=True, slots=True)
class Sign:
    """A moment of a host's life: by its wall clock, and by the monotonic one of its boot, which never jumps."""

    at: datetime
    uptime_seconds: float | None


def is_fresh(last: Sign, now: Sign, *, same_boot: bool) -> bool:
    """Say whether a leg's last sign of life is no older than 30 s; a wall clock's word from the future is none."""
    if same_boot and last.uptime_seconds is not None and now.uptime_seconds is not None:
        return now.uptime_seconds - last.uptime_seconds <= STALE_SECONDS
    return abs(now.at - last.at) <= timedelta(seconds=STALE_SECONDS)
