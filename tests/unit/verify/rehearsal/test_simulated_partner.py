"""The simulated service answers when its time has come, or refuses at once."""

from random import Random

from proofsweep.verify.rehearsal.event_queue import EventQueue
from proofsweep.verify.rehearsal.gateway import Gateway
from proofsweep.verify.rehearsal.simulated_partner import SimulatedPartner

from .conditions import FixedConditions


def test_a_call_takes_two_trips_and_the_work_and_a_refusal_only_the_trips() -> None:
    """The second call finds the bucket empty."""
    events = EventQueue()
    partner = SimulatedPartner(
        events=events,
        gateway=Gateway(rate=0.5, burst=1),
        conditions=FixedConditions(events, trip=0.1, work=1.0),
        chance=Random(1),  # noqa: S311 - plays a service
    )
    answers: list[tuple[float, int, float | None]] = []
    for _ in range(2):
        partner.call("item", is_verify=False, answered=lambda *answer: answers.append((round(events.now, 6), *answer)))
    events.run_all()

    assert answers == [(0.2, 429, 2.0), (1.2, 200, None)]
    assert (partner.traffic.admitted.total(), partner.traffic.refused.total()) == (1, 1)
