"""The simulated client takes its items through the real call queue."""

from random import Random

import pytest

from proofsweep.partner.pacing.call_queue import CallQueue
from proofsweep.partner.pacing.pacer import Pacer
from proofsweep.verify.rehearsal.event_queue import EventQueue
from proofsweep.verify.rehearsal.gateway import Gateway
from proofsweep.verify.rehearsal.paced_client import PacedClient
from proofsweep.verify.rehearsal.simulated_partner import SimulatedPartner

from .conditions import FixedConditions


def finished(items: int, *, failing: float = 0.0, **client: object) -> PacedClient:
    """Let a client work through some items in an open lane, each call and upload in one second."""
    events = EventQueue()
    conditions = FixedConditions(events, work=1.0, uploading=1.0)
    gateway = Gateway(rate=1e9, burst=1e9)
    chance = Random(1)  # noqa: S311 - plays a service
    partner = SimulatedPartner(events=events, gateway=gateway, conditions=conditions, chance=chance, failing=failing)
    worker = PacedClient(
        events=events,
        partner=partner,
        chance=chance,
        items=iter(range(items)),
        queue=CallQueue(Pacer(first_rate=1e6)),
        **client,  # type: ignore[arg-type]  # the client's own fields
    )
    events.at(0.0, worker.work)
    events.run_all()
    return worker


def test_few_workers_take_their_items_in_turn() -> None:
    """Ten items of three seconds on two workers."""
    worker = finished(10, workers=2)

    assert worker.finished[-1] == pytest.approx(15.0, rel=0.01)
    assert worker.busy_seconds == pytest.approx(30.0, rel=0.01)


def test_no_item_begins_after_the_window_has_closed() -> None:
    """Those that have begun are finished."""
    worker = finished(10, workers=2, closes_at=4.0)

    assert len(worker.begun) == 4
    assert worker.finished[-1] == pytest.approx(6.0, rel=0.01)


def test_a_machine_prepares_one_item_at_a_time() -> None:
    """However many workers there are."""
    assert finished(10, workers=100, prepare_seconds=2.0).finished[-1] == pytest.approx(23.0, rel=0.01)


def test_a_failed_call_is_made_again() -> None:
    """Every item is finished in the end."""
    worker = finished(20, failing=0.3, workers=20)

    assert len(worker.begun) == 20
    assert worker.busy_seconds > 20 * 3
