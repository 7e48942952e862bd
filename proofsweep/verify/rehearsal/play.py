"""Play one leg: its items, the real call queue and pacer, and a service that answers as it was observed."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from proofsweep.model.forecast import Bind
from proofsweep.model.observed import ObservedLane, ObservedService
from proofsweep.partner.pacing.call_queue import CallQueue
from proofsweep.partner.pacing.concurrency_limit import ConcurrencyLimit
from proofsweep.partner.pacing.pacer import FIRST_RATE, Pacer
from proofsweep.verify.rehearsal.event_queue import EventQueue
from proofsweep.verify.rehearsal.gateway import Gateway
from proofsweep.verify.rehearsal.paced_client import PacedClient
from proofsweep.verify.rehearsal.simulated_partner import SimulatedPartner
from proofsweep.verify.rehearsal.uplink import Uplink

# A lane that was never reached: more calls per second than any client sends.
_OPEN = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What is played.

    Attributes:
        sizes: bytes of each item's audio, in the order of the catalog.
        known_rate: calls per second that an earlier leg learned; None if the pacer must search from `first_rate` on.
        workers: the most items in flight.
        detects_limit: whether a limit on concurrent calls is looked for.
        closes_after_seconds: the time from which no new item begins.
        seed: decides all that is random.
    """

    sizes: Sequence[int]
    service: ObservedService
    workers: int
    known_rate: float | None = None
    first_rate: float = FIRST_RATE
    detects_limit: bool = True
    closes_after_seconds: float = math.inf
    seed: int = 1

    @property
    def queue(self) -> CallQueue:
        """The call queue as a leg begins with it."""
        limit = ConcurrencyLimit() if self.detects_limit else None
        return CallQueue(Pacer(self.known_rate, self.first_rate), limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What happened, in seconds since the first item could begin.

    Attributes:
        begun: when each item began.
        finished: when each item was finished, in order.
        uses: the share that was used of the lane, the uplink, the threads and the CPU, as far as these have a limit.
    """

    begun: Sequence[float]
    finished: Sequence[float]
    calls: int
    refused: int
    uses: Mapping[Bind, float]

    @property
    def seconds(self) -> float:
        """When the last item was finished."""
        return self.finished[-1] if self.finished else 0.0


@dataclass(slots=True, kw_only=True)
class ObservedConditions:
    """Answer times and uploads as they were observed; `worked_seconds` is how long all calls together were let in."""

    events: EventQueue
    chance: Random
    service: ObservedService
    sizes: Sequence[int]
    worked_seconds: float = 0.0
    link: Uplink = field(init=False)

    def __post_init__(self) -> None:
        link = self.service.link
        self.link = Uplink(events=self.events, speed=link.of_all, most_each=link.of_each)

    def trip_seconds(self) -> float:
        """Return the duration of a one-way trip."""
        return self.service.trip_seconds

    def awake_at(self, now: float) -> float:
        """Return the time itself: what was observed includes the stalls of the machine."""
        return now

    def work_seconds(self, *, is_verify: bool) -> float:
        """Draw the duration of a call, less its two trips."""
        seen = self.service.verify_seconds if is_verify else self.service.slot_seconds
        seconds = max(0.0, _drawn(seen, self.chance.random()) - 2 * self.service.trip_seconds)
        self.worked_seconds += seconds
        return seconds

    def upload(self, item: Hashable, uploaded: Callable[[float], None]) -> None:
        """Upload an item's file: a fixed time, and its share of the link."""
        size = float(self.sizes[item]) if isinstance(item, int) else 0.0
        at = self.events.now + self.service.link.fixed_seconds
        if self.service.link.is_known and size:
            self.events.at(at, lambda: self.link.send(size, uploaded))
        else:
            self.events.at(at, lambda: uploaded(size))


def play(night: Night) -> Played:
    """Play a leg until its last item is finished."""
    chance = Random(night.seed)  # noqa: S311 - plays a service, guards nothing
    events, service = EventQueue(), night.service
    conditions = ObservedConditions(events=events, chance=chance, service=service, sizes=night.sizes)
    gateway = _gateway(service.lane)
    partner = SimulatedPartner(
        events=events, gateway=gateway, conditions=conditions, chance=chance, failing=service.failing
    )
    client = PacedClient(
        events=events,
        partner=partner,
        chance=chance,
        workers=night.workers,
        queue=night.queue,
        items=iter(range(len(night.sizes))),
        closes_at=night.closes_after_seconds,
        prepare_seconds=service.cpu_seconds,
    )
    events.at(0.0, client.work)
    events.run_all()
    admitted, refused = partner.traffic.admitted.total(), partner.traffic.refused.total()
    return Played(
        begun=client.begun,
        finished=client.finished,
        calls=admitted + refused,
        refused=refused,
        uses=_uses(night, client, conditions, admitted),
    )


def _gateway(lane: ObservedLane) -> Gateway:
    return Gateway(
        rate=lane.rate or _OPEN,
        burst=max(1.0, lane.burst) if lane.rate else _OPEN,
        concurrency=lane.most_at_once or math.inf,
        least_wait_seconds=lane.least_wait_seconds,
    )


def _uses(night: Night, client: PacedClient, conditions: ObservedConditions, admitted: int) -> dict[Bind, float]:
    if not client.finished:
        return {}
    seconds, lane, link = client.finished[-1], night.service.lane, night.service.link
    uses = {
        Bind.THREADS: client.busy_seconds / (night.workers * seconds),
        Bind.CPU: len(client.begun) * night.service.cpu_seconds / seconds,
    }
    by_rate = max(0.0, admitted - lane.burst) / (lane.rate * seconds) if lane.rate else 0.0
    by_number = conditions.worked_seconds / (lane.most_at_once * seconds) if lane.most_at_once else 0.0
    if lane.is_reached:
        uses[Bind.LANE] = max(by_rate, by_number)
    if link.of_all < math.inf:
        uses[Bind.UPLINK] = conditions.link.carried / (link.of_all * seconds)
    return {bind: min(1.0, share) for bind, share in uses.items()}


def _drawn(quantiles: Sequence[float], chance: float) -> float:
    """Draw from a distribution that is given by its quantiles."""
    place = chance * (len(quantiles) - 1)
    below = int(place)
    above = min(below + 1, len(quantiles) - 1)
    return quantiles[below] + (place - below) * (quantiles[above] - quantiles[below])
