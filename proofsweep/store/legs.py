"""The legs of a run: who works on which catalog, how far they are, how they are asked to stop, and how they ended."""

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from proofsweep.domain.errors import NameTaken, RunIsActive
from proofsweep.domain.runs import Claim, ClockReading
from proofsweep.store import layout
from proofsweep.store.lease import Lease, sign_in
from proofsweep.store.objects import json_bytes, read_object
from proofsweep.store.parts import Results
from proofsweep.store.progress import LegProgress, OpenLeg, progress_in


@dataclass(frozen=True, slots=True)
class Legs(Lease):
    """The legs of one run; the lease is named by the run's ID."""

    @property
    def run_id(self) -> str:
        return self.name

    def numbers(self) -> list[int]:
        return list(range(1, self.last() + 1))

    def in_doubt_before(self, leg: int) -> frozenset[int]:
        """Return the rows that were in doubt when the last leg before this one ended that has a receipt."""
        receipts = (self.receipt(number) for number in range(leg - 1, 0, -1))
        rows = next((receipt for receipt in receipts if receipt is not None), {}).get("in_doubt")
        return frozenset(row for row in rows if isinstance(row, int)) if isinstance(rows, list) else frozenset()

    def active_error(self, number: int) -> RunIsActive:
        return RunIsActive(
            f"Leg {number} of run {self.run_id} is being worked on by {self.who_holds(number)}; "
            f"see: proofsweep status {self.run_id}"
        )

    def epoch(self, leg: int) -> int:
        """Return the epoch of a leg, by its claim; 0 if there is none that can be read."""
        holder = self.holder(leg)
        epoch = None if holder is None else holder.facts.get("epoch")
        return epoch if isinstance(epoch, int) else 0


def progress_of(results: Results, run_id: str) -> OpenLeg | None:
    """Return the last leg of a run, and how far it was at its last heartbeat; None if it has ended, or none began."""
    legs = Legs(results, run_id)
    last = legs.last()
    claim = legs.holder(last) if last and legs.receipt(last) is None else None
    return None if claim is None else open_leg(legs, last, claim)


def open_leg(legs: Legs, leg: int, claim: Claim) -> OpenLeg:
    content = legs.results.store.read(layout.heartbeat_name(legs.run_id, leg))
    now, beaten = legs.now(), sign_in(content) or claim.claimed
    return OpenLeg(
        run_id=legs.run_id,
        leg=leg,
        claim=claim,
        beaten_at=beaten.at,
        age_seconds=_age_seconds(beaten, now),
        is_gone=legs.is_gone(leg, claim),
        progress=_progress_in(content),
    )


def ask_to_stop(results: Results, leg: OpenLeg) -> bool:
    """Ask the process of a leg to stop in good order; return whether nobody had asked it before.

    The request is for this process alone: it never stops a later leg, nor another claim of the same leg.
    """
    request = {"asked_at": Legs(results, leg.run_id).clock().isoformat(), "host": socket.gethostname()}
    try:
        results.store.create(layout.stop_name(leg.run_id, leg.leg, leg.claim.token), json_bytes(request))
    except NameTaken:
        return False
    return True


def stop_asked_on(legs: Legs, leg: int, token: str) -> str | None:
    """Return on which machine somebody asked the process of a leg to stop; None if nobody did."""
    request = read_object(legs.results.store, layout.stop_name(legs.run_id, leg, token))
    return None if request is None else str(request.get("host"))


def _age_seconds(beaten: ClockReading, now: ClockReading) -> float:
    if beaten.boot == now.boot != "":  # the clock of a boot never jumps
        return max(0.0, now.uptime_seconds - beaten.uptime_seconds)
    return abs((now.at - beaten.at).total_seconds())  # one from the future shows a wrong clock


def _progress_in(content: bytes | None) -> LegProgress | None:
    with suppress(ValueError, AttributeError):
        return progress_in(json.loads(content or b"").get("progress"))
    return None


@dataclass(frozen=True, slots=True)
class CatalogClaims:
    """The claims on one catalog in one environment: of its runs, one may make calls. `identity` is that of its plans.

    Each is a small numbered object that names a leg; the last one counts, as long as that leg is alive.
    """

    results: Results
    environment: str
    identity: str
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def last_inactive(self) -> str:
        """Name the last claim, empty without one; RunIsActive, with run and host, if the leg that it names is alive."""
        self._refuse_if_active(last := self._last(), "")
        return last

    def claim(self, run_id: str, leg: int, planned_after: str | None = None) -> None:
        """Claim the catalog for a leg of this process; RunIsActive if a leg of another run is alive, or was first.

        `planned_after` is the last claim when a run's first leg was planned: a later one of another run may have sent
        the same files. None asks for nothing.
        """
        store, last = self.results.store, self._last()
        self._refuse_if_active(last, run_id)
        if planned_after is not None and last > planned_after and self._claimed_by(last)[0] != run_id:
            first = self._claimed_by(last)[0]
            raise RunIsActive(f"Run {first} of this catalog began before this one; see: proofsweep status {first}")
        number = int(last.rpartition("/")[2].removesuffix(".json") or 0) + 1
        name, content = f"{self._folder}/{number:09}.json", json.dumps({"run_id": run_id, "leg": leg}).encode()
        try:
            store.create(name, content)
        except NameTaken as taken:
            raise self._active(name) from taken
        if self._last() != name:
            raise self._active(self._last())  # this process slept before it wrote
        if last:
            store.delete(last)

    @property
    def _folder(self) -> str:
        return layout.catalog_folder(self.environment, self.identity)

    def _last(self) -> str:
        return max(self.results.store.names(self._folder), default="")

    def _refuse_if_active(self, name: str, own_run: str) -> None:
        run_id, leg = self._claimed_by(name)  # a leg of the own run is known to be over
        if run_id not in {"", own_run} and Legs(self.results, run_id, self.clock).is_active(leg):
            raise self._active(name)

    def _active(self, name: str) -> RunIsActive:
        run_id, leg = self._claimed_by(name)
        return Legs(self.results, run_id, self.clock).active_error(leg)

    def _claimed_by(self, name: str) -> tuple[str, int]:
        try:
            found = json.loads((self.results.store.read(name) if name else None) or b"{}")
            return str(found["run_id"]), int(found["leg"])
        except (ValueError, TypeError, KeyError):
            return "", 0
