"""The process that holds a term of a lease, and whether it still exists."""

import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import getnode

from proofsweep.domain.items import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Which process holds a term. On the same machine, this is enough to check whether it still exists."""

    host: str
    machine: str  # where `pid` is valid: each container has numbers of its own, and they may share a host name
    pid: int
    process_started: str  # the kernel's start time of the process, because process IDs are reused
    taken_at: datetime
    token: str = ""  # random, so that no two holders are equal
    # Cells of the `runs` row that only this process knew: another one writes the row after a kill.
    facts: dict[str, object] = field(default_factory=dict, compare=False)  # the other fields identify the process

    @property
    def where(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def writer(self) -> str:
        """Its name in the journal: the process that ends a dead leg finds by it what the holder wrote."""
        return f"{self.pid}_{self.token}"

    @property
    def is_here(self) -> bool:
        return self.machine == _this_machine()

    @property
    def is_gone(self) -> bool:
        """Whether its process no longer exists; only its own machine can tell."""
        if not self.is_here:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        # The system uses process IDs again. Another process has another start time.
        return bool(self.process_started) and _process_started(self.pid) != self.process_started


def _this_machine() -> str:
    """Name where a process ID has a meaning: host, boot and PID namespace, or else the network card."""
    names = [socket.gethostname()]
    try:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        names.append(boot_id.strip())
        names.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        # As on a Mac: host names are not unique there. Without a network card this is a random number.
        names.append(f"{getnode():012x}")
    return " ".join(names)


def _process_started(pid: int) -> str:
    """Return the start time of a process as the kernel says it; empty for a zombie or if it is not known."""
    with suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        # The name of the program comes first, in parentheses, and may hold spaces and parentheses itself.
        state, *fields = text.rpartition(")")[2].split()
        return "" if state == "Z" else fields[18]
    return ""


def this_process(taken_at: datetime, facts: Row) -> Holder:
    return Holder(
        host=socket.gethostname(),
        machine=_this_machine(),
        pid=os.getpid(),
        process_started=_process_started(os.getpid()),
        taken_at=taken_at,
        token=secrets.token_hex(8),
        facts=facts,
    )
