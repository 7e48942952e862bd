"""Every keyed call goes through one door, which ends the leg when waiting is in vain."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from proofsweep.batch.exchanges import Call, Exchange, Failure
from proofsweep.client.breaker import Breaker
from proofsweep.client.gate import Gate
from proofsweep.client.pacer import Pacer
from proofsweep.client.stop import StopSwitch
from proofsweep.contract.headers import AnswerHeaders
from proofsweep.errors import RunMustStop


class Rests(StopSwitch):
    """A switch that passes the time instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.rests: list[float] = []

    def rest(self, seconds: float) -> None:
        """Take note of a wait, and let it pass at once."""
        self.check()
        self.now += seconds
        self.rests.append(seconds)


@dataclass(slots=True)
class Door:
    """A gate with its switch, and with a clock that only waiting moves."""

    gate: Gate
    stop: Rests


@pytest.fixture
def door() -> Door:
    """Give a gate whose breaker trips at the second failure, 20 s after the first."""
    stop = Rests()
    gate = Gate(Pacer(120.0), Breaker(threshold=2, patience_seconds=20.0), stop, clock=lambda: stop.now)
    return Door(gate, stop)


def exchange(call: Call, status: int | None = None, failure: Failure | None = None) -> Exchange:
    """Make an exchange of which only the outcome matters."""
    return Exchange(
        call=call,
        attempt=1,
        started_at=datetime(2026, 11, 20, tzinfo=UTC),
        elapsed_ms=1.0,
        headers=AnswerHeaders(),
        status=status,
        failure=failure,
    )


def test_a_pause_holds_everybody_back_once(door: Door) -> None:
    """Who comes through the door during a pause waits for what is left of it."""
    door.gate.pause_all(Call.VERIFY, 30.0)
    door.stop.now = 10.0

    door.gate.wait_turn()
    door.gate.wait_turn()

    assert door.stop.rests == [20.0]


def test_a_pause_that_is_too_long_ends_the_leg(door: Door) -> None:
    """The rows remain for another leg; nobody sleeps for an hour in a process."""
    door.gate.pause_all(Call.VERIFY, 3_600.0)

    assert door.stop.reason is not None
    assert door.stop.reason.ended_by == "breaker"
    with pytest.raises(RunMustStop):
        door.gate.wait_turn()


def test_work_in_hand_may_be_finished_while_the_leg_ends(door: Door) -> None:
    """A call that need not wait goes: its slot is filled, and its answer only has to be fetched."""
    door.stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))

    door.gate.wait_turn()

    assert door.stop.rests == []


@pytest.mark.parametrize(
    "outage",
    [
        exchange(Call.VERIFY, 500),
        exchange(Call.VERIFY, None, Failure.CONNECTION),
        exchange(Call.SLOT, 403),
        exchange(Call.UPLOADS, 404),
    ],
)
def test_failures_in_a_row_end_the_leg(door: Door, outage: Exchange) -> None:
    """A call that fails for everyone, the storage target's included, means that nobody is there."""
    door.gate.learn(outage)
    door.stop.now = 20.0
    door.gate.learn(outage)

    assert door.stop.reason is not None
    assert door.stop.reason.ended_by == "breaker"


def test_audio_that_slots_refuse_is_not_everybodys_trouble(door: Door) -> None:
    """A row of files that are too large for their slots says nothing of the service."""
    for _ in range(20):
        door.gate.learn(exchange(Call.SLOT, 413))
        door.stop.now += 10.0

    assert door.stop.reason is None


@pytest.mark.parametrize("status", [200, 404, 422, 429])
def test_an_answer_of_any_kind_shows_that_somebody_is_there(door: Door, status: int) -> None:
    """A refusal of one item, or a throttle, is no outage."""
    door.gate.learn(exchange(Call.VERIFY, 500))
    door.stop.now = 20.0
    door.gate.learn(exchange(Call.VERIFY, status))
    door.gate.learn(exchange(Call.VERIFY, 500))

    assert door.stop.reason is None


def test_only_an_admitted_keyed_call_renews_the_patience(door: Door) -> None:
    """The storage target's success says nothing of the API's lane, nor does another throttle."""
    door.gate.pause_all(Call.VERIFY, 1.0)
    door.stop.now = 121.0
    door.gate.learn(exchange(Call.SLOT, 204))
    door.gate.learn(exchange(Call.VERIFY, 429))

    door.gate.pause_all(Call.VERIFY, 1.0)

    assert door.stop.reason is not None


def test_a_lane_that_moves_is_never_given_up(door: Door) -> None:
    """Between two throttles somebody was let through."""
    door.gate.pause_all(Call.VERIFY, 1.0)
    door.stop.now = 121.0
    door.gate.learn(exchange(Call.VERIFY, 200))

    door.gate.pause_all(Call.VERIFY, 1.0)

    assert door.stop.reason is None
