"""A mistake in the queue or the pacer ends the leg: nobody waits for a call that will never go."""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from proofsweep.client.call_queue import CallQueue, Priority, ServiceHealth, Ticket
from proofsweep.client.in_flight import ConcurrencyLimit
from proofsweep.client.pacer import Pacer
from proofsweep.client.scheduler import Dispatcher
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.headers import AnswerHeaders

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
