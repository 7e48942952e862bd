"""Every keyed call waits at the dispatcher, which lets controls alone go, and ends a leg that waits too long."""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from proofsweep.client.call_queue import CallQueue, Priority, ServiceHealth, Ticket
from proofsweep.client.in_flight import ConcurrencyLimit
from proofsweep.client.lane_model import RateChange
from proofsweep.client.pacer import Pacer
from proofsweep.client.rate_share import LaneShare
from proofsweep.client.scheduler import Dispatcher, LaneStatus
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.headers import AnswerHeaders

from ..left_behind import exchange


@dataclass
class World:
    """A dispatcher whose clock runs as usual and can be put forward."""

    pacer: Pacer = field(default_factory=lambda: Pacer(first_rate=1e6))
    stop: StopSwitch = field(default_factory=StopSwitch)
    reported: list[LaneStatus] = field(default_factory=list)
    room: list[int] = field(default_factory=list)
    ahead_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.dispatcher = Dispatcher(
            CallQueue(self.pacer),
            ServiceHealth(longest_pause_seconds=120.0),
            self.stop,
            clock=self.now,
            report=self.reported.append,
            make_room=self.room.append,
        )

    def now(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic() + self.ahead_seconds

    def throttle(self, call: Call, wait_seconds: float, ticket: Ticket | None = None) -> None:
        """Let a call be answered with 429."""
        self.dispatcher.note(exchange(call, 429), ticket)
        self.dispatcher.pause_all(exchange(call, 429), ticket, wait_seconds)


@pytest.fixture
def world() -> World:
    """Return one that ends the leg when the service makes it wait for more than 120 s."""
    return World()


def in_thread(work: Callable[[], object]) -> threading.Thread:
    """Run something in a thread of its own."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_pause_holds_everybody_back(world: World) -> None:
    """A call that comes during a pause goes when it is over, up to a tenth later."""
    world.throttle(Call.VERIFY, 0.3)
    began = time.monotonic()

    world.dispatcher.wait_turn(Call.UPLOADS, "a")
    world.dispatcher.wait_turn(Call.VERIFY, "b")

    assert time.monotonic() - began > 0.29


def test_what_is_left_of_a_pause_is_told(world: World) -> None:
    """A person who watches the leg sees what it waits for."""
    before = world.dispatcher.status()

    world.throttle(Call.VERIFY, 60.0)
    during = world.dispatcher.status().pause_seconds
    world.ahead_seconds = 70.0

    assert before.pause_seconds == world.dispatcher.status().pause_seconds == 0.0
    assert 59.0 < during <= 66.0


def test_many_threads_keep_the_pace(world: World) -> None:
    """Each call goes once, and at the pace."""
    world.pacer.pace = 400.0
    world.dispatcher.remember(400.0)
    tickets: list[Ticket] = []

    def work() -> None:
        for _ in range(10):
            ticket = world.dispatcher.wait_turn(Call.VERIFY, object())
            tickets.append(ticket)
            world.dispatcher.note(exchange(Call.VERIFY, 200), ticket)

    threads = [in_thread(work) for _ in range(20)]
    for thread in threads:
        thread.join(20.0)

    assert sorted(ticket.sent.number for ticket in tickets if ticket.sent) == list(range(1, 201))
    times = [ticket.sent.at for ticket in tickets if ticket.sent]
    assert max(times) - min(times) > 200 / 400 * 0.8
    assert world.dispatcher._queue.in_flight == 0


def test_work_in_hand_may_be_finished_while_the_leg_ends(world: World) -> None:
    """A slot is filled, and only its verdict is missing; no new slot is requested."""
    world.stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))

    world.dispatcher.wait_turn(Call.VERIFY, "a")

    world.throttle(Call.VERIFY, 0.2)
    with pytest.raises(RunMustStop):
        world.dispatcher.wait_turn(Call.UPLOADS, "b")


def test_a_call_for_a_new_slot_makes_room(world: World) -> None:
    """So that the next item begins; calls of items that have begun, and of controls, make none."""
    world.dispatcher.wait_turn(Call.UPLOADS, "a")
    world.dispatcher.wait_turn(Call.UPLOADS, "control", is_control=True)
    world.dispatcher.wait_turn(Call.UPLOADS, "a", is_retry=True)
    world.dispatcher.wait_turn(Call.VERIFY, "a")

    assert world.room == [0]


def test_room_is_made_with_the_number_of_calls_that_wait(world: World) -> None:
    """If no other call waits, items begin too late."""
    world.throttle(Call.VERIFY, 60.0)
    threads = [in_thread(lambda: world.dispatcher.wait_turn(Call.UPLOADS, object())) for _ in range(4)]
    while len(world.dispatcher._waiting) < 4:
        time.sleep(0.001)
    world.pacer.pace = 10.0
    world.ahead_seconds = 70.0
    for thread in threads:
        thread.join(10.0)

    assert sorted(world.room) == [0, 1, 2, 3]


def test_a_429_changes_the_rate_and_is_reported() -> None:
    """A person who watches a run sees why it is slower."""
    pause_seconds = 1.0
    while pause_seconds > 0.4:  # where the machine stalls meanwhile, the 429 teaches no rate
        world = World()
        world.pacer.pace = 20.0
        sent = [(world.dispatcher.wait_turn(Call.VERIFY, number), time.monotonic()) for number in range(30)]
        pause_seconds = max(later - earlier for (_, earlier), (_, later) in pairwise(sent))

    world.throttle(Call.VERIFY, 0.1, sent[-1][0])

    assert [(status.rate_change, status.most) for status in world.reported] == [(RateChange.FOUND, None)]
    assert world.dispatcher.status() == world.reported[-1]
    assert world.dispatcher.status().rate is not None


def test_a_wait_in_an_outage_changes_no_rate(world: World) -> None:
    """Only a 429 shows something about the lane."""
    ticket = world.dispatcher.wait_turn(Call.VERIFY, "a")

    world.dispatcher.note(exchange(Call.VERIFY, 503), ticket)
    world.dispatcher.pause_all(exchange(Call.VERIFY, 503), ticket, 0.1)

    assert world.dispatcher.status().rate is None
    assert world.reported == []


def test_a_part_of_the_lane_is_kept_to_until_it_is_the_whole(world: World) -> None:
    """The next call waits for its turn; without others it goes at once."""
    world.dispatcher.meet(LaneShare(rate=0.02), 0.0)
    world.dispatcher.wait_turn(Call.UPLOADS, "a")
    waiting = in_thread(lambda: world.dispatcher.wait_turn(Call.UPLOADS, "b"))
    assert waiting.is_alive()
    assert world.dispatcher.status().is_shared

    world.dispatcher.meet(None, 0.0)

    waiting.join(timeout=10)
    assert not waiting.is_alive()
    assert not world.dispatcher.status().is_shared


def test_a_part_that_is_not_renewed_is_kept_no_longer(world: World) -> None:
    """A store that is away must not slow the calls."""
    world.dispatcher.meet(LaneShare(rate=0.02, until=world.dispatcher.clock() + 11.0), 0.0)
    world.dispatcher.wait_turn(Call.UPLOADS, "a")

    world.ahead_seconds += 12.0

    world.dispatcher.wait_turn(Call.UPLOADS, "b")
    world.dispatcher.wait_turn(Call.UPLOADS, "c")


def test_a_pause_of_another_process_is_everybodys(world: World) -> None:
    """It is not told on as if it were our own."""
    world.dispatcher.meet(None, 30.0)

    assert world.dispatcher.status().pause_seconds > 29.0
    assert world.dispatcher.lane_report().pause_seconds == 0.0


def hold_with_waiting(world: World, calls: int) -> tuple[list[Ticket], list[threading.Thread]]:
    """Hold the lane, and let so many calls of items wait."""
    gone: list[Ticket] = []

    def come() -> None:
        with suppress(RunMustStop):
            gone.append(world.dispatcher.wait_turn(Call.VERIFY, object()))

    world.dispatcher.hold(is_held=True)
    threads = [in_thread(come) for _ in range(calls)]
    while len(world.dispatcher._waiting) < calls:
        time.sleep(0.001)
    return gone, threads


def test_while_the_lane_is_held_only_controls_go(world: World) -> None:
    """A hundred workers do not ask a service that is down; its beginning and its end are reported, once each."""
    gone, threads = hold_with_waiting(world, 5)
    world.dispatcher.hold(is_held=True)

    world.dispatcher.wait_turn(Call.UPLOADS, "control", is_control=True)
    world.dispatcher.wait_turn(Call.VERIFY, "control", is_control=True)
    gone_while_held = len(gone)
    world.dispatcher.hold(is_held=False)
    for thread in threads:
        thread.join(5.0)

    assert (gone_while_held, len(gone)) == (0, 5)
    assert [status.is_outage for status in world.reported] == [True, False]


def test_no_control_is_made_while_the_leg_ends(world: World) -> None:
    """Nobody would believe anything because of it any more."""
    world.throttle(Call.VERIFY, 0.2)
    world.stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))

    with pytest.raises(RunMustStop):
        world.dispatcher.wait_turn(Call.VERIFY, "control", is_control=True)


def test_work_in_hand_is_abandoned_when_the_leg_ends_in_an_outage(world: World) -> None:
    """Each item would wait for its timeout, one after another: minutes, and without a result."""
    gone, threads = hold_with_waiting(world, 5)

    world.stop.pull(RunMustStop("The service fails for every item.", ended_by="breaker"))
    for thread in threads:
        thread.join(5.0)

    assert gone == []
    assert not any(thread.is_alive() for thread in threads)
    with pytest.raises(RunMustStop):
        world.dispatcher.wait_turn(Call.VERIFY, object())


def test_a_throttled_usage_call_is_over(world: World) -> None:
    """Else it would count as in flight for ever."""
    ticket = world.dispatcher.wait_turn(Call.USAGE, "a")

    world.dispatcher.note(exchange(Call.USAGE, 429), ticket)

    assert world.dispatcher.wait_turn(Call.VERIFY, "b").in_flight == 1


FUNCTIONS = [
    pytest.param(kind, name, id=f"{kind.__name__}.{name}")
    for kind in (CallQueue, Pacer)
    for name, value in vars(kind).items()
    if not name.startswith("_") and (callable(value) or isinstance(value, property))
]


class Mistake(Exception):
    """An error that nothing expects."""


@dataclass
class Leg:
    """Workers with one item after another, and a clock that can be put forward."""

    stop: StopSwitch = field(default_factory=StopSwitch)
    ahead_seconds: float = 0.0
    raised: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        limit = ConcurrencyLimit()
        for seconds in (-4.0, -2.0):  # one 429 more shows a limit of three calls at once
            for _ in range(3):
                limit.was_admitted(3)
            limit.was_refused(4, self.now() + seconds)
        self.queue = CallQueue(Pacer(first_rate=100.0), limit)
        self.dispatcher = Dispatcher(self.queue, ServiceHealth(), self.stop, clock=self.now)

    def now(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic() + self.ahead_seconds

    def kept(self, work: Callable[[], None]) -> None:
        """Work, and keep what is raised."""
        try:
            work()
        except (RunMustStop, Mistake) as error:
            self.raised.append(error)

    def call(self, call: Call, holder: Hashable) -> Ticket:
        """Make a call as a session does, up to its answer."""
        try:
            return self.dispatcher.wait_turn(call, holder)
        except BaseException:
            self.dispatcher.drop(holder, None)
            raise

    def answer(self, call: Call, holder: Hashable, ticket: Ticket | None, status: int = 200) -> None:
        """Let it be answered."""
        exchange = Exchange(
            call=call,
            attempt=1,
            started_at=datetime(2026, 11, 20, tzinfo=UTC),
            elapsed_ms=1.0,
            headers=AnswerHeaders(),
            status=status,
        )
        self.dispatcher.note(exchange, ticket, holder)
        if exchange.is_throttled:
            self.dispatcher.pause_all(exchange, ticket, 0.05)

    def work(self) -> None:
        """Verify items until the leg ends."""
        while True:
            item = object()
            self.answer(Call.UPLOADS, item, self.call(Call.UPLOADS, item))
            self.answer(Call.SLOT, item, None)
            self.answer(Call.VERIFY, item, self.call(Call.VERIFY, item))

    def meet_everything(self) -> None:
        """Find a concurrency limit and then a rate, be told to wait, meet others, and end the leg by Ctrl-C."""
        tickets = [self.call(Call.VERIFY, number) for number in range(4)]
        self.answer(Call.VERIFY, 3, tickets.pop(), 429)
        for number, ticket in enumerate(tickets):
            self.answer(Call.VERIFY, number, ticket)
        self.ahead_seconds += 5.0
        self.answer(Call.VERIFY, "a", self.call(Call.VERIFY, "a"), 429)
        self.dispatcher.remember(50.0)
        self.answer(Call.USAGE, "a", None, 429)
        self.dispatcher.lane_report()
        self.dispatcher.meet(None, 0.0)
        self.answer(Call.VERIFY, "a", self.call(Call.VERIFY, "a"))
        self.stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))


@pytest.fixture
def mistake(kind: type, name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Let a function raise once, as soon as it is called after this one."""
    value, left = vars(kind)[name], []
    function = value.fget if isinstance(value, property) else value

    def fails(*given: object, **named: object) -> object:
        if left:
            raise left.pop()
        return function(*given, **named)

    monkeypatch.setattr(kind, name, property(fails) if isinstance(value, property) else fails)
    yield lambda: left.append(Mistake(name))
    assert not left, f"{name} was never called: add what calls it to Leg.meet_everything"


@pytest.mark.parametrize(("kind", "name"), FUNCTIONS)
def test_a_mistake_ends_the_leg_and_everybody_returns(mistake: Callable[[], None], name: str) -> None:
    """One thread raises it, so that it is told; the others are told that the leg ends."""
    leg = Leg()
    mistake()
    threads = [threading.Thread(target=leg.kept, args=(leg.work,), daemon=True) for _ in range(5)]
    for thread in threads:
        thread.start()

    leg.kept(leg.meet_everything)
    for thread in threads:
        thread.join(5.0)

    assert not any(thread.is_alive() for thread in threads)
    assert [str(error) for error in leg.raised if isinstance(error, Mistake)] == [name]
    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == ("cancelled" if name == "release" else "error")  # nobody leaves before the end


def test_all_that_wait_see_the_end_though_nobody_wakes_them() -> None:
    """The first in the queue wakes the others; if it is lost, they still return."""
    leg = Leg()
    leg.dispatcher._queue.enter(Priority.OTHER, "nobody waits for it")
    leg.queue.pacer.pause(leg.now(), 60.0)
    threads = [threading.Thread(target=leg.kept, args=(leg.work,), daemon=True) for _ in range(5)]
    for thread in threads:
        thread.start()

    leg.stop.pull(RunMustStop("Ctrl-C.", ended_by="cancelled"))
    for thread in threads:
        thread.join(5.0)

    assert not any(thread.is_alive() for thread in threads)
