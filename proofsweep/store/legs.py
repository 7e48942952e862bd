"""The legs of a run or an operation: begun in the log, one at a time of each partition, with their signs of life."""

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime

from proofsweep.config.threads import Event, ThreadPoolExecutor, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.items import Row
from proofsweep.domain.runs import AnyRun
from proofsweep.domain.text import printable
from proofsweep.store import layout
from proofsweep.store.heartbeat import OpenLeg, Signs
from proofsweep.store.holder import this_process
from proofsweep.store.log import EntryKind
from proofsweep.store.objects import JSON_OBJECT, Store, json_bytes, read_document
from proofsweep.store.parts import Results
from proofsweep.store.runs import BegunLeg, Runs


@dataclass(frozen=True, slots=True)
class HeldLeg:
    """A leg that this process has begun."""

    results: Results
    entry: int  # that began it
    signs: Signs

    @property
    def run_id(self) -> str:
        return self.signs.name

    @property
    def number(self) -> int:
        return self.signs.number

    def is_lost(self) -> bool:
        """Whether another process has ended it, or has the entry: some gateways let two creates of a name through."""
        holder = self.results.log.entry(self.entry).facts.get("holder")
        if isinstance(holder, dict) and holder.get("token") != self.signs.holder.token:
            return True
        return self.signs.receipt() is not None

    def stop_asked(self) -> RunMustStop | None:
        """Return why somebody asked this process to stop the leg; None if nobody did."""
        name = layout.stop_name(self.run_id, self.number, self.signs.holder.token)
        request = read_document(self.results.store, name, JSON_OBJECT)
        if request is None:
            return None
        why = printable(str(request.get("why")))
        return RunMustStop(why, ended_by=EndedBy(request.get("ended_by")))


@dataclass(frozen=True, slots=True)
class Legs:
    """All legs of one run, or of one operation."""

    results: Results
    run: AnyRun
    clock: Callable[[], datetime] = utc_now
    rest: Callable[[float], object] = Event().wait  # in seconds; `time.sleep` fails where a clock is faked, as tests do

    def begin(
        self,
        facts: Row,
        partition: int = 0,
        *,
        refuse: Callable[[Runs], None] = lambda _: None,
        ends_as: EndedBy | None = None,
        is_given_up: bool = False,
    ) -> HeldLeg:
        """Begin the next leg of a partition in this process.

        `refuse` raises if what the log says by then forbids it. Who ends the leg of a process that is gone needs the
        `facts`: cells of the `runs` row that only the process knows. RunIsActive if another leg of the partition is
        open; the caller has ended those of dead processes. ResultsError if the run was pruned.
        """
        if self.run.run_id in self.results.log.runs().pruned:
            raise ResultsError(f"Run {self.run.run_id} was pruned, and cannot go on: verify the catalog.")
        self.results.enter_plan(self.run)
        holder = this_process(self.clock(), facts)
        number = 0

        def decide(runs: Runs) -> Row:
            nonlocal number
            refuse(runs)
            number = self._next_leg(runs, partition)
            return {"leg": number, "holder": asdict(holder), "ends_as": ends_as, "is_given_up": is_given_up}

        runs = self.results.log.append(EntryKind.BEGUN, self.run.run_id, decide)
        signs = Signs(self.results.store, self.run.run_id, number, holder, self.clock)
        return HeldLeg(self.results, runs.through, signs)

    def _next_leg(self, runs: Runs, partition: int) -> int:
        """Return the number of the next leg of a partition; RunIsActive if one of its legs is open."""
        # The legs of each partition are a sequence of their own: of 3 partitions, the second one has 2, 5, 8.
        step = self.run.partitions
        record = runs.of(self.run)
        if record is None:
            return partition + 1
        for leg in record.open:
            if (leg.leg - 1) % step == partition:
                raise self.active_error(leg)
        begun = [leg for leg in record.numbers if (leg - 1) % step == partition]
        return begun[-1] + step if begun else partition + 1

    def open(self) -> list[BegunLeg]:
        """Return the legs that have not ended: of each partition one at most."""
        record = self.results.log.runs().of(self.run)
        return [] if record is None else list(record.open)

    def shown(self) -> list[OpenLeg]:
        """Return the open legs, each with how far it was at its last heartbeat."""
        legs: list[OpenLeg] = []
        for begun in self.open():
            leg = self.signs_of(begun).shown()
            if leg is not None:  # it has ended since
                legs.append(leg)
        return legs

    def alive(self) -> list[BegunLeg]:
        """Return the open legs whose process works; wait up to 30 s for a heartbeat if nothing else can tell."""
        legs = self.open()
        if not legs:
            return []
        signs = [self.signs_of(leg) for leg in legs]
        # Each leg of another machine may have to be waited for, so all of them at once.
        with ThreadPoolExecutor(len(legs)) as pool:
            are_alive = list(pool.map(lambda sign: sign.are_alive(self.rest), signs))
        return [leg for leg, is_alive in zip(legs, are_alive, strict=True) if is_alive]

    def signs_of(self, leg: BegunLeg) -> Signs:
        return Signs(self.results.store, self.run.run_id, leg.leg, leg.holder, self.clock)

    def active_error(self, leg: BegunLeg) -> RunIsActive:
        run_id = self.run.run_id
        who = f"Leg {leg.leg} of run {run_id} is being worked on by {leg.holder.where}"
        return RunIsActive(f"{who}; see: proofsweep status {run_id}")


def ask_to_stop(store: Store, leg: OpenLeg, now: datetime, reason: RunMustStop | None = None) -> None:
    """Ask the process of a leg to stop in good order.

    The request is for this process alone: it never stops a later leg, nor another holder of the same leg. The first
    one counts. Without a reason, a person asks by a command.
    """
    if reason is None:
        by_command = f"It was stopped by `proofsweep stop`, asked on {socket.gethostname()}."
        reason = RunMustStop(by_command, ended_by=EndedBy.CANCELLED)
    name = layout.stop_name(leg.run_id, leg.leg, leg.holder.token)
    request = {"asked_at": now.isoformat(), "why": reason.message, "ended_by": reason.ended_by}
    with suppress(NameTaken):
        store.create(name, json_bytes(request))


def refuse_rivals(results: Results, runs: Runs, environment: str, identity: str, run_id: str = "") -> None:
    """Raise RunIsActive if a leg of another run of a catalog is open."""
    for rival in runs.rivals_of(environment, identity, run_id):
        raise Legs(results, rival.plan).active_error(rival.open[0])


def refuse_if_active(results: Results, environment: str, identity: str) -> int:
    """Raise RunIsActive if a process works on a run of a catalog; else return the newest entry of the log."""
    runs = results.log.runs()
    for rival in runs.rivals_of(environment, identity):
        # Without a heartbeat the leg is of a killed process, and is ended by whatever begins next.
        legs = Legs(results, rival.plan)
        for leg in legs.alive():
            raise legs.active_error(leg)
    return runs.through
