"""A worker process keeps its own journal, and leaves the leg's heartbeat to the process that holds the leg."""

from dataclasses import replace

from proofsweep.domain.worker_processes import EXCHANGE_SECONDS
from proofsweep.usecases.leg.worker_heartbeat import WorkerHeartbeat

from ..conftest import LegBuilder


def test_an_exchange_of_messages_stands_for_the_heartbeat(new_leg: LegBuilder) -> None:
    """It is due every two seconds; the journal is flushed each time."""
    leg, times, now = new_leg.leg(new_leg.plan(1)), list[float](), [100.0]
    usual = leg.heartbeat
    legs = replace(usual.legs, uptime=lambda: now[0])
    heartbeat = WorkerHeartbeat(
        legs=legs,
        leg=1,
        journal=leg.journal,
        trail=leg.trail,
        budget=leg.budget,
        stop=leg.stop,
        patience_seconds=1.0,
        exchange=lambda: times.append(now[0]),
    )

    for _ in range(9):
        heartbeat.write()
        now[0] += EXCHANGE_SECONDS / 2

    assert times == [100.0 + EXCHANGE_SECONDS * number for number in range(5)]
    assert leg.results.store.names("_runs/20261120T120000Z_000aa/legs/001") == []
