"""Legs in the store: the claim is created once, the heartbeat says that the leg is alive, the receipt ends it."""

import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from proofsweep.domain import layout
from proofsweep.domain.runs import STALE_SECONDS, Claim, ClockReading, is_fresh
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import NameTaken, ResultsError, RunIsActive
from proofsweep.storage.results.plans_and_parts import Results, json_bytes, sha256_hex
from proofsweep.storage.results.receipts import has_claim, last_leg, receipt_of

_CLAIM_FIELDS = frozenset(field.name for field in fields(Claim))


@dataclass(frozen=True, slots=True)
class Legs:
    """The legs of one run.

    Attributes:
        clock: gives the time in UTC.
        uptime: gives the seconds of this boot's monotonic clock, the same in all its processes.
        rest: waits for a number of seconds.
    """

    results: Results
    run_id: str
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    uptime: Callable[[], float] = time.monotonic
    rest: Callable[[float], None] = time.sleep

    def numbers(self) -> list[int]:
        """List the legs that were claimed."""
        return list(range(1, self.last() + 1))

    def last(self) -> int:
        """Give the number of the last leg that was claimed; 0 without one."""
        return last_leg(self.results.store, self.run_id)

    def claim(self, leg: int, facts: Row | None = None) -> None:
        """Claim a leg for this process; another process that takes the leg over needs the `facts`.

        Raises:
            NameTaken: another process was first, or last where the store let both through.
            ResultsError: it cannot be known; the leg is released if the store permits it.
        """
        claim = own_claim(self.now(), facts or {})
        self.results.store.create(layout.claim_name(self.run_id, leg), json_bytes(asdict(claim)))
        try:
            holder = self.holder(leg)
        except ResultsError:
            self.release(leg)
            raise
        if holder != claim:
            raise NameTaken(f"Leg {leg} was claimed by another process at the same moment.")

    def release(self, leg: int) -> None:
        """Take back this process's claim of a leg that could not begin, so that the leg does not exist."""
        with suppress(ResultsError):  # then the claim is stale soon, or at once when this process ends
            self.results.store.delete(layout.claim_name(self.run_id, leg))

    def is_superseded(self, leg: int) -> bool:
        """Say whether another process has taken over from a leg: it has claimed the next one, or ended this one."""
        return has_claim(self.results.store, self.run_id, leg + 1) or self.receipt(leg) is not None

    def beat(self, leg: int) -> None:
        """Write the heartbeat: this process is alive now."""
        now = self.now()
        heartbeat = {"at": now.at.isoformat(), "uptime_seconds": now.uptime_seconds}
        self.results.store.replace(self._name(leg, "heartbeat.json"), json_bytes(heartbeat))

    def in_doubt_before(self, leg: int) -> frozenset[int]:
        """Return the rows that were in doubt when the last leg before this one ended that has a receipt."""
        receipts = (self.receipt(number) for number in range(leg - 1, 0, -1))
        return _rows_in(next((receipt for receipt in receipts if receipt is not None), None), "in_doubt")

    def refused_again(self, leg: int) -> frozenset[int]:
        """Return the rows that a leg was refused although the same bytes were accepted before."""
        return _rows_in(self.receipt(leg), "refused_again")

    def holder(self, leg: int) -> Claim | None:
        """Read who claimed a leg; None if the claim cannot be read."""
        content = self.results.store.read(layout.claim_name(self.run_id, leg))
        if content is None:
            return None
        try:
            return Claim(**{name: value for name, value in json.loads(content).items() if name in _CLAIM_FIELDS})
        except (ValueError, TypeError, AttributeError):
            return None

    def is_alive(self, leg: int) -> bool:
        """Say whether a leg without a receipt is still worked on, judged by its last sign of life."""
        holder = self.holder(leg)
        if holder is None or is_gone(holder):
            return False
        return is_fresh(self._last_sign(leg, holder), self.now(), same_boot=_is_of_this_boot(holder))

    def is_active(self, leg: int) -> bool:
        """Say whether a process works on a leg; one that ends meanwhile is not active any more."""
        if self.receipt(leg) is not None:
            return False
        return (self.is_alive(leg) or self.is_heard(leg)) and self.receipt(leg) is None

    def is_heard(self, leg: int) -> bool:
        """Wait up to 30 s for a new heartbeat of a leg that seems dead, if two hosts' clocks had to be compared."""
        holder = self.holder(leg)
        if holder is None or is_gone(holder) or (_is_of_this_boot(holder) and holder.uptime_seconds is not None):
            return False
        before = self._heartbeat(leg)
        for _ in range(STALE_SECONDS):
            self.rest(1.0)
            if self.receipt(leg) is not None:
                return False
            if self._heartbeat(leg) != before:
                return True
        return False

    def active_claim(self) -> Claim | None:
        """Give the last leg's claim while that leg is alive; None when no process works on the run."""
        last = self.last()
        return self.holder(last) if last and self.receipt(last) is None and self.is_alive(last) else None

    def active_error(self, leg: int) -> RunIsActive:
        """Return the error that names who works on a leg."""
        holder = self.holder(leg)
        who = "another process" if holder is None else f"process {holder.pid} on {holder.host}"
        return RunIsActive(
            f"Leg {leg} of run {self.run_id} is being worked on by {who}; see: proofsweep status {self.run_id}"
        )

    def receipt(self, leg: int) -> dict[str, object] | None:
        """Read how a leg ended; None while it runs."""
        return receipt_of(self.results.store, self.run_id, leg)

    def write_receipt(self, leg: int, receipt: dict[str, object]) -> None:
        """End a leg: its last object but the row in `runs`."""
        self.results.store.create(layout.receipt_name(self.run_id, leg), json_bytes(receipt))

    def receipt_digest(self, leg: int) -> str | None:
        """Give the hex sha256 of a receipt in the store."""
        content = self.results.store.read(layout.receipt_name(self.run_id, leg))
        return None if content is None else sha256_hex(content)

    def now(self) -> ClockReading:
        """Read both clocks."""
        return ClockReading(self.clock(), self.uptime())

    def _heartbeat(self, leg: int) -> bytes | None:
        """Read the last heartbeat; an older version of the program writes each one as a new `beat-<n>.json`."""
        content = self.results.store.read(self._name(leg, "heartbeat.json"))
        if content is None:
            names = self.results.store.names(layout.leg_folder(self.run_id, leg))
            numbered = [name for name in names if "/beat-" in name]
            content = self.results.store.read(numbered[-1]) if numbered else None
        return content

    def _last_sign(self, leg: int, holder: Claim) -> ClockReading:
        try:
            heartbeat = json.loads(self._heartbeat(leg) or "{}")
            return ClockReading(datetime.fromisoformat(heartbeat["at"]), heartbeat.get("uptime_seconds"))
        except (ValueError, KeyError, TypeError):
            return ClockReading(datetime.fromisoformat(holder.claimed_at), holder.uptime_seconds)

    def _name(self, leg: int, name: str) -> str:
        return f"{layout.leg_folder(self.run_id, leg)}/{name}"


def own_claim(now: ClockReading, facts: Row) -> Claim:
    """Say which process this is."""
    pid = os.getpid()
    return Claim(
        host=socket.gethostname(),
        boot=boot_id(),
        pid=pid,
        pid_namespace=_pid_namespace(),
        process_started=_process_started(pid),
        claimed_at=now.at.isoformat(),
        uptime_seconds=now.uptime_seconds,
        token=secrets.token_hex(8),
        facts=facts,
    )


def is_gone(claim: Claim) -> bool:
    """Say whether the claim's process no longer exists; that is known only where its process ID has a meaning here."""
    here = (socket.gethostname(), boot_id(), _pid_namespace())
    if (claim.host, claim.boot, claim.pid_namespace) != here:
        return False
    try:
        os.kill(claim.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return bool(claim.process_started) and _process_started(claim.pid) != claim.process_started


def _is_of_this_boot(claim: Claim) -> bool:
    return claim.boot == boot_id() != ""


def boot_id() -> str:
    """Identify this boot of this machine."""
    return _text_of("/proc/sys/kernel/random/boot_id")


def _pid_namespace() -> str:
    """Identify the PID namespace of this process; empty where the system has none."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _process_started(pid: int) -> str:
    """Give the start time of a process as the kernel says it; empty for a zombie or if it is not known."""
    stat = _text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return "" if not stat or stat[0] == "Z" else stat[19]


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _rows_in(receipt: dict[str, object] | None, member: str) -> frozenset[int]:
    rows = (receipt or {}).get(member)
    return frozenset(row for row in rows if isinstance(row, int)) if isinstance(rows, list) else frozenset()
