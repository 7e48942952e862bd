"""A run as values: its plan, and what a person allows one leg to spend.

Operations are runs of another kind: uses of the partner's other endpoints. So is a rotation of a key.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from proofsweep.domain.errors import UsageError

GRACE_WINDOW = timedelta(hours=72)  # contract, Limits: how long a rotated key still works
BATCH_ITEMS = 10_000  # planned items in one object, which is one Prefect task of a run that is not small
# Most items of a run that shows each item as its own Prefect task. A task takes 11.5 ms of CPU (docs/performance.md):
# 2.3 s for 200 items.
SMALL_RUN_ITEMS = 200
INGEST = "ingest"
"""The kind of catalog that a pass makes of the files that are ready: it says nothing of the rest of its folder."""
MANIFEST = "manifest"
"""The kind of catalog that a list is, or several that a glob names."""

OUTCOMES = ("accepted", "rejected", "failed", "ineligible")

_INSTANT = re.compile(r"(?:(\d{4}-\d\d-\d\d)[ T])?(\d{1,2}:\d\d(?::\d\d)?) ?(Z|[+-]\d\d:?\d\d|[A-Za-z][\w/+-]*)?")
_DURATION = re.compile(r"(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m(?:in)?)?\s*(?:(\d+)s)?")
_NAMES_OF_UTC = {"UTC", "UCT", "GMT", "WET", "Zulu", "+00", "-00"}


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
    batch_items: int = BATCH_ITEMS
    may_be_free: int = 0  # eligible items that may cost no call: copies by their sizes, and the same bytes by theirs
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
    # the newest entry of the log when the reading of its catalog began; None for a pass, which holds its folder.
    read_after: int | None = None
    tag_names: list[str] = field(default_factory=list)  # of the tags that its rows may have
    partitions: int = 1  # a leg works on one; legs of different partitions may be alive at the same time

    @property
    def table(self) -> str:
        return "verdicts"

    @property
    def lists_a_part(self) -> bool:
        """Whether the run lists only a part of its catalog, by its kind. The views call this `is_partial`."""
        return self.catalog_kind == INGEST

    @property
    def has_chosen_rows(self) -> bool:
        """Whether the run stands for a part of its catalog: by its kind, or by a condition.

        A run with a condition has listed the whole catalog, so `coverage` may count by it. The others have not.
        """
        return self.lists_a_part or self.unmet > 0

    @property
    def identity(self) -> str:
        return self.catalog_identity or self.catalog

    @property
    def is_small(self) -> bool:
        return self.items <= SMALL_RUN_ITEMS

    def rows_of_partition(self, partition: int) -> range:
        first = self.items * partition // self.partitions
        end = self.items * (partition + 1) // self.partitions
        return range(first, end)

    def partition_of_leg(self, leg: int) -> int:
        """The legs of each partition are a sequence of their own: of 3 partitions, the second one has 2, 5, 8."""
        return (leg - 1) % self.partitions

    @property
    def run_date(self) -> date:
        return datetime.fromisoformat(self.created_at).astimezone(UTC).date()

    @property
    def batches(self) -> list[range]:
        """The rows of each object of planned items, in their order."""
        batches = list[range]()
        for first in range(0, self.items, self.batch_items):
            end = min(first + self.batch_items, self.items)
            batches.append(range(first, end))
        return batches


def new_run_id(now: datetime, tail: str) -> str:
    """Name a run so that names sort by time: UTC to the millisecond, then a random tail, without a hyphen."""
    milliseconds = now.microsecond // 1000
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}_{milliseconds:03}{tail}"


def began_at(run_id: str) -> datetime:
    """Return the second that a run is named by; ValueError if it is no name of a run."""
    second, _, _ = run_id.partition("_")
    return datetime.strptime(second, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    max_calls: int | None = None  # keyed calls of the leg, its probes of the quota included; None for any number
    closes_at: datetime | None = None  # the instant from which no new item begins; None for never
    reserve: int = 0  # calls of the quota that are left to other users of the key
    sharers: int = 1  # legs at work on the same run, each of which takes an equal part of what the quota has left

    def shared_by(self, legs: int) -> "Bounds":
        calls = None if self.max_calls is None else self.max_calls // legs
        return replace(self, max_calls=calls, sharers=legs)


def left_of(bounds: Bounds, calls: int, now: datetime) -> Bounds | None:
    if bounds.closes_at is not None and bounds.closes_at <= now:
        return None
    if bounds.max_calls is None:
        return bounds
    if bounds.max_calls <= calls:
        return None
    return replace(bounds, max_calls=bounds.max_calls - calls)


def closing_of(
    until: str | None, max_duration: str | None, now: datetime, zone: tzinfo | None = None
) -> datetime | None:
    """Return the UTC instant at which the window closes, the earlier of the two; UsageError if one cannot be read.

    `until` is as `instant_of` reads it. `max_duration` is `7h`, `90m`, `1h30m`. `now` has a zone.
    """
    # A leg may have both bounds; the window closes at the first.
    closings = list[datetime]()
    if until is not None:
        closings.append(instant_of(until, now, zone))
    if max_duration is not None:
        closings.append(_after(now, max_duration))
    return min(closings, default=None)


def instant_of(until: str, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Read when a window closes: `06:00`, `06:00 Europe/Berlin`, `06:00+02:00`, an ISO instant, or a span like `7h`.

    Without a zone, `zone` applies, and without that the machine's own. A time without a date is the next moment at
    which a clock in its zone shows it. A time whose date is past is returned as it is. UsageError if it cannot be read.
    """
    if until.strip() and _DURATION.fullmatch(until.strip()):
        return _after(now, until)
    day, wanted, where = _parts_of(until, zone)
    if day is not None:
        return utc_of(datetime.combine(day, wanted, where))
    return _next_moment(wanted, where, now)


def _after(now: datetime, span: str) -> datetime:
    whole_second = now.astimezone(UTC).replace(microsecond=0)
    return whole_second + duration_of(span)


def _next_moment(wanted: time, where: tzinfo | None, now: datetime) -> datetime:
    today = now.astimezone(where).date()
    moments = list[datetime]()
    for days_ahead in range(3):
        day = today + timedelta(days=days_ahead)
        moments.append(utc_of(datetime.combine(day, wanted, where)))
    later = [moment for moment in moments if moment > now]
    return min(later, default=moments[-1])


def duration_of(text: str) -> timedelta:
    """Read a time span like `30d`, `7h`, `90m` or `1h30m`.

    UsageError if it cannot be read, is zero or is longer than a year.
    """
    span = timedelta()
    match = _DURATION.fullmatch(text.strip())
    if match:
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        with suppress(OverflowError):
            span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if not timedelta() < span < timedelta(days=366):
        raise UsageError(f"{text!r} is not a time span of up to a year; write it like 30d, 7h, 90m or 1h30m.")
    return span


def utc_of(moment: datetime) -> datetime:
    """Return a moment in UTC. One without a zone is of this machine's clock; UsageError if TZ names an unknown zone."""
    here = moment.astimezone()
    # The system also knows zones of POSIX such as `CET-1CEST,M3.5.0,M10.5.0/3`. An unknown one is UTC to it, under the
    # first letters of the name.
    if moment.tzinfo is None and not here.utcoffset() and here.tzname() not in _NAMES_OF_UTC:
        raise UsageError(
            f"This machine does not know its time zone (TZ begins with {here.tzname()!r}): set TZ to one such as "
            "Europe/Berlin, or give the time with its zone, like '06:00 Europe/Berlin' or 2026-11-21T06:00+01:00."
        )
    return here.astimezone(UTC)


def _parts_of(until: str, zone: tzinfo | None) -> tuple[date | None, time, tzinfo | None]:
    match = _INSTANT.fullmatch(until.strip())
    written_day, clock, where = match.groups() if match else ("", "", "")
    if clock[1:2] == ":":  # as in 6:00
        clock = f"0{clock}"
    try:
        wanted = time.fromisoformat(clock)
        day = date.fromisoformat(written_day) if written_day else None
        if where:
            zone = _zone_of(where)
    except (ZoneInfoNotFoundError, ValueError) as error:
        examples = "06:00, '06:00 Europe/Berlin', 2026-11-21T06:00+01:00 or 7h"
        raise UsageError(f"{until!r} is not a time or names an unknown zone; write it like {examples}.") from error
    return day, wanted, zone


def _zone_of(where: str) -> tzinfo:
    is_offset = where[0] in "+-" or where == "Z"
    if is_offset:
        return datetime.strptime(where, "%z").tzinfo or UTC
    return ZoneInfo(where)


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
    def table(self) -> str:
        return OperationKind(self.kind).table

    @property
    def run_date(self) -> date:
        return self.started_at.astimezone(UTC).date()


AnyRun = Plan | Operation
"""What has parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationIntent(Operation):
    """Written before the first call, one for each key: a key can be rotated only once."""

    idempotency_key: str  # makes each repeat of the call give the same answer. It is worthless without the old key.
    key_fingerprint: str  # of the key that is rotated
    location: str  # where the new key goes, for a person

    @property
    def operation(self) -> Operation:
        """What its plan holds: all but the Idempotency-Key."""
        members = {member.name: getattr(self, member.name) for member in fields(Operation)}
        return Operation(**members)


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
