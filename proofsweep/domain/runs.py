"""A run and its legs as values: the plan, the claim, the counts and how a leg ended."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

MIN_SHARD_ITEMS = 1_000  # fewest items in a shard, which is one Prefect task and one Parquet part
MAX_SHARDS = 256  # most shards in a run, so that no leg leaves more parts

# Most items of a run that shows each item as its own Prefect task. A task takes 11.5 ms of CPU (docs/performance.md):
# 2.3 s for 200 items.
SMALL_RUN_ITEMS = 200
HEARTBEAT_SECONDS = 10  # time between two heartbeats of a leg
STALE_SECONDS = 30  # age of the last heartbeat from which a leg counts as dead: two in a row may be late
INGEST = "ingest"
"""The kind of catalog that a pass makes of the files that are ready: it says nothing of the rest of its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run must do: the content of `plan.json`. Locations are printable text."""

    run_id: str
    created_at: str
    environment: str
    base_url: str
    catalog: str
    catalog_kind: str
    catalog_digest: str  # hex sha256 of the catalog as it was planned
    items: int
    eligible: int  # items that will be sent; the listing showed that the others are ineligible
    pairs: int  # eligible items with a sidecar
    audio_bytes: int  # of the eligible items
    shard_items: int
    shards: int
    reasons: dict[str, int] = field(default_factory=dict)  # ineligible items by reason
    ignored: dict[str, int] = field(default_factory=dict)  # entries of a scanned folder that gave no item, by kind
    proofsweep_version: str = ""
    # URL of the folder or prefix that the files of the run must lie in; None if they may lie anywhere.
    catalog_root: str | None = None
    skipped: int = 0  # rows of the catalog that were not due
    unmet: int = 0  # of these, the rows that a person's conditions left out, whether they had an answer or not
    # the options by which rows were chosen, as they are written on the command line; empty for all rows.
    selection: str = ""
    catalog_identity: str = ""  # the catalog's name, or its location without links; empty stands for the location
    retired: list[str] = field(default_factory=list)  # identities of catalogs whose place this named one takes
    # the last claim on the catalog when its reading began; empty without one, None if nobody looked.
    catalog_claim: str | None = None
    tag_names: list[str] = field(default_factory=list)  # of the tags that its rows may have

    @property
    def has_chosen_rows(self) -> bool:
        """Whether the run stands for a part of its catalog: by its kind, as views say `is_partial`, or by a condition.

        A run of a condition has listed the whole catalog, so that `coverage` may count by it; others have not.
        """
        return self.catalog_kind == INGEST or self.unmet > 0

    @property
    def identity(self) -> str:
        return self.catalog_identity or self.catalog

    @property
    def is_small(self) -> bool:
        """Return whether the run shows each of its items as a Prefect task."""
        return self.items <= SMALL_RUN_ITEMS

    @property
    def run_date(self) -> date:
        return datetime.fromisoformat(self.created_at).astimezone(UTC).date()


@dataclass(frozen=True, slots=True, order=True)
class Slice:
    """A part of one shard: its rows from `first`, counted from 0, to before `last`."""

    shard: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Which process runs a leg. In the same PID namespace, this is enough to check whether the process still exists."""

    host: str
    boot: str
    pid: int
    process_started: str  # the kernel's start time of the process, because process IDs are reused
    claimed_at: str
    uptime_seconds: float = 0.0  # monotonic time of the boot when the leg was claimed
    # the kernel's name for where `pid` is valid: each container has its own, and containers may share a host name.
    # Empty where the system has none.
    pid_namespace: str = ""
    token: str = ""  # random, so that no two claims are equal
    # cells of the `runs` row that only this process knew, for a leg that must write the row after a kill.
    facts: dict[str, object] = field(default_factory=dict, compare=False)  # the other fields identify the process

    @property
    def claimed(self) -> "ClockReading":
        """When the leg was claimed: the first sign of life."""
        return ClockReading(datetime.fromisoformat(self.claimed_at), self.uptime_seconds, self.boot)


def new_run_id(now: datetime, tail: str) -> str:
    """Name a run so that names sort by time: UTC to the millisecond, then a random tail, without a hyphen."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}_{now.microsecond // 1000:03}{tail}"


def shard_items_for(items: int) -> int:
    """Return how many items a shard holds: at least 1,000, and never more than 256 shards a run."""
    return max(MIN_SHARD_ITEMS, -(-items // MAX_SHARDS))


def slices_of(plan: Plan) -> Iterator[Slice]:
    """Cut a run into Prefect tasks: a small run into single items, any other into whole shards."""
    for shard in range(plan.shards):
        rows = rows_of_shard(plan, shard)
        step = 1 if plan.is_small else rows
        yield from (Slice(shard, first, first + step) for first in range(0, rows, step))


def rows_of_shard(plan: Plan, shard: int) -> int:
    """Return the number of rows in a shard; the last one may be shorter."""
    return min(plan.shard_items, plan.items - shard * plan.shard_items)


def shard_of(plan: Plan, manifest_row: int) -> int:
    """Return the shard of a row; the rows of a plan are numbered without gaps."""
    return manifest_row // plan.shard_items


@dataclass(frozen=True, slots=True)
class ClockReading:
    """An instant by a host's wall clock, and by the monotonic clock of its boot, which never jumps."""

    at: datetime
    uptime_seconds: float
    boot: str = ""  # identifies the boot; empty where the system does not tell


def is_due(last: ClockReading, now: ClockReading) -> bool:
    """Whether the next heartbeat is due by either clock: the monotonic one may stand while a machine sleeps."""
    by_wall_clock = abs(now.at - last.at) >= timedelta(seconds=HEARTBEAT_SECONDS)
    return by_wall_clock or now.uptime_seconds - last.uptime_seconds >= HEARTBEAT_SECONDS


def is_fresh(last: ClockReading, now: ClockReading) -> bool:
    """Whether the last sign of life is at most 30 s old. One from the future shows a wrong clock.

    Within one boot the monotonic clock counts alone: the wall clock may have jumped.
    """
    if last.boot == now.boot != "":
        return now.uptime_seconds - last.uptime_seconds <= STALE_SECONDS
    return abs(now.at - last.at) <= timedelta(seconds=STALE_SECONDS)
