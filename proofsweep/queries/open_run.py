"""A run that processes work on: how far it is, by their heartbeats, and how it is followed and stopped."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from proofsweep.domain.runs import Plan
from proofsweep.queries.status import RunStatus, describe_run
from proofsweep.store.lease import STALE_SECONDS, OpenTerm
from proofsweep.store.legs import Legs, leg_numbers, open_legs
from proofsweep.store.parts import Results
from proofsweep.store.progress import LegProgress
from proofsweep.store.runs import LegRecord

_LOOK_SECONDS = 2.0  # between two looks for a new heartbeat


def progress_of_run(results: Results, run_id: str) -> LegProgress | None:
    """Return how far a run is, by its receipts and the last heartbeats alone."""
    return _without_rows(results, results.plan(run_id)).progress


def _without_rows(results: Results, plan: Plan) -> RunStatus:
    legs = Legs(results.store, plan.run_id)
    receipts = {leg: legs.receipt(leg) for leg in leg_numbers(results.store, plan)}
    ended = tuple(LegRecord(leg=leg, receipt=receipt) for leg, receipt in receipts.items() if receipt)
    return RunStatus(plan=plan, groups=(), legs=ended, open_legs=tuple(open_legs(results.store, plan)))


def heartbeats_of(results: Results, run: RunStatus) -> Iterator[RunStatus]:
    """Yield a run with its open legs as the store shows them, every two seconds, until all have ended or are dead.

    Whether one is dead is judged by this process's own clock: another machine's may be wrong.
    """
    changed_at, signs = time.monotonic(), _signs_of(run.open_legs)
    while True:
        yield run
        time.sleep(_LOOK_SECONDS)
        run = _without_rows(results, run.plan)
        there = [leg for leg in run.open_legs if not leg.is_gone]
        if _signs_of(there) != signs:
            changed_at, signs = time.monotonic(), _signs_of(there)
        is_silent = time.monotonic() - changed_at > STALE_SECONDS
        if not there or (is_silent and not any(leg.is_alive for leg in there)):
            return


def _signs_of(legs: Iterable[OpenTerm]) -> list[tuple[int, datetime]]:
    return [(leg.leg, leg.beaten_at) for leg in legs]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    run: RunStatus  # how it stands now
    legs: Sequence[OpenTerm] = ()  # that were asked
    has_ended: bool = True


def stop_run(results: Results, run_id: str, wait_seconds: float) -> StopReport:
    """Ask a run's processes to stop in good order, even one that seems dead (clocks differ), and wait for their end."""
    run = describe_run(results, run_id)
    legs = there = [leg for leg in run.open_legs if not leg.is_gone]
    asked: dict[int, OpenTerm] = {}  # one leg of each partition, also one that begins meanwhile
    late_at = time.monotonic() + wait_seconds
    while there:
        for leg in there:
            if asked.setdefault(run.plan.partition_of_leg(leg.leg), leg) is leg:
                Legs(results.store, run_id).ask_to_stop(leg)
        if time.monotonic() >= late_at:
            break
        time.sleep(min(_LOOK_SECONDS / 2, wait_seconds))
        there = [
            leg for leg in open_legs(results.store, run.plan) if not leg.is_gone and _may_be_asked(asked, run.plan, leg)
        ]
    if legs:
        run = describe_run(results, run_id)
    return StopReport(run=run, legs=legs, has_ended=not there)


def _may_be_asked(asked: Mapping[int, OpenTerm], plan: Plan, leg: OpenTerm) -> bool:
    before = asked.get(plan.partition_of_leg(leg.leg))
    return before is None or before.leg == leg.leg
