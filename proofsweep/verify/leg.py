"""One leg as the threads of a process share it: what it works with, how far it is, and what keeps it alive."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from proofsweep.client.keys import CurrentKey
from proofsweep.config.locations import path_of
from proofsweep.config.logs import LogEvent, log
from proofsweep.config.notices import say
from proofsweep.config.threads import Event, StopSwitch, background_thread, monotonic, sleep, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError, ResultsError, RunMustStop
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.runs import INGEST, Bounds, Plan
from proofsweep.domain.text import counted
from proofsweep.files.local_files import ReadWatch
from proofsweep.files.mounts import hanging_place
from proofsweep.pacing.scheduler import RateStatus
from proofsweep.store.heartbeat import HEARTBEAT_SECONDS, LegProgress
from proofsweep.store.journal import FLUSH_SECONDS, CompletedRows, Journal
from proofsweep.store.known_rows import PastAnswers
from proofsweep.store.legs import HeldLeg
from proofsweep.store.parts import Results
from proofsweep.store.rows import RowContext
from proofsweep.verify.attribution import Attribution
from proofsweep.verify.audit_trail import AuditTrail
from proofsweep.verify.budget import Budget, calls_sent
from proofsweep.verify.commit import LegParts
from proofsweep.verify.duplicates import DuplicateCache
from proofsweep.verify.emptied_folders import is_emptied
from proofsweep.verify.item import VerifyContext
from proofsweep.verify.probes import Checks, KnownFiles
from proofsweep.verify.service import Service

# A bucket's client tries again for longer than this before it reports a failure. Items that begin meanwhile cannot be
# written down: half of it stops work for a slow write, twice as long risks twice the work.
_SLOW_WRITE_SECONDS = 5.0
_NO_ANSWER = "The results store does not answer."
_COUNT_SECONDS = 0.5  # between two counts of the times that may be over
_LOOK_SECONDS = 4.0  # bounds the requests to a bucket, and how late a request to stop is seen
_ABORT_SECONDS = 2.0  # that files in flight have to end once they are aborted: their calls fail at once
QUOTA_PROBE_SECONDS = 300.0  # between two readings of the headroom (contract, Versioning 7: about every five minutes)
_LEAST_PAUSE_SECONDS = 5.0  # a shorter pause is the pace of a lane, and nothing to wait for
_RATE_SECONDS = 60  # what "now" means for a rate


@dataclass(slots=True, kw_only=True)
class Heartbeat:
    """Shows that one leg is alive, that what it does can be written down, and that nobody asked it to stop."""

    held: HeldLeg
    flush: Callable[[], None]  # makes durable what the leg has finished
    budget: Budget
    stop: StopSwitch
    store_outage_seconds: float  # how long the results store may fail before the leg ends
    drain_seconds: float = math.inf  # that items in flight have, once the leg was stopped, whatever the reason
    abort: Callable[[], None] = lambda: None  # abandons them then
    give_up: Callable[[], None] = lambda: None  # waits no longer for those that do not end: their reads hang
    look_at_reads: Callable[[], None] = lambda: None  # that may hang
    progress: Callable[[], LegProgress | None] = lambda: None  # what heartbeats tell of the work, if anything
    uptime: Callable[[], float] = monotonic
    is_lost: bool = False  # whether another process has ended the leg
    _has_told_stop: bool = False
    _beaten_at: datetime = field(init=False)
    _writing_since: float | None = None  # the step that is made now
    _failing_since: float | None = None
    _why_failing: str = ""
    _look_at: float = -math.inf
    _abort_at: float | None = None  # None until the leg was stopped
    _give_up_at: float = math.inf

    def __post_init__(self) -> None:
        self._beaten_at = self.held.signs.clock()  # its begin is a sign of life

    @property
    def store_is_well(self) -> bool:
        """Whether the results store takes what is written; read by threads beside the one that writes."""
        if self._failing_since is not None:
            return False
        since = self._writing_since
        return since is None or self.uptime() - since < _SLOW_WRITE_SECONDS

    def watch(self, over: Event) -> None:
        """Count which times are over until `over` is set, on a thread that never touches the store: that may hang."""
        while not over.wait(_COUNT_SECONDS):
            self.count()

    def count(self) -> None:
        """End the leg when its window closes or its store fails for too long, and what is in flight after the drain."""
        now = self.uptime()
        self.look_at_reads()
        self.budget.stop_at_closing()
        # A write that hangs raises nothing. It counts as a failure once it takes longer than a store that is only slow.
        failing_since, writing_since = self._failing_since, self._writing_since
        if failing_since is None and writing_since is not None:
            failing_since = writing_since + _SLOW_WRITE_SECONDS
        if failing_since is not None and now - failing_since >= self.store_outage_seconds:
            why = f"The run's own records cannot be kept: {self._why_failing or _NO_ANSWER}"
            self.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))
        self._count_drain(now)

    def watch_drain(self, over: Event) -> None:
        """Only end what is in flight after the drain until `over` is set: the leg is being settled."""
        while not over.wait(_COUNT_SECONDS):
            self._count_drain(self.uptime())

    def _count_drain(self, now: float) -> None:
        if self.stop.reason is None:
            return
        if self._abort_at is None:
            self._abort_at = now + self.drain_seconds
        if now >= self._abort_at:
            self._abort_at = math.inf
            self._give_up_at = now + _ABORT_SECONDS
            self.abort()
        if now >= self._give_up_at:
            self.give_up()

    def keep(self, over: Event) -> None:
        """Write every second until `over` is set, and once more then."""
        while not over.is_set():
            # The time of a write is part of the second: however long a request takes, the journal is written as often.
            next_at = self.uptime() + FLUSH_SECONDS
            self.write()
            over.wait(max(0.0, next_at - self.uptime()))
        self.write()
        # A store that fails at that last moment is waited for as well, by a leg that was stopped as long as its drain:
        # what is not written would be paid again.
        while self._failing_since is not None and self.stop.drain_left_seconds > 0:
            sleep(min(FLUSH_SECONDS, self.stop.drain_left_seconds))
            self.write()

    def send_heartbeats(self, over: Event) -> None:
        """Only give signs of life until `over` is set: the leg is being settled, and its journal is complete."""
        while not over.wait(FLUSH_SECONDS):
            with suppress(ResultsError):  # settling finds out by itself
                if self._is_due():
                    self._beat()

    def write(self) -> None:
        """Hear who asks the leg to stop, give a sign of life when it is due, and flush."""
        # Each of the steps may hang by itself, so each begins its own time. What cannot be written is kept for the next
        # second.
        try:
            self._writing_since = self.uptime()
            self._look_for_stop()
            if self._is_due():
                self._writing_since = self.uptime()
                self._beat()
                if self.held.is_lost():
                    self._end_lost_leg()
            self._writing_since = self.uptime()
            self.flush()
            self.progress()  # so that its rates are over the last minute, also between two heartbeats
            self._failing_since, self._why_failing = None, ""
        except ProofsweepError as error:
            self._why_failing = error.message
            if self._failing_since is None:
                self._failing_since = self._writing_since
        finally:
            self._writing_since = None

    def _end_lost_leg(self) -> None:
        """Abort at once: what is in flight would be paid for a row that the other process has, or makes again."""
        self.is_lost = True
        self.stop.pull(RunMustStop("Another process took this leg over.", ended_by=EndedBy.ERROR))
        if self._abort_at != math.inf:
            self._abort_at = self.uptime()
            self.count()

    def _look_for_stop(self) -> None:
        """Look for a request when that is due."""
        now = self.uptime()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_SECONDS
        reason = self.held.stop_asked()
        if reason is not None:
            self._look_at = math.inf
            log(LogEvent.STOP_REQUESTED, run_id=self.held.run_id, leg=self.held.number, why=reason.message)
            self.stop.pull(reason)

    def _is_due(self) -> bool:
        if self.stop.reason is not None and not self._has_told_stop:
            return True
        # By a wall clock, which may be put back: then the time since the last heartbeat is negative.
        since_last = self.held.signs.clock() - self._beaten_at
        return abs(since_last.total_seconds()) >= HEARTBEAT_SECONDS

    def _beat(self) -> None:
        self._has_told_stop = self.stop.reason is not None
        self.held.signs.beat(self.progress())
        self._beaten_at = self.held.signs.clock()


@contextmanager
def kept_alive(heartbeat: Heartbeat, parts: LegParts) -> Iterator[None]:
    """Keep a leg alive for the work inside, and publish what its journal has as it grows."""
    stop = heartbeat.stop
    with (
        background_thread("watch", heartbeat.watch, stop.pull),
        background_thread("heartbeat", heartbeat.keep, stop.pull),
        background_thread("commit", partial(parts.publish_as_it_grows, stop), stop.pull),
    ):
        try:
            yield
        except BaseException:  # a store that is away is waited for no longer than the drain then
            stop.pull(RunMustStop("The work broke off.", ended_by=EndedBy.ERROR))
            raise


class ProgressMeter:
    """The finished rows of a leg's last minute, counted once a second. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._counts = deque[tuple[float, int]](maxlen=_RATE_SECONDS + 1)

    def rate(self, now: float, rows: int) -> float | None:
        """Take note of a count, and return the rows per second of the last minute; None at first."""
        if not self._counts or now - self._counts[-1][0] >= 1.0:
            self._counts.append((now, rows))
        since, before = self._counts[0]
        if now <= since:
            return None
        return (rows - before) / (now - since)


class Leg:
    """A leg that this process holds, with its own bounds."""

    def __init__(
        self,
        service: Service,
        results: Results,
        plan: Plan,
        held: HeldLeg,
        bounds: Bounds,
        *,
        known_good: Sequence[WorkItem],
        recovered: AbstractSet[tuple[str, str]],
        dedupe: bool,
        drain_seconds: float,
    ) -> None:
        """Take the configured `known_good` files, and the location and digest of each sidecar that was `recovered`."""
        self.plan, self.number, self.results = plan, held.number, results
        self.stop, self.workers, self.scheduler = service.stop, service.workers, service.scheduler
        self.stop.drain_seconds = drain_seconds
        _say_if_fewer(service.pace.workers, service.workers.most)
        self.completed = CompletedRows(results, plan, plan.partition_of_leg(self.number))
        journal = Journal(results, plan.run_id, self.number, held.signs.holder.writer)
        self.parts = LegParts(results, plan, self.number, journal)
        spent = calls_sent(service.unattributed)  # to examine the service, before the leg begins
        probes = service.partner.for_probes()
        self.budget = Budget(bounds, probes, service.stop, utc_now, QUOTA_PROBE_SECONDS, spent=spent)
        self.trail = AuditTrail(
            journal=journal,
            budget=self.budget,
            unattributed=service.unattributed,
            environment=plan.environment,
            completed=self.completed,
        )
        root = None if plan.catalog_root is None else path_of(plan.catalog_root, "/")
        self.verify = VerifyContext(
            partner=service.partner.for_items(),
            files=service.files.within(root),
            clock=service.clock,
            duplicates=DuplicateCache(service.stop, service.workers.make_room) if dedupe else None,
            is_as_planned=plan.catalog_kind == INGEST,
            budget=self.budget,
        )
        self.attribution = Attribution(
            checks=Checks(self.verify, self.trail, self._known_files(root), known_good),
            scheduler=service.scheduler,
            stop=service.stop,
            mode=Mode.LEGACY_PAIR if 0 < plan.pairs == plan.eligible else Mode.ONE_FILE,
            outage_seconds=service.retry.breaker_seconds,
        )
        self.heartbeat = self._heartbeat(service, held, drain_seconds)
        self.row_context = RowContext(plan.run_id, held.number, plan.environment, recovered)
        self._meter = ProgressMeter()
        self._reads = ReadWatch(_COUNT_SECONDS)
        self.hanging = self.attribution.checks.known.presence.hanging  # of items that were given up

    def _heartbeat(self, service: Service, held: HeldLeg, drain_seconds: float) -> Heartbeat:
        return Heartbeat(
            held=held,
            flush=self.trail.flush,
            budget=self.budget,
            stop=service.stop,
            store_outage_seconds=service.retry.breaker_seconds,
            drain_seconds=drain_seconds,
            abort=service.abort,
            give_up=service.workers.give_up_all,
            look_at_reads=self._look_at_reads,
            progress=lambda: self.progress,
        )

    @property
    def key(self) -> CurrentKey:
        return self.verify.partner.session.context.key

    def _known_files(self, root: str | None) -> KnownFiles:
        may_be_emptied = None
        if self.plan.catalog_kind == INGEST:  # passes move the files away: an empty folder is a quiet day
            may_be_emptied = partial(is_emptied, self.results, self.plan.environment)
        past = PastAnswers(self.results, self.plan)
        return KnownFiles.of_catalog(self.verify.files, root, past, may_be_emptied)

    def _look_at_reads(self) -> None:
        """Give up what hangs in a read: the place is away, and the other files go on."""
        for thread, awaited in self._reads.look():
            at_work, work = self.workers.at_work(thread), self.verify.in_work.get(thread)
            if at_work is None or not awaited.give_up(thread):  # it is of another leg, or has just had its answer
                continue
            if work is None:
                self.attribution.end_by_hang(awaited.location)
                continue
            # Its place is away until its thread is free again, so that the item is not tried twice at once.
            self.hanging[thread] = hanging_place(awaited.location)
            self.attribution.give_up(awaited.location, work.item.manifest_row)
            work.give_up()
            if not self.workers.give_up(thread, at_work):
                self.hanging.pop(thread, None)

    def __repr__(self) -> str:
        """Return its run and number alone: an orchestrator may show what a task is given."""
        return f"Leg(run_id={self.plan.run_id!r}, number={self.number})"

    @property
    def progress(self) -> LegProgress:
        # While a leg waits, the rows of its last minute say nothing about the time that is left.
        lane, trail = self.scheduler.status(), self.trail
        before, done = self.completed.before, trail.rows.total()
        waiting = self._waiting(lane)
        rate = self._meter.rate(self.scheduler.clock(), done)
        remaining = len(self.completed.own) - (before or 0) - done
        seconds_left = remaining / rate if rate and not waiting else None
        return LegProgress(
            rows=len(self.completed.own),
            finished_before=before,
            counts=dict(trail.rows),
            rate=rate,
            calls=self.budget.spent,
            seconds_left=seconds_left,
            lane_rate=lane.rate,
            quota_left=self.budget.left,
            waiting=waiting,
        )

    def _waiting(self, lane: RateStatus) -> str:
        if self.stop.reason is not None:
            return f"stopping, {counted(self.budget.in_flight, 'file')} in flight: {self.stop.reason.message}"
        if not self.heartbeat.store_is_well:
            return "the results store cannot be written"
        if lane.is_outage:
            return "the service or the files seem to be away, so only a check is sent now and then"
        if lane.pause_seconds >= _LEAST_PAUSE_SECONDS:
            until = self.verify.clock() + timedelta(seconds=lane.pause_seconds)
            return f"the service asked for a pause until {until:%H:%M:%S} UTC"
        return ""


def _say_if_fewer(wanted: int, workers: int) -> None:
    if workers < wanted:
        log(LogEvent.WORKERS_LOWERED, pace_workers=wanted, workers=workers)
        say(f"pace.workers is {workers}, not {wanted}: no more files can be open (ulimit -n)")
