"""Several processes with one key, which share what they know of its lane, in simulated time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from benchmarks.simulation.event_queue import EventQueue
from benchmarks.simulation.gateways import Gateway
from benchmarks.simulation.network import SlowProfile, Stalls
from benchmarks.simulation.paced_client import PacedClient
from benchmarks.simulation.simulated_partner import Answered, SimulatedPartner
from benchmarks.simulation.trial import Figures
from proofsweep.pacing.call_queue import CallQueue
from proofsweep.pacing.pacer import Pacer
from proofsweep.pacing.rate_share import (
    LOOK_SECONDS,
    READ_SECONDS,
    PauseNotice,
    RateLease,
    RateShare,
    SharedPause,
    Weight,
)

_REFUSED = 429
# How long a request to the store takes, and how soon a look follows a 429, as in the product.
_STORE_SECONDS = 0.05
_TELL_SECONDS = 0.25


@dataclass(slots=True)
class Told:
    """The store, which keeps the lease of each process, and the pause."""

    leases: dict[str, RateLease] = field(default_factory=dict)
    pause: PauseNotice | None = None


@dataclass(kw_only=True)
class CountingPartner(SimulatedPartner):
    """The service as one process sees it; counts what was let in for it, by second."""

    whole: SimulatedPartner
    let_in: Counter[int] = field(default_factory=Counter)

    def call(self, item: object, *, is_verify: bool, answered: Answered) -> None:
        """Send a call to the one service."""

        def count(status: int, wait: float | None) -> None:
            self.let_in[int(self.events.now)] += status != _REFUSED
            answered(status, wait)

        self.whole.call(item, is_verify=is_verify, answered=count)


@dataclass(kw_only=True)
class Process:
    """One process: it looks at the lane once a second, and soon after a 429; it tells and reads a pause sooner."""

    client: PacedClient
    partner: CountingPartner
    told: Told | None
    share: RateShare
    pause: SharedPause
    is_killed: bool = False
    _refused: int = 0
    _looks_at: float = 0.0

    def start(self) -> None:
        self._look()
        self.client.work()
        self._wait()
        if self.told is not None:
            self._keep_pause(self.told)

    def kill(self) -> None:
        """End without a word."""
        self.is_killed = self.client.queue.is_held = True

    def _wait(self) -> None:
        now = self.client.events.now
        self.client.events.at(now + _TELL_SECONDS * (0.9 + 0.2 * self.client.chance.random()), self._poll)

    def _poll(self) -> None:
        if self.is_killed:
            return
        queue, now = self.client.queue, self.client.events.now
        if queue.refused != self._refused or now >= self._looks_at:
            self._look()
        self._wait()

    def _look(self) -> None:
        queue, now = self.client.queue, self.client.events.now
        self._refused, self._looks_at = queue.refused, now + LOOK_SECONDS
        if self.told is None:
            return
        share = self.share.look(self.told.leases, queue.report(), now)
        if share.lease is not None:
            self.told.leases[self.share.token] = share.lease

        def apply() -> None:
            queue.apply_share(share, self.client.events.now)
            self.client.work()

        self.client.events.at(now + _STORE_SECONDS, apply)

    def _keep_pause(self, store: Told) -> None:
        """Tell a pause within a moment, and read what others were told, each in the time of one request."""
        queue, events = self.client.queue, self.client.events
        if self.is_killed:
            return
        told = self.pause.news(queue.pause_ends_at, events.now, events.now)
        if told is not None:
            store.pause = told
            self.pause.wrote(told, events.now)
        pause_seconds = self.pause.heed(store.pause, events.now, events.now)

        def heed() -> None:
            if pause_seconds:
                queue.pause(events.now, pause_seconds + self.share.turn_seconds)
            wait_seconds = READ_SECONDS * (0.9 + 0.2 * self.client.chance.random())
            events.at(events.now + wait_seconds, lambda: self._keep_pause(store))

        events.at(events.now + _STORE_SECONDS, heed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLane:
    """A lane, the processes that use it, and what happens.

    Attributes:
        ingest_at: when a process with new files begins.
        killed_at: when the second process is killed.
        is_shared: whether the processes know of each other.
        since: from when the figures count.
    """

    name: str
    rate: float
    burst: float
    processes: int = 4
    seconds: int = 900
    since: int = 60
    ingest_at: float | None = None
    killed_at: float | None = None
    changes: Sequence[tuple[float, float]] = ()
    is_shared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of it: the service, and the processes in the order in which they began."""

    partner: SimulatedPartner
    processes: Sequence[Process]

    def figures(self, lane: SharedLane) -> Figures:
        traffic, seconds = self.partner.traffic, range(lane.since, lane.seconds)
        let_in, refused = (sum(each[second] for second in seconds) for each in (traffic.admitted, traffic.refused))
        ideal = self.partner.gateway.admits(seconds.start, seconds.stop)
        return Figures(goodput=let_in / ideal, share=100 * refused / max(1, let_in + refused), slot_age=0.0)

    def share_of(self, processes: Sequence[Process], first: float, last: float) -> float:
        """Return the part of the lane that these processes had between two times."""
        let_in = sum(each.partner.let_in[second] for each in processes for second in range(int(first), int(last)))
        return let_in / self.partner.gateway.admits(int(first), int(last))


def play_shared(lane: SharedLane, seed: int) -> Played:
    """Simulate the processes; all but that of new files begin within some seconds."""
    events, chance = EventQueue(), Random(seed)
    gateway = Gateway(rate=lane.rate, burst=lane.burst, changes=lane.changes, chance=Random(seed + 1))
    conditions = SlowProfile(
        events=events,
        chance=chance,
        jitter_seconds=0.005,
        call_seconds=None,
        stalls=Stalls(0.0, Random(seed + 2)),
        uplink=None,
    )
    whole = SimulatedPartner(events=events, gateway=gateway, conditions=conditions, chance=chance)
    told, processes = Told() if lane.is_shared else None, list[Process]()
    starts = [(3.0 * chance.random(), Weight.VERIFY) for _ in range(lane.processes)]
    starts += [] if lane.ingest_at is None else [(lane.ingest_at, Weight.INGEST)]
    for number, (start, weight) in enumerate(starts):
        partner = CountingPartner(events=events, gateway=gateway, conditions=conditions, chance=chance, whole=whole)
        queue = CallQueue(Pacer())
        client = PacedClient(events=events, partner=partner, chance=Random(seed + 10 * number), queue=queue)
        share = RateShare(token=f"p{number}", weight=weight)
        pause = SharedPause(token=share.token)
        processes.append(Process(client=client, partner=partner, told=told, share=share, pause=pause))
        events.at(start, processes[-1].start)
    if lane.killed_at is not None:
        events.at(lane.killed_at, processes[1].kill)
    events.run(lane.seconds)
    return Played(partner=whole, processes=processes)


SHARED = (
    SharedLane(name="R20 B20, 4 processes", rate=20, burst=20),
    SharedLane(name="R20 B10, 4 processes", rate=20, burst=10),
    SharedLane(name="R40 B20, 4 processes", rate=40, burst=20),
    SharedLane(name="R200 B100, 4 processes", rate=200, burst=100),
    SharedLane(name="R12 B12, 2 processes", rate=12, burst=12, processes=2),
    SharedLane(name="R2 B2, 4 processes", rate=2, burst=2, seconds=1800),
    SharedLane(name="R20 B20, 20 processes", rate=20, burst=20, processes=20),
    SharedLane(name="R20 to 5 to 20, 4 processes", rate=20, burst=20, changes=((300, 5), (600, 20))),
)
NEW_FILES = SharedLane(name="R20 B20, new files", rate=20, burst=20, processes=3, seconds=300, ingest_at=150)
KILLED = SharedLane(name="R20 B20, one killed", rate=20, burst=20, seconds=300, killed_at=150)
