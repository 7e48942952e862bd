"""Lanes that are no clean bucket: 429s, clumps, memories and links of which a client knows nothing."""

import math
from functools import partial

from benchmarks.simulation.gateways import Gateway, NodesGateway, Spells
from benchmarks.simulation.scenarios import Scenario, Target

# Calls that take 0.06 to 3 s, log-uniform, and the mean of them.
_SLOW_ANSWERS = (0.06, 3.0)
_MEAN_SLOW_SECONDS = (3.0 - 0.06) / math.log(3.0 / 0.06)


def _bucket(rate: float, burst: float, **more: object) -> partial[Gateway]:
    return partial(Gateway, rate=rate, burst=burst, **more)  # type: ignore[arg-type]  # Gateway's own fields


_AT_RANDOM = tuple(
    Scenario(
        name=f"R{rate}, {percent} % at random",
        gateway=_bucket(rate, rate, refused_at_random=percent / 100),
        seconds=seconds,
        since=60,
        must=Target(goodput=must),
        stretch=Target(goodput=stretch),
    )
    for rate, percent, must, stretch, seconds in (
        (5, 1, 0.90, 0.95, 1800),
        (40, 0.2, 0.88, 0.95, 900),
        (40, 1, 0.65, 0.85, 900),
        (40, 5, 0.15, 0.35, 900),
        (200, 1, 0.15, 0.40, 400),
    )
)
BY_CHANCE = tuple(
    Scenario(
        name=f"R{rate}, {percent} % at random",
        gateway=_bucket(rate, rate, refused_at_random=percent / 100),
        seconds=1800,
        since=60,
        must=Target(goodput=0.0),
    )
    for rate in (2, 5, 10)
    for percent in (1, 2, 3, 5)
)
"""Slow lanes with refusals by chance."""

_OFTEN_BY_CHANCE = tuple(
    Scenario(
        name=f"R{rate}, {percent} % at random",
        gateway=_bucket(rate, rate, refused_at_random=percent / 100),
        seconds=900,
        since=60,
        must=Target(goodput=0.0),
    )
    for rate, percent in ((2, 8), (5, 8), (20, 4), (20, 8), (20, 12), (40, 8), (10, 15))
)
_SPELLS = tuple(
    Scenario(
        name=f"R{rate}, {seconds} s in {every} lose {refused:g}",
        gateway=_bucket(rate, rate, spells=Spells(seconds=seconds, every_seconds=every, refused=refused)),
        seconds=900,
        since=60,
        # Of all calls refused none can go; of half of them, twice as many may be sent.
        ideal=None if refused < 1 else rate * (1 - seconds / every),
        must=Target(goodput=0.0),
    )
    for rate, seconds, every, refused in (
        (20, 2, 20, 0.5),
        (20, 3, 6, 0.5),
        (20, 5, 10, 0.5),
        (20, 10, 20, 0.5),
        (20, 10, 60, 0.5),
        (20, 30, 120, 0.5),
        (5, 10, 60, 0.5),
        (200, 5, 30, 0.5),
        (20, 5, 10, 1),
        (20, 10, 60, 1),
        (5, 20, 40, 1),
        (100, 3, 30, 1),
    )
)
_LONG_PAUSES = tuple(
    Scenario(
        name=f"R{rate}, Retry-After {wait} or more",
        gateway=_bucket(rate, rate, least_wait_seconds=float(wait)),
        seconds=seconds,
        since=300,
        must=Target(goodput=0.0),
    )
    for rate, wait, seconds in ((2, 30, 3600), (5, 90, 3600), (20, 30, 3600), (20, 60, 3600), (200, 30, 900))
)
_SLOW_NODES = tuple(
    Scenario(
        name=f"R{rate} on {nodes} nodes",
        gateway=partial(NodesGateway, rate=rate, burst=rate, nodes=nodes),
        seconds=1200,
        since=60,
        must=Target(goodput=0.0),
    )
    for rate, nodes in ((4, 2), (5, 4), (10, 8), (20, 4), (20, 8), (40, 8))
)
BESIDE_AWS = (*BY_CHANCE, *_OFTEN_BY_CHANCE, *_SPELLS, *_LONG_PAUSES, *_SLOW_NODES)
"""Lanes on which AWS's adaptive retry mode, made to keep the pauses that it is told, is the measure."""

_NODES = tuple(
    Scenario(
        name=f"R{rate} on {nodes} nodes",
        gateway=partial(NodesGateway, rate=rate, burst=rate, nodes=nodes),
        seconds=seconds,
        since=60,
        must=Target(goodput=must, share=4.0),
        stretch=Target(goodput=stretch, share=4.0),
    )
    for rate, nodes, must, stretch, seconds in (
        (20, 8, 0.35, 0.45, 1200),
        (40, 4, 0.80, 0.85, 900),
        (200, 4, 0.93, 0.95, 400),
    )
)
_STALLS = tuple(
    Scenario(
        name=f"R{rate}, {stalls} stalls a minute",
        gateway=_bucket(rate, rate),
        seconds=900,
        stalls_per_minute=stalls,
        must=Target(goodput=must, share=0.5),
        stretch=Target(goodput=stretch, share=0.5),
    )
    for stalls, must, stretch in ((4, 0.90, 0.94), (15, 0.75, 0.85))
    for rate in (20, 40)
)
_MEMORIES = tuple(
    Scenario(
        name=f"R{rate}, remembers {known:g}",
        gateway=_bucket(rate, rate),
        seconds=seconds,
        known_rate=known,
        back_at=0,
        must=Target(goodput=0.0, back_seconds=must),
        stretch=Target(goodput=0.0, back_seconds=stretch),
    )
    for rate, seconds in ((40, 200), (2, 600))
    for known, must, stretch in ((rate / 50, 60, 20), (rate / 2, 20, 8), (rate * 5, 15, 8))
)
_FIRST_CALLS = tuple(
    Scenario(
        name=f"R{rate} B{burst}, begun at 500/s",
        gateway=_bucket(rate, burst),
        seconds=300,
        since=15,
        first_rate=500.0,
        must=Target(goodput=must),
        stretch=Target(goodput=stretch),
    )
    for rate, burst, must, stretch in ((1, 2, 0.80, 0.90), (40, 20, 0.93, 0.97))
)
_AT_ONCE = tuple(
    Scenario(
        name=f"at most {most}, {begun}",
        gateway=_bucket(500, 500, concurrency=most),
        seconds=300,
        since=30,
        first_rate=first_rate,
        work_seconds=_SLOW_ANSWERS,
        ideal=most / _MEAN_SLOW_SECONDS,
        must=Target(goodput=0.90),
        stretch=Target(goodput=0.95),
    )
    for most in (3, 8, 20)
    for begun, first_rate in (("begun at 6/s", 6.0), ("begun at 500/s", 500.0))
)
_UPLINKS = tuple(
    Scenario(
        name=f"uplink of {megabytes} MB/s",
        gateway=_bucket(200, 200),
        seconds=1800,
        uplink=megabytes,
        must=Target(goodput=0.95, slot_age=120.0),
        stretch=Target(goodput=0.95, slot_age=30.0),
    )
    for megabytes in (5, 20, 100)
)

HARD = (
    *_AT_RANDOM,
    *_NODES,
    *_STALLS,
    *_MEMORIES,
    *_FIRST_CALLS,
    Scenario(
        name="R300 to 3 to 300",
        gateway=_bucket(300, 300, changes=((200, 3), (400, 300))),
        seconds=600,
        back_at=400,
        must=Target(goodput=0.93, back_seconds=40),
        stretch=Target(goodput=0.93, back_seconds=20),
    ),
    Scenario(
        name="R20 to 0.02 to 20",
        gateway=_bucket(20, 20, changes=((300, 0.02), (900, 20))),
        seconds=1200,
        back_at=900,
        must=Target(goodput=0.0, back_seconds=60),
        stretch=Target(goodput=0.0, back_seconds=20),
    ),
    Scenario(
        name="16 clients, R20, briefly",
        gateway=_bucket(20, 20),
        seconds=600,
        clients=16,
        must=Target(goodput=0.98, share=2.5),
        stretch=Target(goodput=0.98, share=0.5),
    ),
    Scenario(
        name="60 clients, R20",
        gateway=_bucket(20, 20),
        seconds=1800,
        clients=60,
        must=Target(goodput=0.95, share=2.5),
        stretch=Target(goodput=0.95, share=1.0),
    ),
    Scenario(
        name="R20, a neighbour takes 60 %",
        gateway=_bucket(20, 20, changes=tuple((240 * turn, 8 if turn % 2 else 20) for turn in range(1, 8))),
        seconds=1920,
        must=Target(goodput=0.95, share=0.6),
        stretch=Target(goodput=0.98, share=0.6),
    ),
    Scenario(
        name="R20 B20, 1,000 a minute",
        gateway=_bucket(20, 20, per_minute=1000),
        seconds=1800,
        ideal=1000 / 60,
        must=Target(goodput=0.98, share=0.6),
    ),
    Scenario(
        name="R1000 B1000",
        gateway=_bucket(1000, 1000),
        seconds=100,
        since=30,
        workers=4096,
        must=Target(goodput=0.95),
        stretch=Target(goodput=0.98),
    ),
    *_AT_ONCE,
    *_UPLINKS,
)
