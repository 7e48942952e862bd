"""The legs of a run, each a term of its lease; how they are asked to stop; and the lease of a catalog."""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from proofsweep.domain.errors import NameTaken, RunIsActive
from proofsweep.store import layout
from proofsweep.store.lease import Lease, OpenTerm
from proofsweep.store.objects import Store, json_bytes, read_object


@dataclass(frozen=True, slots=True)
class Legs(Lease):
    """The legs of one run; the lease is named by the run's ID."""

    busy: str = "Leg {number} of run {name} is being worked on by {holder}; see: proofsweep status {name}"

    def in_doubt_before(self, leg: int) -> frozenset[int]:
        """Return the rows that were in doubt when the last leg before this one ended that has a receipt."""
        receipts = (self.receipt(number) for number in range(leg - 1, 0, -1))
        rows = next((receipt for receipt in receipts if receipt is not None), {}).get("in_doubt")
        return frozenset(row for row in rows if isinstance(row, int)) if isinstance(rows, list) else frozenset()

    def open_leg(self) -> OpenTerm | None:
        """Return the last leg, and how far it was at its last heartbeat; None if it has ended, or none began."""
        last = self.last()
        opened = self.open_term(last) if last else None
        return None if opened is None or self.receipt(last) is not None else opened

    def ask_to_stop(self, leg: OpenTerm) -> bool:
        """Ask the process of a leg to stop in good order; return whether nobody had asked it before.

        The request is for this process alone: it never stops a later leg, nor another holder of the same leg.
        """
        request = {"asked_at": self.clock().isoformat(), "host": socket.gethostname()}
        try:
            self.store.create(layout.stop_name(self.name, leg.leg, leg.holder.token), json_bytes(request))
        except NameTaken:
            return False
        return True

    def stop_asked_on(self, leg: int, token: str) -> str | None:
        """Return on which machine somebody asked the process of a leg to stop; None if nobody did."""
        request = read_object(self.store, layout.stop_name(self.name, leg, token))
        return None if request is None else str(request.get("host"))


@dataclass(frozen=True, slots=True)
class CatalogLease:
    """The lease of one catalog in one environment: of its runs, one may make calls. `identity` is that of its plans.

    Each term is a small numbered object that names a leg; the last one counts, as long as a leg of its run is alive.
    """

    store: Store
    environment: str
    identity: str
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def last_over(self) -> str:
        """Name the object of the last term, empty without one; RunIsActive if a leg of its run is alive."""
        self._refuse_if_active(last := self._last(), "")
        return last

    def take(self, run_id: str, leg: int, planned_after: str | None = None) -> None:
        """Take the catalog for a leg of this process; RunIsActive if another run is worked on, or was first.

        `planned_after` is the last term when the run was planned, for its first leg: in a later one, another run may
        have sent the same files. None asks for nothing.
        """
        self._refuse_if_active(last := self._last(), run_id)
        if planned_after is not None and last > planned_after and (first := self._run_of(last)) != run_id:
            raise RunIsActive(f"Run {first} of this catalog began before this one; see: proofsweep status {first}")
        number = int(last.rpartition("/")[2].removesuffix(".json") or 0) + 1
        name = f"{self._folder}/{number:09}.json"
        try:
            self.store.create(name, json_bytes({"run_id": run_id, "leg": leg}))
        except NameTaken as taken:
            raise self._active(self._last()) from taken
        if (newest := self._last()) != name:
            raise self._active(newest)  # this process slept before it wrote
        if last:
            self.store.delete(last)

    @property
    def _folder(self) -> str:
        return layout.catalog_folder(self.environment, self.identity)

    def _last(self) -> str:
        return max(self.store.names(self._folder), default="")

    def _refuse_if_active(self, name: str, own_run: str) -> None:
        if (run_id := self._run_of(name)) in {"", own_run}:  # no other leg of the own run is alive
            return
        legs = self._legs(run_id)
        if (last := legs.last()) and legs.is_held(last):
            raise legs.active_error(last)

    def _active(self, name: str) -> RunIsActive:
        legs = self._legs(self._run_of(name))
        return legs.active_error(legs.last())

    def _legs(self, run_id: str) -> Legs:
        return Legs(self.store, run_id, self.clock)

    def _run_of(self, name: str) -> str:
        try:
            return str(json.loads((self.store.read(name) if name else None) or b"{}")["run_id"])
        except (ValueError, TypeError, KeyError):
            return ""
