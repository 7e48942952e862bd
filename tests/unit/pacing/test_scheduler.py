"""Every keyed call waits at the scheduler, which lets probes alone go; a switch ends the leg for all threads."""

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import pytest

from proofsweep.config.threads import StopSwitch
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.pacing.call_queue import CallQueue, Ticket
from proofsweep.pacing.pacer import Pacer
from proofsweep.pacing.rate_share import Share
from proofsweep.pacing.scheduler import Scheduler

from ..left_behind import exchange


@dataclass
class World:
    """A scheduler whose clock runs as usual and can be put forward."""

    pacer: Pacer = field(default_factory=lambda: Pacer(first_rate=1e6))
    stop: StopSwitch = field(default_factory=StopSwitch)
    ahead_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(CallQueue(self.pacer), self.stop, clock=self.now)

    def now(self) -> float:
        return time.monotonic() + self.ahead_seconds

    def throttle(self, call: Call, wait_seconds: float, ticket: Ticket | None = None) -> None:
        self.scheduler.record(exchange(call, 429), ticket)
        self.scheduler.pause_all(exchange(call, 429), ticket, wait_seconds)

    def throttle_at(self, seconds: float, call: Call, wait_seconds: float) -> None:
        self.ahead_seconds = seconds
        self.throttle(call, wait_seconds)


@pytest.fixture
def world() -> World:
    """Return one that ends the leg when the service makes it wait for more than 120 s."""
    return World()


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_pause_holds_everybody_back(world: World) -> None:
    """A call that comes during a pause goes when it is over, up to a tenth later."""
    world.throttle(Call.VERIFY, 0.3)
    began = time.monotonic()

    world.scheduler.wait_turn(Call.UPLOADS, "a")
    world.scheduler.wait_turn(Call.VERIFY, "b")

    assert time.monotonic() - began > 0.29


def test_many_threads_keep_the_pace(world: World) -> None:
    world.pacer.pace = 400.0
    world.scheduler.remember(400.0)
    tickets: list[Ticket] = []

    def work() -> None:
        for _ in range(10):
            ticket = world.scheduler.wait_turn(Call.VERIFY, object())
            tickets.append(ticket)
            world.scheduler.record(exchange(Call.VERIFY, 200), ticket)

    threads = [in_thread(work) for _ in range(20)]
    for thread in threads:
        thread.join(20.0)

    assert sorted(ticket.sent.number for ticket in tickets if ticket.sent) == list(range(1, 201))
    times = [ticket.sent.at for ticket in tickets if ticket.sent]
    assert max(times) - min(times) > 200 / 400 * 0.8
    assert world.scheduler._queue.in_flight == 0


UPLOADS, VERIFY, USAGE = Call.UPLOADS, Call.VERIFY, Call.USAGE
WAITS: list[tuple[list[tuple[float, Call, float]], bool]] = [
    # (when, call, seconds to wait): a wait that is too long is lost before anybody waits.
    ([(0, VERIFY, 120.0)], False),
    ([(0, VERIFY, 121.0)], True),
    # Short waits that never end are lost too.
    ([(now, VERIFY, 1.0) for now in range(120)], False),
    ([(now, VERIFY, 1.0) for now in range(121)], True),
    # Each call waits by itself.
    ([(0, UPLOADS, 1.0), (121, VERIFY, 1.0)], False),
]


@pytest.mark.parametrize(("waits", "is_lost"), WAITS)
def test_a_wait_without_end_is_lost(world: World, waits: list[tuple[float, Call, float]], is_lost: bool) -> None:
    """Whether the service says so at once, or asks for one second again and again."""
    for now, call, wait_seconds in waits[:-1]:
        world.throttle_at(now, call, wait_seconds)
    assert world.stop.reason is None

    world.throttle_at(*waits[-1])

    assert (world.stop.reason is not None) is is_lost


@pytest.mark.parametrize(
    ("between", "is_lost"),
    [
        (exchange(VERIFY, 200), False),
        (exchange(VERIFY, 404), False),
        (exchange(VERIFY, 503), False),
        (exchange(VERIFY, None, Failure.CONNECTION), True),
        (exchange(USAGE, 200), True),
    ],
)
def test_only_an_answer_to_the_same_call_ends_its_wait(world: World, between: Exchange, is_lost: bool) -> None:
    """A busy lane that moves is only slow; GET /partner/usage is answered while no slot is given for hours."""
    world.throttle_at(0, VERIFY, 1.0)

    world.scheduler.record(between)
    world.throttle_at(121, VERIFY, 1.0)

    assert (world.stop.reason is not None) is is_lost


@pytest.mark.parametrize("begins", [Scheduler.open_circuit, Scheduler.probe_failed])
def test_an_outage_is_no_wait_that_the_service_asked_for(world: World, begins: Callable[[Scheduler], None]) -> None:
    """It may last longer than the longest pause, between two short ones."""
    world.scheduler.on_open = lambda: None
    world.throttle(Call.VERIFY, 1.0)
    begins(world.scheduler)
    world.throttle_at(121, Call.VERIFY, 1.0)

    assert world.stop.reason is None


def share(part: float = 1.0, rate: float | None = None) -> Share:
    return Share(part=part, rate=rate, lease=None)


def test_a_part_of_the_rate_is_kept_to(world: World) -> None:
    """The next call waits for its turn; the rate that is told is that of all processes."""
    world.scheduler.apply_share(share(part=0.25, rate=4.0))
    began = time.monotonic()

    for name in "abc":
        world.scheduler.wait_turn(Call.UPLOADS, name)

    assert time.monotonic() - began > 0.4
    assert world.scheduler.status().rate == 16.0
    assert world.scheduler.status().is_shared


def test_a_pause_of_another_process_is_everybodys(world: World) -> None:
    """It is not told on as if it were our own."""
    world.scheduler.pause(30.0)

    assert world.scheduler.status().pause_seconds > 29.0
    assert world.scheduler.pause_ends_at == -math.inf


def test_a_process_whose_calls_wait_is_hungry(world: World) -> None:
    """One that sends less than it may is not."""
    world.scheduler.apply_share(share(rate=1e6))
    world.scheduler.wait_turn(Call.UPLOADS, "a")
    is_hungry = world.scheduler.report().is_hungry

    world.scheduler.apply_share(share(rate=20.0))
    for name in "abc":
        world.scheduler.wait_turn(Call.VERIFY, name)

    assert not is_hungry
    assert world.scheduler.report().is_hungry


def hold_with_waiting(world: World, calls: int) -> tuple[list[Ticket], list[threading.Thread]]:
    gone: list[Ticket] = []

    def come() -> None:
        with suppress(RunMustStop):
            gone.append(world.scheduler.wait_turn(Call.VERIFY, object()))

    world.scheduler.probe_failed()
    threads = [in_thread(come) for _ in range(calls)]
    while len(world.scheduler._waiting) < calls:
        time.sleep(0.001)
    return gone, threads


def test_while_the_lane_is_held_only_probes_go(world: World) -> None:
    """A hundred workers do not ask a service that is down."""
    gone, threads = hold_with_waiting(world, 5)
    world.scheduler.probe_failed()

    world.scheduler.wait_turn(Call.UPLOADS, "probe", is_probe=True)
    world.scheduler.wait_turn(Call.VERIFY, "probe", is_probe=True)
    gone_while_held = len(gone)
    world.scheduler.close_circuit()
    for thread in threads:
        thread.join(5.0)

    assert (gone_while_held, len(gone)) == (0, 5)


def test_work_in_hand_is_abandoned_when_the_leg_ends_in_an_outage(world: World) -> None:
    """Each item would wait for its timeout, one after another: minutes, and without a result."""
    gone, threads = hold_with_waiting(world, 5)

    world.stop.pull(RunMustStop("The service fails for every item.", ended_by="breaker"))
    for thread in threads:
        thread.join(5.0)

    assert gone == []
    assert not any(thread.is_alive() for thread in threads)
    with pytest.raises(RunMustStop):
        world.scheduler.wait_turn(Call.VERIFY, object())


RESET = datetime(2026, 12, 1, tzinfo=UTC)
OUTAGE = RunMustStop("The service is down.", ended_by="breaker", quota_reset=RESET)


def test_the_first_reason_stays_and_each_thread_gets_an_error_of_its_own() -> None:
    """Later reasons follow from it; one exception in two threads would collect both tracebacks."""
    stop = StopSwitch()
    stop.pull(OUTAGE)

    stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))

    assert stop.reason is OUTAGE
    for look in (stop.check, partial(stop.rest, 0.0)):
        with pytest.raises(RunMustStop, match="down") as raised:
            look()
        assert raised.value is not OUTAGE
        assert (raised.value.ended_by, raised.value.quota_reset) == ("breaker", RESET)


def test_it_wakes_threads_that_wait() -> None:
    stop, woken = StopSwitch(), threading.Event()

    def sleep_long() -> None:
        with pytest.raises(RunMustStop):
            stop.rest(3_600.0)
        woken.set()

    sleeper = threading.Thread(target=sleep_long)
    sleeper.start()
    stop.pull(OUTAGE)
    sleeper.join(30.0)

    assert woken.is_set()
