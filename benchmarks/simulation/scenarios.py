"""The lanes in which a client is measured, and its targets there."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.simulation.gateways import Gateway, WindowGateway

# The mean of a slot call (50 ms) and a verify call, which is log-uniform from 0.1 to 3 s; 3.4012 is ln 30.
_MEAN_WORK_SECONDS = (0.05 + 2.9 / 3.4012) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Bounds for the worst seed: least goodput, largest share of 429s in percent, most seconds until back.

    And the highest 99th percentile of a slot's age, in seconds.
    """

    goodput: float
    share: float = 100.0
    back_seconds: float = 1e9
    slot_age: float = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A lane, and how long it is simulated.

    Attributes:
        since: goodput and share count from this second on.
        fallen_at: the second at which the lane becomes narrower; the 429s of the next minute are counted.
        back_at: the second at which it is wide again; a client is back when it sends 0.9 of the rate over five seconds.
        ideal: possible calls per second, if the rate is not the limit.
        known_rate: the rate that the client remembers; None if it must search.
        first_rate: where the client's search begins, in calls per second.
        workers: the most items in flight.
        work_seconds: the bounds of the time that a call takes; None for the slow profile.
        stalls_per_minute: how often the client's machine stalls, for 0.2 to 3 s each.
        uplink: megabytes per second of the link that all uploads share; goodput is then the part of it that is used.
    """

    name: str
    gateway: Callable[[], Gateway]
    seconds: int
    must: Target
    stretch: Target | None = None
    since: int = 0
    clients: int = 1
    failing: float = 0.0
    jitter_seconds: float = 0.005
    fallen_at: int | None = None
    back_at: int | None = None
    ideal: float | None = None
    known_rate: float | None = None
    first_rate: float = 6.0
    workers: int = 1024
    work_seconds: tuple[float, float] | None = None
    stalls_per_minute: float = 0.0
    uplink: float | None = None


def _lane(rate: float, burst: float, **more: object) -> Callable[[], Gateway]:
    return partial(Gateway, rate=rate, burst=burst, **more)  # type: ignore[arg-type]  # Gateway's own fields


REQUIRED = (
    Scenario(
        name="R20 B20",
        gateway=_lane(20, 20),
        seconds=1800,
        must=Target(goodput=0.985, share=0.4),
        stretch=Target(goodput=0.99, share=0.25),
    ),
    Scenario(
        name="R20 B20, 1 % 500s",
        gateway=_lane(20, 20),
        seconds=1800,
        failing=0.01,
        must=Target(goodput=0.985, share=0.4),
        stretch=Target(goodput=0.99, share=0.25),
    ),
    Scenario(
        name="R20 B10",
        gateway=_lane(20, 10),
        seconds=1800,
        must=Target(goodput=0.96, share=0.4),
        stretch=Target(goodput=0.98, share=0.25),
    ),
    Scenario(
        name="R200 B100",
        gateway=_lane(200, 100),
        seconds=300,
        since=75,
        must=Target(goodput=0.97, share=0.1),
        stretch=Target(goodput=0.985, share=0.1),
    ),
    Scenario(
        name="R2 B2",
        gateway=_lane(2, 2),
        seconds=3600,
        must=Target(goodput=0.985, share=0.8),
        stretch=Target(goodput=0.985, share=0.5),
    ),
    Scenario(
        name="R2 B1",
        gateway=_lane(2, 1),
        seconds=3600,
        must=Target(goodput=0.90, share=1.2),
        stretch=Target(goodput=0.95, share=0.75),
    ),
    Scenario(
        name="R200 to 50 to 200",
        gateway=_lane(200, 100, changes=((300, 50), (600, 200))),
        seconds=900,
        fallen_at=300,
        back_at=600,
        must=Target(goodput=0.94, back_seconds=35),
        stretch=Target(goodput=0.94, back_seconds=20),
    ),
    Scenario(
        name="R20 to 5 to 20",
        gateway=_lane(20, 20, changes=((600, 5), (1200, 20))),
        seconds=1800,
        fallen_at=600,
        back_at=1200,
        must=Target(goodput=0.93, back_seconds=120),
        stretch=Target(goodput=0.93, share=0.4, back_seconds=45),
    ),
    Scenario(
        name="at most 8 at once",
        gateway=_lane(200, 200, concurrency=8),
        seconds=1800,
        ideal=8 / _MEAN_WORK_SECONDS,
        must=Target(goodput=0.88, share=0.2),
        stretch=Target(goodput=0.905, share=0.2),
    ),
    Scenario(
        name="R20, refused charged",
        gateway=_lane(20, 20, charges_refused=True),
        seconds=1800,
        must=Target(goodput=0.98, share=0.4),
        stretch=Target(goodput=0.99, share=0.4),
    ),
    Scenario(
        name="Retry-After 5 or more",
        gateway=_lane(20, 20, least_wait_seconds=5.0),
        seconds=1800,
        since=450,
        must=Target(goodput=0.93),
        stretch=Target(goodput=0.95),
    ),
    Scenario(
        name="16 clients, R20",
        gateway=_lane(20, 20),
        seconds=1800,
        clients=16,
        must=Target(goodput=0.99, share=2.5),
        stretch=Target(goodput=0.99, share=0.5),
    ),
    Scenario(
        name="R40 B20, cold start",
        gateway=_lane(40, 20),
        seconds=35,
        since=10,
        must=Target(goodput=0.93, share=1.5),
        stretch=Target(goodput=0.97, share=1.5),
    ),
    Scenario(
        name="R200 B200",
        gateway=_lane(200, 200),
        seconds=300,
        must=Target(goodput=0.97, share=0.1),
        stretch=Target(goodput=0.985, share=0.1),
    ),
)

_BUCKETS = tuple(
    Scenario(
        name=f"R{rate} B{burst}",
        gateway=_lane(rate, burst),
        seconds=900,
        since=100,
        must=Target(goodput=0.4 if burst < rate / 10 else 0.9, share=min(2.0, max(0.4, 2.0 / rate))),
    )
    for rate, burst in (
        (1, 1),
        (1, 2),
        (5, 2),
        (5, 10),
        (20, 1),
        (50, 10),
        (100, 50),
        (100, 200),
        (500, 250),
        (500, 1000),
    )
)

FURTHER = (
    *_BUCKETS,
    Scenario(
        name="20 in each second",
        gateway=partial(WindowGateway, rate=20, burst=20, window_seconds=1.0),
        seconds=900,
        must=Target(goodput=0.9, share=1.0),
    ),
    Scenario(
        name="100 in each second",
        gateway=partial(WindowGateway, rate=100, burst=100, window_seconds=1.0),
        seconds=900,
        must=Target(goodput=0.9, share=1.0),
    ),
    Scenario(
        name="1,200 in each minute",
        gateway=partial(WindowGateway, rate=20, burst=20, window_seconds=60.0),
        seconds=1800,
        since=300,
        must=Target(goodput=0.9, share=1.0),
    ),
    Scenario(
        name="no Retry-After",
        gateway=_lane(20, 20, least_wait_seconds=None),
        seconds=900,
        must=Target(goodput=0.9, share=1.0),
    ),
    Scenario(
        name="Retry-After 0",
        gateway=_lane(20, 20, least_wait_seconds=0.0),
        seconds=900,
        must=Target(goodput=0.9, share=1.0),
    ),
    Scenario(
        name="Retry-After 60 or more",
        gateway=_lane(20, 20, least_wait_seconds=60.0),
        seconds=3600,
        since=900,
        must=Target(goodput=0.7, share=1.0),
    ),
    Scenario(
        name="trips of 15 to 500 ms",
        gateway=_lane(20, 20),
        jitter_seconds=0.1,
        seconds=900,
        must=Target(goodput=0.9, share=1.0),
    ),
    Scenario(
        name="4 clients, R20", gateway=_lane(20, 20), seconds=1800, clients=4, must=Target(goodput=0.99, share=1.5)
    ),
    Scenario(
        name="16 clients, R100",
        gateway=_lane(100, 50),
        seconds=600,
        clients=16,
        must=Target(goodput=0.98, share=1.5),
    ),
    Scenario(
        name="4 clients, charged",
        gateway=_lane(20, 20, charges_refused=True),
        seconds=1800,
        clients=4,
        must=Target(goodput=0.97, share=1.5),
    ),
    Scenario(
        name="R20, shut for a minute",
        gateway=partial(Gateway, rate=20, burst=20, changes=((300, 1e-6), (360, 20)), most_wait_seconds=5.0),
        seconds=900,
        back_at=360,
        must=Target(goodput=0.95, share=0.5, back_seconds=40),
    ),
    Scenario(
        name="R10 to 17, by and by",
        gateway=_lane(10, 10, changes=tuple((60 * minute, 10 + 0.5 * minute) for minute in range(1, 15))),
        seconds=900,
        must=Target(goodput=0.9, share=1.0),
    ),
    Scenario(
        name="R20 to 200",
        gateway=_lane(20, 20, changes=((300, 200),)),
        seconds=900,
        back_at=300,
        must=Target(goodput=0.85, share=0.5, back_seconds=120),
    ),
    Scenario(
        name="R5 to 20",
        gateway=_lane(5, 5, changes=((600, 20),)),
        seconds=1200,
        back_at=600,
        must=Target(goodput=0.85, share=1.0, back_seconds=120),
    ),
    Scenario(
        name="R100 to 30 to 100",
        gateway=_lane(100, 100, changes=((300, 30), (600, 100))),
        seconds=900,
        fallen_at=300,
        back_at=600,
        must=Target(goodput=0.93, share=1.0, back_seconds=45),
    ),
    Scenario(
        name="at most 20 at once",
        gateway=_lane(500, 500, concurrency=20),
        seconds=900,
        ideal=20 / _MEAN_WORK_SECONDS,
        must=Target(goodput=0.88, share=0.2),
    ),
    Scenario(
        name="at most 3 at once",
        gateway=_lane(200, 200, concurrency=3),
        seconds=1800,
        ideal=3 / _MEAN_WORK_SECONDS,
        must=Target(goodput=0.85, share=0.5),
    ),
)
