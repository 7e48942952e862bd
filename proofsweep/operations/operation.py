"""One leg of an operation, from its begin to its receipt, as a run has them: calls within bounds, rows in the journal.

Legs of processes that are gone are ended first. Each kind finds by itself what is left, and begins anew.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import TypeVar

from proofsweep.client.client import Partner
from proofsweep.config.threads import Lock, background_thread, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ProofsweepError, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Bounds, Operation, OperationKind
from proofsweep.store.journal import FLUSH_SECONDS, Journal
from proofsweep.store.legs import HeldLeg, Legs
from proofsweep.store.parts import Results
from proofsweep.verify.audit_trail import Trail
from proofsweep.verify.budget import Budget, calls_sent
from proofsweep.verify.commit import LegParts, commit_leg
from proofsweep.verify.leg import Heartbeat, kept_alive
from proofsweep.verify.repair import end_dead_legs
from proofsweep.verify.service import Service

CALLS_AT_ONCE = 8  # calls that wait for an answer at once
_MOST_FAILURES = 5  # in a row: then the service fails for everything

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationReport:
    operation_id: str | None  # None if nothing was to be done
    counts: Mapping[str, int]  # rows of its table by state, and how many were looked at
    line: str

    def document(self) -> Row:
        return {"operation_id": self.operation_id, **self.counts}


def said_counts(counts: Mapping[str, int], words: Mapping[str, str]) -> str:
    said: list[str] = []
    for state, word in words.items():
        rows = counts.get(state)
        if rows:
            said.append(f"{rows:,} {word}")
    return ", ".join(said) or "none"


class OperationLeg:
    """What a process does of an operation; safe to use from several threads."""

    def __init__(self, operator: "Operator", operation: Operation, held: HeldLeg) -> None:
        service = operator.service
        self.operation = operation
        self.service = service
        # Calls that were made before the leg began, as to learn the quota, count too.
        spent = calls_sent(service.unattributed)
        self.budget = Budget(operator.bounds, service.partner, service.stop, utc_now, kept=0, spent=spent)
        service.key.on_renewed = self.budget.forget_reading
        writer = held.signs.holder.writer
        journal = Journal(operator.results, operation.run_id, held.number, writer, table=operation.table)
        self.trail = Trail(
            journal=journal,
            budget=self.budget,
            unattributed=service.unattributed,
            environment=operation.environment,
        )
        self._numbers = count()
        self._failures = 0
        self._lock = Lock()

    def ask(self, call: Call, question: Callable[[Partner], _Answer]) -> tuple[_Answer | CallFailed, str | None]:
        """Make one call; return its answer or failure, and the request ID of its last exchange.

        Raises:
            RunMustStop: the bounds allow no other call, or the service fails for everything.
        """
        number = next(self._numbers)
        exchanges: list[Exchange] = []
        self.service.stop.check()

        def note(exchange: Exchange) -> None:
            exchanges.append(exchange)
            self.trail.record(None, exchange, owed_to=number)

        # A failure is an answer of its own, which its kind puts into its table. What stops the leg passes through.
        answer: _Answer | CallFailed
        failed = None
        try:
            self.budget.admit(number, {call})
            partner = self.service.partner.in_new_session(note, partial(self.budget.claim, number))
            answer = question(partner)
        except CallFailed as error:
            answer = failed = error
        finally:
            self.budget.release(number)
        self._count(failed)
        request_id = exchanges[-1].request_id if exchanges else None
        return answer, request_id

    def add(self, *rows: Row) -> None:
        """Add rows to the table of its kind; `operation_id` and `environment` are filled in."""
        own: Row = {"operation_id": self.operation.operation_id, "environment": self.operation.environment}
        for row in rows:
            self.trail.journal.add({**own, **row}, [])

    def keep(self) -> None:
        """Make durable what was added; RunMustStop if the store fails for so long that the leg ends."""
        while True:
            try:
                self.trail.flush()
            except ResultsError:
                # The heartbeat writes too, and knows for how long it failed: it stops the leg, which ends this wait.
                self.service.stop.rest(FLUSH_SECONDS)
            else:
                return

    def give_up(self, failed: CallFailed) -> None:
        why = f"The service fails for everything: {failed.message}"
        self.service.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))

    def _count(self, failed: CallFailed | None) -> None:
        with self._lock:
            # A refusal of one item is an answer too: the service works. Only failures in a row are the service's own.
            if failed is None or (failed.reason.startswith("http_4") and not failed.is_blocked):
                self._failures = 0
                return
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                self.give_up(failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Begins operations with one service and one results store."""

    results: Results
    service: Service
    bounds: Bounds

    @property
    def environment(self) -> str:
        return self.service.settings.environment

    def new_operation(self, kind: OperationKind) -> Operation:
        tail = secrets.token_hex(3)
        base_url = self.service.partner.base_url
        return Operation.named(kind, tail, self.environment, base_url, self.service.clock())

    @contextmanager
    def begun(self, kind: OperationKind) -> Iterator[OperationLeg]:
        """Begin an operation, and settle its leg however the work inside ends.

        (1) end the legs of processes that are gone, (2) plan it, (3) begin its leg, (4) the work, (5) settle.
        ConfigError, ResultsError or RunMustStop if it cannot begin.
        """
        status = self.service.usable(self.bounds.reserve)
        end_dead_legs(self.results, utc_now)  # (1)
        with self.leg_of(self.new_operation(kind)) as work:
            work.budget.record_reading(status.headroom, status.quota_reset)
            yield work  # (4)

    @contextmanager
    def leg_of(
        self, operation: Operation, facts: Mapping[str, object] = MappingProxyType({})
    ) -> Iterator[OperationLeg]:
        """Do the steps (2) to (5) of an operation's next leg; RunIsActive if another process has one.

        The log has the `facts` of the leg as long as it is there.
        """
        service = self.service
        # The fingerprint first of all: there may be no key, and then nothing is written.
        own: Row = {"key_fingerprint": service.key_fingerprint, **facts}
        self.results.write_plan(operation)  # (2)
        end_dead_legs(self.results, utc_now, operation)
        held = Legs(self.results, operation).begin(own)  # (3)
        work = OperationLeg(self, operation, held)
        parts = LegParts(self.results, operation, held.number, work.trail.journal)
        heartbeat = Heartbeat(
            held=held,
            flush=work.trail.flush,
            budget=work.budget,
            stop=service.stop,
            store_outage_seconds=service.retry.breaker_seconds,
        )
        ended_by, why = EndedBy.ERROR, None
        try:
            with kept_alive(heartbeat, parts):
                yield work
                service.stop.check()
            ended_by = EndedBy.COMPLETE
        except ProofsweepError as error:
            why = error.message
            if isinstance(error, RunMustStop):
                ended_by = error.ended_by
            raise
        except KeyboardInterrupt:
            ended_by = EndedBy.CANCELLED
            raise
        finally:  # (5)
            try:
                work.trail.flush()
                with background_thread("heartbeat", heartbeat.send_heartbeats):
                    commit_leg(parts, ended_by, {"finished_at": service.clock()}, why=why)
            except ResultsError as error:
                # What went wrong before is what a person must know. The next operation ends a leg that is not settled.
                if ended_by is EndedBy.COMPLETE:
                    unkept = f"The work is done, and its records cannot be completed now: {error.message}"
                    raise RunMustStop(unkept, ended_by=EndedBy.BREAKER) from error


def active_legs(results: Results, kind: OperationKind) -> dict[str, RunIsActive]:
    """Return the operations of a kind that are at work, as errors by environment; end those that were killed."""
    # A leg that a killed process has left is no work: what remains open after the repair is at work.
    active: dict[str, RunIsActive] = {}
    for record in results.log.runs().operations.values():
        if record.plan.kind == kind and record.open:
            end_dead_legs(results, utc_now, record.plan)
            legs = Legs(results, record.plan)
            for leg in legs.open():
                active[record.plan.environment] = legs.active_error(leg)
    return active
