"""A lease: one process at a time works on something, and every other process can tell whether it still does.

Each term of a lease is a numbered folder: `claim.json` is created once and names the process, `heartbeat.json` says
that it is alive, `receipt.json` ends the term. A process that finds the last term ended, or its process dead, takes the
lease over with the next number.
"""

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from proofsweep.config.threads import background_thread
from proofsweep.domain.errors import NameTaken, ResultsError, RunIsActive
from proofsweep.domain.items import Row
from proofsweep.domain.runs import HEARTBEAT_SECONDS, STALE_SECONDS, Claim, ClockReading, is_fresh
from proofsweep.store import layout
from proofsweep.store.objects import hold, is_let_go, json_bytes, let_go
from proofsweep.store.parts import Results, has_claim, last_leg, receipt_of
from proofsweep.store.progress import LegProgress

_CLAIM_FIELDS = frozenset(field.name for field in fields(Claim))


@dataclass(frozen=True, slots=True)
class Lease:
    results: Results
    name: str  # of what is leased
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)  # gives the time in UTC
    # gives the seconds of this boot's monotonic clock, the same in all its processes.
    uptime: Callable[[], float] = time.monotonic
    rest: Callable[[float], None] = time.sleep  # waits for a number of seconds
    # the message for a process that comes while another holds the lease; `{holder}` stands for that one.
    busy: str = "This is being worked on by {holder}."

    def last(self) -> int:
        return last_leg(self.results.store, self.name)

    def last_inactive(self) -> int:
        """Return the number of the last term, which is over; RunIsActive if its process is alive."""
        last = self.last()
        if last and self.is_active(last):
            raise self.active_error(last)
        return last

    def claim(self, number: int, facts: Row | None = None) -> None:
        """Claim a term for this process; another process that takes it over needs the `facts`.

        RunIsActive if another process was first.
        """
        claim = own_claim(self.now(), facts or {})
        try:
            self.results.store.create(layout.claim_name(self.name, number), json_bytes(asdict(claim)))
        except NameTaken as taken:
            raise self.active_error(number) from taken

    def release(self, number: int) -> None:
        """Take back this process's claim of a term that could not begin, so that the term does not exist."""
        with suppress(ResultsError):  # then the claim is stale soon, or at once when this process ends
            self.results.store.delete(layout.claim_name(self.name, number))
        self._let_go(number)

    def beat(self, number: int, progress: LegProgress | None = None) -> None:
        """Write the heartbeat: this process is alive now, and so far with its work."""
        facts: Row = {} if progress is None else {"progress": progress.document()}
        claim = self.results.store.path_of(layout.claim_name(self.name, number))
        facts |= {"holds_claim": claim is not None and hold(claim)}
        now = self.now()
        sign = asdict(now) | {"at": now.at.isoformat()} | facts
        self.results.store.replace(layout.heartbeat_name(self.name, number), json_bytes(sign))

    def write_receipt(self, number: int, receipt: dict[str, object]) -> None:
        """End a term; NameTaken if another process has ended it."""
        try:
            self.results.store.create(layout.receipt_name(self.name, number), json_bytes(receipt))
        except NameTaken:
            self._let_go(number)
            raise
        self._let_go(number)  # not before: until then, a claim that is let go is a dead process's

    def receipt(self, number: int) -> dict[str, object] | None:
        return receipt_of(self.results.store, self.name, number)

    def is_superseded(self, number: int) -> bool:
        """Whether another process has taken a term over: it has claimed the next one, or ended this one."""
        return has_claim(self.results.store, self.name, number + 1) or self.receipt(number) is not None

    def holder(self, number: int) -> Claim | None:
        """Read who claimed a term; None if the claim cannot be read."""
        content = self.results.store.read(layout.claim_name(self.name, number))
        try:
            claim = json.loads(content or b"")
            return Claim(**{name: value for name, value in claim.items() if name in _CLAIM_FIELDS})
        except (ValueError, TypeError, AttributeError):
            return None

    def who_holds(self, number: int) -> str:
        holder = self.holder(number)
        return "another process" if holder is None else f"process {holder.pid} on {holder.host}"

    def active_error(self, number: int) -> RunIsActive:
        return RunIsActive(self.busy.format(holder=self.who_holds(number)))

    def is_alive(self, number: int) -> bool:
        """Whether a term without a receipt is still worked on, judged by its last sign of life."""
        holder = self.holder(number)
        if holder is None or self.is_gone(number, holder):
            return False
        beaten = sign_in(self.results.store.read(layout.heartbeat_name(self.name, number)))
        return is_fresh(beaten or holder.claimed, self.now())

    def is_gone(self, number: int, holder: Claim) -> bool:
        """Whether the process of a term is known to be gone: by its number, or by the claim that it held and let go."""
        claim = self.results.store.path_of(layout.claim_name(self.name, number))
        return is_gone(holder) or (self._holds_claim(number, holder) and claim is not None and is_let_go(claim))

    def is_active(self, number: int) -> bool:
        """Whether a process works on a term; it is waited for up to 30 s if it is not on this machine's list.

        In another container or on another machine, a process that was just killed has a fresh heartbeat, as a live one
        has. Only its next heartbeat shows that it lives.
        """
        holder = self.holder(number)
        if holder is None or self.receipt(number) is not None or self.is_gone(number, holder):
            return False
        is_known = is_here(holder) or self._holds_claim(number, holder)
        is_active = self.is_alive(number) if is_known else self.is_heard(number, holder)
        return is_active and self.receipt(number) is None

    def is_heard(self, number: int, holder: Claim) -> bool:
        """Wait for a new heartbeat: until the last one is stale, or for 30 s if two clocks must be compared."""
        name = layout.heartbeat_name(self.name, number)
        before = self.results.store.read(name)
        for _ in range(STALE_SECONDS + 1):
            if holder.boot == boot_id() != "" and not self.is_alive(number):
                return False
            self.rest(1.0)
            if self.receipt(number) is not None:
                return False
            if self.results.store.read(name) != before:
                return True
        return False

    def _holds_claim(self, number: int, holder: Claim) -> bool:
        """Whether a process of this boot has said that it keeps its claim locked; of another one no lock is seen."""
        content = self.results.store.read(layout.heartbeat_name(self.name, number))
        with suppress(ValueError, AttributeError):
            return holder.boot == boot_id() != "" and json.loads(content or b"").get("holds_claim") is True
        return False

    def _let_go(self, number: int) -> None:
        claim = self.results.store.path_of(layout.claim_name(self.name, number))
        if claim is not None:
            let_go(claim)

    def active_claim(self) -> Claim | None:
        """Return the last term's claim while its process is alive; None when nobody holds the lease."""
        last = self.last()
        return self.holder(last) if last and self.receipt(last) is None and self.is_alive(last) else None

    def now(self) -> ClockReading:
        return ClockReading(self.clock(), self.uptime(), boot_id())


def sign_in(content: bytes | None) -> ClockReading | None:
    """Return the sign of life in a heartbeat; None if it cannot be read: a power cut may leave it empty."""
    try:
        sign = json.loads(content or b"")
        return ClockReading(datetime.fromisoformat(sign["at"]), float(sign["uptime_seconds"]), sign["boot"])
    except (ValueError, KeyError, TypeError):
        return None


def own_claim(now: ClockReading, facts: Row) -> Claim:
    pid = os.getpid()
    return Claim(
        host=socket.gethostname(),
        boot=now.boot,
        pid=pid,
        pid_namespace=_pid_namespace(),
        process_started=_process_started(pid),
        claimed_at=now.at.isoformat(),
        uptime_seconds=now.uptime_seconds,
        token=secrets.token_hex(8),
        facts=facts,
    )


def is_here(claim: Claim) -> bool:
    """Whether the claim's process ID has a meaning here."""
    return (claim.host, claim.boot, claim.pid_namespace) == (socket.gethostname(), boot_id(), _pid_namespace())


def is_gone(claim: Claim) -> bool:
    """Whether the claim's process no longer exists; that is known only where its process ID has a meaning."""
    if not is_here(claim):
        return False
    try:
        os.kill(claim.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return bool(claim.process_started) and _process_started(claim.pid) != claim.process_started


def boot_id() -> str:
    """Return what identifies this boot of this machine; empty where the system does not tell."""
    return _text_of("/proc/sys/kernel/random/boot_id")


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _process_started(pid: int) -> str:
    """Return the start time of a process as the kernel says it; empty for a zombie or if it is not known."""
    stat = _text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return "" if not stat or stat[0] == "Z" else stat[19]


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


@contextmanager
def sole_process(lease: Lease, facts: Row | None = None) -> Iterator[int]:
    """Hold the next term of a lease for the work inside, and yield its number; RunIsActive if another process holds it.

    `facts` are what another process must know if this one is killed.
    """
    number = lease.last_inactive() + 1
    lease.claim(number, facts)

    def keep(over: threading.Event) -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            with suppress(ResultsError):
                lease.beat(number)

    try:
        with background_thread("lease", keep):
            yield number
    finally:
        with suppress(NameTaken):
            lease.write_receipt(number, {"ended_at": lease.clock().isoformat()})
