"""The lease of a watched folder: one process at a time makes passes over it.

Each term of a lease is a numbered folder: `lease.json` is created once and names the holder, `heartbeat.json` says that
it is alive, `receipt.json` ends the term. A process that finds the last term ended, or its holder dead, takes the next
one. Old terms are deleted: a folder that is watched has fifty thousand of them in a year, which the log need not know.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime

from pydantic import TypeAdapter

from proofsweep.config.threads import Event, background_thread, utc_now
from proofsweep.domain.errors import NameTaken, ResultsError, RunIsActive
from proofsweep.domain.items import Row
from proofsweep.store import layout
from proofsweep.store.heartbeat import HEARTBEAT_SECONDS, Signs
from proofsweep.store.holder import Holder, this_process
from proofsweep.store.objects import Store, json_bytes, numbered

TERMS_KEPT = 100
_HOLDER = TypeAdapter(Holder)


@dataclass(frozen=True, slots=True)
class Lease:
    store: Store
    name: str  # of the folder
    busy: str  # the message for a process that comes while another holds it; `{holder}` stands for that one
    clock: Callable[[], datetime] = utc_now
    rest: Callable[[float], object] = Event().wait  # in seconds; `time.sleep` fails where a clock is faked, as tests do

    def last(self) -> int:
        """Return the number of the last term, 0 without one."""
        last = max(numbered(self.store, layout.legs_folder(self.name)), default=0)
        # A term exists if its `lease.json` does, not its folder; and a listing may lag behind.
        while last and self.holder(last) is None:
            last -= 1
        while self.holder(last + 1) is not None:
            last += 1
        return last

    def acquire(self, facts: Row) -> "Term":
        """Take the next term for this process; RunIsActive if another one holds the last, or was first.

        `facts` are what another process must know if this one is killed.
        """
        last = self.last()
        holder = self.active_holder(last)
        if holder is not None:
            raise self.active_error(holder)
        number = last + 1
        own = this_process(self.clock(), facts)
        try:
            # The name is free once: of two processes that come here together, one takes the term.
            document = json_bytes(asdict(own))
            self.store.create(layout.lease_name(self.name, number), document)
        except NameTaken as error:
            raise self.active_error(self.holder(number)) from error
        return Term(self, number, self._signs(number, own))

    def active_holder(self, last: int) -> Holder | None:
        """Return who holds the last term, if its process works; wait up to 30 s where nothing else can tell."""
        holder = self.holder(last) if last else None
        if holder is None or not self._signs(last, holder).are_alive(self.rest):
            return None
        return holder

    def holder(self, number: int) -> Holder | None:
        """Read who holds a term; None if there is none."""
        content = self.store.read(layout.lease_name(self.name, number))
        if content is None:
            return None
        with suppress(ValueError):
            return _HOLDER.validate_json(content)
        # Its lease is damaged: the term is there, of a process that nobody can name.
        return Holder(host="?", machine="?", pid=0, process_started="", taken_at=self.clock())

    def _signs(self, number: int, holder: Holder) -> Signs:
        return Signs(self.store, self.name, number, holder, self.clock)

    def active_error(self, holder: Holder | None) -> RunIsActive:
        where = "another process" if holder is None else holder.where
        return RunIsActive(self.busy.format(holder=where))


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a lease that this process holds, or held."""

    lease: Lease
    number: int
    signs: Signs

    def is_lost(self) -> bool:
        """Whether another process has taken the lease: this one was frozen, or could not write for long."""
        holder = self.lease.holder(self.number)
        if holder is None or holder.token != self.signs.holder.token:
            return True
        return self.lease.holder(self.number + 1) is not None

    def lost_error(self) -> RunIsActive:
        return self.lease.active_error(self.lease.holder(self.lease.last()))

    def end(self) -> None:
        store, name = self.lease.store, self.lease.name
        ended = {"ended_at": self.lease.clock().isoformat()}
        with suppress(NameTaken):
            store.create(layout.receipt_name(name, self.number), json_bytes(ended))
        old = self.number - TERMS_KEPT
        if old > 0:
            for name_of in (layout.heartbeat_name, layout.receipt_name, layout.lease_name):
                store.delete(name_of(name, old))


@contextmanager
def sole_process(lease: Lease, facts: Row) -> Iterator[Term]:
    """Hold the next term of a lease for the work inside; RunIsActive if another process holds it."""
    term = lease.acquire(facts)

    def keep(over: Event) -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            with suppress(ResultsError):
                term.signs.beat()

    try:
        with background_thread("lease", keep):
            yield term
    finally:
        # A term that cannot be ended is no failure of the work: the next process waits until it sees that this one is
        # gone.
        with suppress(ResultsError):
            term.end()
