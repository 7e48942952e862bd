"""A lease: one process at a time works on something, and every other process can tell whether it still does.

Each term of a lease is a numbered folder: `lease.json` is created once and names the holder, `heartbeat.json` says that
it is alive, `receipt.json` ends the term. Two signs show that a holder is dead: it writes no heartbeat for 30 s of the
reader's own clock, or its process is gone from this machine. A process that finds the last term ended, or its holder
dead, takes the next one.

The terms of a partition of a run are its legs. A catalog has a lease too, which the legs of one run hold together.
"""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime

from pydantic import TypeAdapter

from proofsweep.config.threads import Event, background_thread, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.items import Row
from proofsweep.domain.runs import AnyRun, Plan
from proofsweep.domain.text import printable
from proofsweep.store import layout
from proofsweep.store.holder import Holder, this_process
from proofsweep.store.objects import JSON_OBJECT, Store, json_bytes, numbered, read_document

HEARTBEAT_SECONDS = 10  # time between two heartbeats
_MOST_LOOKS = 20  # for the last term of a catalog, which others may replace meanwhile
_TERMS_KEPT = 100  # of a lease whose terms are no legs; a watched folder takes one with each pass
STALE_SECONDS = 30  # age of the last heartbeat from which a holder counts as dead: two in a row may be late


@dataclass(frozen=True, slots=True, kw_only=True)
class LegProgress:
    """How far a leg is: what each heartbeat tells, and what every display of a leg shows."""

    rows: int  # of the leg's partition
    finished_before: int | None = None  # rows that earlier legs have finished; None until that is known
    counts: Mapping[str, int]  # rows that this leg has finished, by outcome
    rate: float | None = None  # rows per second over the last minute; None before there is a second to compare
    calls: int = 0  # keyed calls of this leg
    seconds_left: float | None = None  # by that rate; None if it cannot be estimated
    lane_rate: float | None = None  # calls per second that the service lets through; None until it has throttled
    quota_left: int | None = None  # calls left in the key's quota; None if the service did not say
    waiting: str = ""  # why rows come slowly, or not at all, in one sentence

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    @property
    def finished(self) -> int:
        """How many rows have an outcome, of all legs; of this one, as long as nothing is known of those before."""
        return (self.finished_before or 0) + self.done


_PROGRESS = TypeAdapter(LegProgress)
_HOLDER = TypeAdapter(Holder)


def together(rows: int, finished_before: int, legs: Sequence[LegProgress]) -> LegProgress:
    """Return the progress of a run by that of its open legs, which work on different partitions.

    What all of them wait for, the run waits for. Of a lane that they share, each knows the whole rate.
    """
    waits = {leg.waiting for leg in legs}
    return LegProgress(
        rows=rows,
        finished_before=finished_before,
        counts=dict(sum((Counter(leg.counts) for leg in legs), Counter())),
        rate=sum(rates) if (rates := [leg.rate for leg in legs if leg.rate is not None]) else None,
        calls=sum(leg.calls for leg in legs),
        seconds_left=max((leg.seconds_left for leg in legs if leg.seconds_left is not None), default=None),
        lane_rate=max((leg.lane_rate for leg in legs if leg.lane_rate is not None), default=None),
        quota_left=min((leg.quota_left for leg in legs if leg.quota_left is not None), default=None),
        waiting=waits.pop() if len(waits) == 1 else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTerm:
    """A term without a receipt, as its last heartbeat shows it: a process works on it, or was killed."""

    run_id: str
    leg: int
    holder: Holder
    beaten_at: datetime
    age_seconds: float  # of its last sign of life; two machines' clocks may be compared for it
    is_gone: bool = False  # whether its process is known to have ended; only its own machine can tell
    progress: LegProgress | None = None  # how far it was then; None before its first heartbeat

    @property
    def is_alive(self) -> bool:
        return not self.is_gone and self.age_seconds <= STALE_SECONDS

    def document(self) -> dict[str, object]:
        return {
            "run_id": self.run_id,
            "leg": self.leg,
            "host": self.holder.host,
            "pid": self.holder.pid,
            "since": self.holder.taken_at.isoformat(timespec="seconds"),
            "sign_of_life_at": self.beaten_at.isoformat(timespec="seconds"),
            "sign_of_life_age_seconds": round(self.age_seconds, 1),
            "is_alive": self.is_alive,
            "progress": None if self.progress is None else asdict(self.progress),
        }


@dataclass(frozen=True, slots=True)
class Lease:
    store: Store
    name: str  # of what is leased
    clock: Callable[[], datetime] = utc_now
    rest: Callable[[float], object] = Event().wait  # in seconds; `time.sleep` fails where a clock is faked, as tests do
    first: int = 1  # the number of the first term
    step: int = 1  # from one term to the next
    # the message for a process that comes while another holds the lease; `{holder}` stands for that one.
    busy: str = "This is being worked on by {holder}."

    def last(self) -> int:
        """Return the number of the last term, 0 without one. It exists if its `lease.json` does, not its folder."""
        listed = numbered(self.store, layout.legs_folder(self.name))
        last = max((number for number in listed if number in range(self.first, number + 1, self.step)), default=0)
        while last and not self.is_taken(last):
            last = max(0, last - self.step)
        while self.is_taken(self.after(last)):  # a listing may lag behind
            last = self.after(last)
        return last

    def after(self, number: int) -> int:
        """Return the number of the term that follows one; 0 stands before the first."""
        return number + self.step if number else self.first

    def numbers(self) -> list[int]:
        return list(range(self.first, self.last() + 1, self.step))

    def last_ended(self) -> int:
        """Return the number of the last term, which is over; RunIsActive if a process holds it."""
        last = self.last()
        if last and self.is_held(last):
            raise self.active_error(last)
        return last if not last or self.is_taken(last) else self.last_ended()  # it was released while this waited

    def take(self, number: int, facts: Row | None = None) -> None:
        """Take a term for this process; who takes it over needs the `facts`. RunIsActive if another was first."""
        holder = this_process(self.clock(), facts or {})
        try:
            self.store.create(layout.lease_name(self.name, number), json_bytes(asdict(holder)))
        except NameTaken as taken:
            raise self.active_error(number) from taken

    def forget(self, number: int) -> None:
        """Delete an old term: a folder that is watched has fifty thousand of them in a year."""
        for name_of in (layout.heartbeat_name, layout.receipt_name, layout.lease_name):
            self.store.delete(name_of(self.name, number))

    def release(self, number: int) -> None:
        """Give back this process's term that could not begin, so that the term does not exist."""
        with suppress(ResultsError):  # then it is stale soon, or at once when this process ends
            self.store.delete(layout.lease_name(self.name, number))

    def beat(self, number: int, progress: LegProgress | None = None) -> None:
        """Write the heartbeat: this process is alive now, and so far with its work."""
        sign = {"at": self.clock().isoformat(), "progress": None if progress is None else asdict(progress)}
        self.store.replace(layout.heartbeat_name(self.name, number), json_bytes(sign))

    def write_receipt(self, number: int, receipt: dict[str, object]) -> None:
        """End a term; NameTaken if another process has ended it."""
        self.store.create(layout.receipt_name(self.name, number), json_bytes(receipt))

    def receipt(self, number: int) -> dict[str, object] | None:
        """Read how a term ended; None while it lasts. ResultsError if it is damaged."""
        return read_document(self.store, layout.receipt_name(self.name, number), JSON_OBJECT)

    def is_taken(self, number: int) -> bool:
        return self.store.read(layout.lease_name(self.name, number)) is not None

    def is_superseded(self, number: int) -> bool:
        """Whether another process has taken a term over: it has taken the next one, or ended or forgotten this one."""
        is_over = self.is_taken(self.after(number)) or self.receipt(number) is not None
        return is_over or not self.is_taken(number)

    def holder(self, number: int) -> Holder | None:
        """Read who holds a term; None if that cannot be read."""
        content = self.store.read(layout.lease_name(self.name, number))
        try:
            return _HOLDER.validate_json(content or b"")
        except ValueError:
            return None

    def open_term(self, number: int) -> OpenTerm | None:
        """Read a term, and how far it was at its last heartbeat; None if it has ended, or its holder cannot be read."""
        holder = self.holder(number) if self.receipt(number) is None else None
        if holder is None:
            return None
        beaten_at, progress = holder.taken_at, None
        with suppress(ValueError, KeyError, TypeError):  # a power cut may leave a heartbeat empty
            sign = json.loads(self.store.read(layout.heartbeat_name(self.name, number)) or b"")
            beaten_at = datetime.fromisoformat(sign["at"])
            progress = _PROGRESS.validate_python(sign["progress"])  # that of a later version may be another
        return OpenTerm(
            run_id=self.name,
            leg=number,
            holder=holder,
            beaten_at=beaten_at,
            age_seconds=abs((self.clock() - beaten_at).total_seconds()),  # one from the future shows a wrong clock
            is_gone=holder.is_gone,
            progress=progress,
        )

    def is_held(self, number: int) -> bool:
        """Whether a process works on a term; wait for its next heartbeat, up to 30 s, if nothing else can tell.

        Of a process that exists on this machine a fresh heartbeat is enough. One that was just killed elsewhere has a
        fresh heartbeat too, and clocks may jump, so that only another heartbeat shows a live one.
        """
        opened = self.open_term(number)
        if opened is None or opened.is_gone:
            return False
        if opened.holder.is_here and opened.is_alive:
            return True
        name = layout.heartbeat_name(self.name, number)
        before = self.store.read(name)
        for _ in range(STALE_SECONDS + 1):
            if self.receipt(number) is not None:
                return False
            self.rest(1.0)
            if self.store.read(name) != before:
                return self.receipt(number) is None
        return False

    def active_error(self, number: int) -> RunIsActive:
        holder = self.holder(number)
        where = "another process" if holder is None else holder.where
        return RunIsActive(self.busy.format(holder=where, name=self.name, number=number))


@contextmanager
def sole_process(lease: Lease, facts: Row | None = None) -> Iterator[int]:
    """Hold the next term of a lease for the work inside, and yield its number; RunIsActive if another process holds it.

    `facts` are what another process must know if this one is killed.
    """
    number = lease.after(lease.last_ended())
    lease.take(number, facts)

    def keep(over: Event) -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            with suppress(ResultsError):
                lease.beat(number)

    try:
        with background_thread("lease", keep):
            yield number
    finally:
        with suppress(NameTaken):
            lease.write_receipt(number, {"ended_at": lease.clock().isoformat()})
            if number > _TERMS_KEPT:
                lease.forget(number - _TERMS_KEPT)


@dataclass(frozen=True, slots=True)
class Legs(Lease):
    """The legs of one partition of a run; the lease is named by the run's ID.

    What is asked of a leg by its number, all legs of the run answer.
    """

    busy: str = "Leg {number} of run {name} is being worked on by {holder}; see: proofsweep status {name}"

    def open_leg(self) -> OpenTerm | None:
        """Return the last leg, and how far it was at its last heartbeat; None if it has ended, or none began."""
        last = self.last()
        return self.open_term(last) if last else None

    def ask_to_stop(self, leg: OpenTerm, reason: RunMustStop | None = None) -> bool:
        """Ask the process of a leg to stop in good order; return whether nobody had asked it before.

        The request is for this process alone: it never stops a later leg, nor another holder of the same leg. Without a
        reason, a person asks by a command.
        """
        by_command = f"It was stopped by `proofsweep stop`, asked on {socket.gethostname()}."
        reason = reason or RunMustStop(by_command, ended_by=EndedBy.CANCELLED)
        request = {"asked_at": self.clock().isoformat(), "why": reason.message, "ended_by": reason.ended_by}
        try:
            self.store.create(layout.stop_name(self.name, leg.leg, leg.holder.token), json_bytes(request))
        except NameTaken:
            return False
        return True

    def stop_asked(self, leg: int, token: str) -> RunMustStop | None:
        request = read_document(self.store, layout.stop_name(self.name, leg, token), JSON_OBJECT)
        if request is None:
            return None
        return RunMustStop(printable(str(request.get("why"))), ended_by=EndedBy(request.get("ended_by")))


def legs_of(store: Store, plan: AnyRun, clock: Callable[[], datetime] = utc_now) -> list[Legs]:
    firsts = range(1, plan.partitions + 1)
    return [Legs(store, plan.run_id, clock, first=first, step=plan.partitions) for first in firsts]


def leg_numbers(store: Store, plan: AnyRun) -> list[int]:
    return sorted(number for legs in legs_of(store, plan) for number in legs.numbers())


def receipts_of(store: Store, plan: AnyRun) -> dict[int, dict[str, object] | None]:
    """Read how each leg of a run ended, by its number; None for one that has not. ResultsError if one is damaged."""
    legs = Legs(store, plan.run_id)
    return {number: legs.receipt(number) for number in leg_numbers(store, plan)}


def open_legs(store: Store, plan: AnyRun) -> list[OpenTerm]:
    """Return the last leg of each partition, if it has not ended, and how far it was at its last heartbeat."""
    return [opened for legs in legs_of(store, plan) if (opened := legs.open_leg()) is not None]


@dataclass(frozen=True, slots=True)
class CatalogLease:
    """The lease of one catalog in one environment: of its runs, one may make calls. `identity` is that of its plans.

    Each term is a small numbered object that names a run; the last one counts, as long as a leg of its run is alive.
    """

    store: Store
    environment: str
    identity: str
    clock: Callable[[], datetime] = utc_now

    def last_ended(self) -> str:
        """Name the object of the last term, empty without one; RunIsActive if a leg of its run is alive."""
        last, legs = self._last()
        if (error := _held_error(legs)) is not None:
            raise error
        return last

    def take(self, plan: Plan, leg: int, planned_after: str | None = None) -> None:
        """Take the catalog for a leg of this process; RunIsActive if another run is worked on, or was first.

        `planned_after` is the last term when the run was planned, for its first leg: in a later one, another run may
        have sent the same files. None asks for nothing.
        """
        last, legs = self._last()
        while legs and legs[0].name != plan.run_id:
            error = _held_error(legs)
            if error is None and planned_after is not None and last > planned_after:
                first = legs[0].name
                error = RunIsActive(
                    f"Run {first} of this catalog began before this one; see: proofsweep status {first}"
                )
            before, (last, legs) = last, self._last()
            if last == before:  # else another leg, perhaps of this run, has taken a term since that one was read
                if error is not None:
                    raise error
                break
        name = f"{self._folder}/{_number_of(last) + 1:09}.json"
        try:
            self.store.create(name, json_bytes({"run_id": plan.run_id, "leg": leg, "partitions": plan.partitions}))
        except NameTaken:
            self.take(plan, leg, planned_after)
            return
        _, newest = self._last(name)
        if newest and newest[0].name != plan.run_id:  # this process slept before it wrote
            other = max(newest, key=Legs.last)
            raise other.active_error(other.last())
        if last:
            self.store.delete(last)

    @property
    def _folder(self) -> str:
        return layout.catalog_folder(self.environment, self.identity)

    def _last(self, known: str = "") -> tuple[str, list[Legs]]:
        """Return the last term, which is not before a known one, and the partitions of the run that it names.

        A term is deleted when the next one was taken: who listed it before looks again. A damaged term names none.
        """
        last = known
        for _ in range(_MOST_LOOKS):
            listed = (name for name in self.store.names(self._folder) if name.endswith(".json"))
            last = max(known, max(listed, default=""))
            content = self.store.read(last) if last else b"{}"
            if content is not None:
                return last, self._legs_in(content)
        return last, []

    def _legs_in(self, content: bytes) -> list[Legs]:
        with suppress(ValueError, TypeError, KeyError):
            term = json.loads(content)
            run_id, step = str(term["run_id"]), int(term["partitions"])
            return [Legs(self.store, run_id, self.clock, first=first, step=step) for first in range(1, step + 1)]
        return []


def _number_of(term: str) -> int:
    return int(term.rpartition("/")[2].removesuffix(".json") or 0)


def _held_error(partitions: Sequence[Legs]) -> RunIsActive | None:
    """Return the error of the first partition of which a leg is alive; None if none is."""
    for legs in partitions:
        if (last := legs.last()) and legs.is_held(last):
            return legs.active_error(last)
    return None
