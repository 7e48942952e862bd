"""The legs of a run, each a term of its lease; how they are asked to stop; and the lease of a catalog."""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, RunIsActive, RunMustStop
from proofsweep.domain.runs import AnyRun, Plan
from proofsweep.domain.text import printable
from proofsweep.store import layout
from proofsweep.store.lease import Lease, OpenTerm
from proofsweep.store.objects import JSON_OBJECT, Store, json_bytes, read_document


@dataclass(frozen=True, slots=True)
class Legs(Lease):
    """The legs of one partition of a run; the lease is named by the run's ID.

    What is asked of a leg by its number, all legs of the run answer.
    """

    busy: str = "Leg {number} of run {name} is being worked on by {holder}; see: proofsweep status {name}"

    def in_doubt_before(self, leg: int) -> frozenset[int]:
        """Return the rows that were in doubt when the last leg before this one ended that has a receipt."""
        receipts = (self.receipt(number) for number in range(leg - self.step, 0, -self.step))
        rows = next((receipt for receipt in receipts if receipt is not None), {}).get("in_doubt")
        return frozenset(row for row in rows if isinstance(row, int)) if isinstance(rows, list) else frozenset()

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


def legs_of(store: Store, plan: AnyRun, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> list[Legs]:
    return _partitions(store, plan.run_id, plan.partitions, clock)


def _partitions(store: Store, run_id: str, partitions: int, clock: Callable[[], datetime]) -> list[Legs]:
    return [Legs(store, run_id, clock, first=first, step=partitions) for first in range(1, partitions + 1)]


def leg_numbers(store: Store, plan: AnyRun) -> list[int]:
    return sorted(number for legs in legs_of(store, plan) for number in legs.numbers())


def receipts_of(store: Store, plan: AnyRun) -> dict[int, dict[str, object] | None]:
    """Read how each leg of a run ended, by its number; None for one that has not. ResultsError if one is damaged."""
    legs = Legs(store, plan.run_id)
    return {number: legs.receipt(number) for number in leg_numbers(store, plan)}


def open_legs(store: Store, plan: Plan) -> list[OpenTerm]:
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
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def last_over(self) -> str:
        """Name the object of the last term, empty without one; RunIsActive if a leg of its run is alive."""
        self._refuse_if_active(last := self._last(), "")
        return last

    def take(self, plan: Plan, leg: int, planned_after: str | None = None) -> None:
        """Take the catalog for a leg of this process; RunIsActive if another run is worked on, or was first.

        `planned_after` is the last term when the run was planned, for its first leg: in a later one, another run may
        have sent the same files. None asks for nothing.
        """
        self._refuse_if_active(last := self._last(), plan.run_id)
        if planned_after is not None and last > planned_after and (first := self._run_of(last)[0]) != plan.run_id:
            raise RunIsActive(f"Run {first} of this catalog began before this one; see: proofsweep status {first}")
        number = int(last.rpartition("/")[2].removesuffix(".json") or 0) + 1
        name = f"{self._folder}/{number:09}.json"
        try:
            self.store.create(name, json_bytes({"run_id": plan.run_id, "leg": leg, "partitions": plan.partitions}))
        except NameTaken as taken:
            if self._run_of(name)[0] == plan.run_id:  # a leg of another partition was first
                return
            raise self._active(self._last()) from taken
        if self._run_of(newest := self._last())[0] != plan.run_id:
            raise self._active(newest)  # this process slept before it wrote
        if last:
            self.store.delete(last)

    @property
    def _folder(self) -> str:
        return layout.catalog_folder(self.environment, self.identity)

    def _last(self) -> str:
        return max(self.store.names(self._folder), default="")

    def _refuse_if_active(self, name: str, own_run: str) -> None:
        run_id, partitions = self._run_of(name)
        if run_id in {"", own_run}:
            return
        for legs in _partitions(self.store, run_id, partitions, self.clock):
            if (last := legs.last()) and legs.is_held(last):
                raise legs.active_error(last)

    def _active(self, name: str) -> RunIsActive:
        run_id, partitions = self._run_of(name)
        legs = max(_partitions(self.store, run_id, partitions, self.clock), key=Legs.last)
        return legs.active_error(legs.last())

    def _run_of(self, name: str) -> tuple[str, int]:
        """Return the run of a term, and how many partitions it has."""
        try:
            term = json.loads((self.store.read(name) if name else None) or b"{}")
            return str(term["run_id"]), int(term["partitions"])
        except (ValueError, TypeError, KeyError):
            return "", 1
