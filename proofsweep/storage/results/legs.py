"""Legs in the store: the claim is created once, the heartbeat says that the leg is alive, the receipt ends it."""

import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from proofsweep.domain import layout
from proofsweep.domain.runs import STALE_SECONDS, Claim, ClockReading, is_fresh
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import NameTaken
from proofsweep.storage.results.plans_and_parts import Results, json_bytes, sha256_hex

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
        return [int(name) for name in self.results.store.folders(layout.legs_folder(self.run_id)) if name.isdecimal()]

    def claim(self, leg: int, facts: Row | None = None) -> None:
        """Claim a leg for this process; another process that takes the leg over needs the `facts`.

        Raises:
            NameTaken: another process was first, or last where the store let both through.
        """
        claim = _own_claim(self._now(), facts or {})
        self.results.store.create(self._name(leg, "claim.json"), json_bytes(asdict(claim)))
        if self.holder(leg) != claim:
            raise NameTaken(f"Leg {leg} was claimed by another process at the same moment.")

    def beat(self, leg: int) -> None:
        """Write the heartbeat: this process is alive now."""
        now = self._now()
        heartbeat = {"at": now.at.isoformat(), "uptime_seconds": now.uptime_seconds}
        self.results.store.replace(self._name(leg, "heartbeat.json"), json_bytes(heartbeat))

    def holder(self, leg: int) -> Claim | None:
        """Read who claimed a leg; None if the claim cannot be read."""
        content = self.results.store.read(self._name(leg, "claim.json"))
        if content is None:
            return None
        try:
            return Claim(**{name: value for name, value in json.loads(content).items() if name in _CLAIM_FIELDS})
        except (ValueError, TypeError, AttributeError):
            return None

    def is_alive(self, leg: int) -> bool:
        """Say whether a leg without a receipt is still worked on, judged by its last sign of life."""
        holder = self.holder(leg)
        if holder is None or _is_gone(holder):
            return False
        return is_fresh(self._last_sign(leg, holder), self._now(), same_boot=_is_of_this_boot(holder))

    def is_heard(self, leg: int) -> bool:
        """Wait up to 30 s for a new heartbeat of a leg that seems dead, if two hosts' clocks had to be compared."""
        holder = self.holder(leg)
        if holder is None or _is_gone(holder) or (_is_of_this_boot(holder) and holder.uptime_seconds is not None):
            return False
        before = self._heartbeat(leg)
        for _ in range(STALE_SECONDS):
            self.rest(1.0)
            if self._heartbeat(leg) != before or self.receipt(leg) is not None:
                return True
        return False

    def active_claim(self) -> Claim | None:
        """Give the last leg's claim while that leg is alive; None when no process works on the run."""
        last = max(self.numbers(), default=0)
        return self.holder(last) if last and self.receipt(last) is None and self.is_alive(last) else None

    def receipt(self, leg: int) -> dict[str, object] | None:
        """Read how a leg ended; None while it runs."""
        content = self.results.store.read(self._name(leg, "receipt.json"))
        document = None if content is None else json.loads(content)
        return document if isinstance(document, dict) else None

    def write_receipt(self, leg: int, receipt: dict[str, object]) -> None:
        """End a leg: its last object but the row in `runs`."""
        self.results.store.create(self._name(leg, "receipt.json"), json_bytes(receipt))

    def receipt_digest(self, leg: int) -> str | None:
        """Give the hex sha256 of a receipt in the store."""
        content = self.results.store.read(self._name(leg, "receipt.json"))
        return None if content is None else sha256_hex(content)

    def _now(self) -> ClockReading:
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


def _own_claim(now: ClockReading, facts: Row) -> Claim:
    pid = os.getpid()
    return Claim(
        host=socket.gethostname(),
        boot=_boot_id(),
        pid=pid,
        process_started=_process_started(pid),
        claimed_at=now.at.isoformat(),
        uptime_seconds=now.uptime_seconds,
        facts=facts,
    )


def _is_gone(claim: Claim) -> bool:
    """Say whether the claim's process ran on this host and no longer exists."""
    if claim.host != socket.gethostname() or claim.boot != _boot_id():
        return False
    try:
        os.kill(claim.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _process_started(claim.pid) != claim.process_started


def _is_of_this_boot(claim: Claim) -> bool:
    return claim.boot == _boot_id() != ""


def _boot_id() -> str:
    """Identify this boot of this host; several containers may share a host name."""
    return _text_of("/proc/sys/kernel/random/boot_id")


def _process_started(pid: int) -> str:
    """Give the start time of a process as the kernel says it; empty for a zombie or if it is not known."""
    stat = _text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return "" if not stat or stat[0] == "Z" else stat[19]


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""
