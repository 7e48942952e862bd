"""Lanes that are hard to learn, and machines that disturb a run; a seed and a number draw one of each for a leg."""

import random
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from ..servers.gateway import NodeGateway
from .strained_machine import Stalls, busy_processors

LINK_BYTES_PER_SECOND = 250_000.0  # the uplink of a small studio
LINK_FILE_BYTES = 20_000  # an upload takes a tenth of a second: the link is narrower than some lanes, wider than others
# measured at the link: the heads, the form and the answers of a file's three requests. It moves the target by 1 % only.
BYTES_BESIDE_A_FILE = 2_200
FILE_BYTES = 1_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What the gateway lets through, and how much of it is asked."""

    name: str
    rate: float  # calls per second of all nodes together
    burst: float  # calls that all buckets together hold
    nodes: int = 1
    refused_share: float = 0.0  # the part of the calls that is refused at random
    refused_first: int = 0  # so many first calls are refused, whatever the buckets hold
    first_rate: float = 6.0  # calls per second with which the leg begins
    # the part of the possible calls that is asked of this lane; a lane of no special kind must give all
    must: float = 1.0
    # whether today's pacer is never below half of that. If not, the figure is printed and not asserted.
    is_asserted: bool = False

    def gateway(self, chance: random.Random) -> NodeGateway:
        return NodeGateway(
            rate=self.rate,
            burst=self.burst / self.nodes,
            nodes=self.nodes,
            refused_share=self.refused_share,
            refused_first=self.refused_first,
            chance=chance,
        )


LANES = (
    Lane(name="R5 B5", rate=5, burst=5, is_asserted=True),
    Lane(name="R20 B20", rate=20, burst=20, is_asserted=True),
    Lane(name="R40 B20", rate=40, burst=20, is_asserted=True),
    Lane(name="R40 B20, met at 500/s", rate=40, burst=20, first_rate=500, must=0.93),
    Lane(name="R1 B2, met at 500/s", rate=1, burst=2, first_rate=500, must=0.80),
    Lane(name="R5, 1 % at random", rate=5, burst=5, refused_share=0.01, must=0.90),
    Lane(name="R40, 0.2 % at random", rate=40, burst=40, refused_share=0.002, must=0.88),
    Lane(name="R40, 1 % at random", rate=40, burst=40, refused_share=0.01, must=0.65),
    Lane(name="R40, 5 % at random", rate=40, burst=40, refused_share=0.05, must=0.15),
    Lane(name="R20 on 8 nodes", rate=20, burst=20, nodes=8, must=0.35),
    Lane(name="R40 on 4 nodes", rate=40, burst=40, nodes=4, must=0.80, is_asserted=True),
)
"""The figures asked are those of the lanes of the same kind in the simulation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strain:
    """What disturbs the machine during a leg."""

    stalls_per_minute: float = 0.0  # how often the process is stopped for 0.2 to 5 seconds; 0 is never
    longest_stall: float = 5.0  # seconds of the longest stop
    is_busy: bool = False  # two other processes calculate all the time
    is_link_slow: bool = False  # there are 2 Mbit/s between the run and the service

    def __str__(self) -> str:
        words = {
            f"{self.stalls_per_minute:g} stalls a minute": self.stalls_per_minute,
            "two busy processes": self.is_busy,
            "2 Mbit/s": self.is_link_slow,
        }
        return ", ".join(word for word, holds in words.items() if holds) or "none"

    @property
    def file_bytes(self) -> int:
        return LINK_FILE_BYTES if self.is_link_slow else FILE_BYTES

    @property
    def link_bytes_per_second(self) -> float | None:
        return LINK_BYTES_PER_SECOND if self.is_link_slow else None

    def calls_per_second(self, lane: Lane) -> float:
        """Return what the lane and the link let through: two calls are for one file."""
        per_file = self.file_bytes + BYTES_BESIDE_A_FILE
        return min(lane.rate, 2 * LINK_BYTES_PER_SECOND / per_file) if self.is_link_slow else lane.rate

    def stalls(self, chance: random.Random) -> Stalls:
        return Stalls(chance, self.stalls_per_minute, longest=self.longest_stall)

    def processors(self) -> AbstractContextManager[None]:
        return busy_processors() if self.is_busy else nullcontext()


def drawn(seed: int, number: int) -> tuple[Lane, Strain]:
    """Draw the leg of this number: each lane comes in turn, in an order of the seed's own."""
    order = random.Random(seed).sample(LANES, len(LANES))  # noqa: S311
    chance = random.Random(f"{seed}/{number}")  # noqa: S311
    strain = Strain(
        stalls_per_minute=chance.choice([0, 0, 4, 15]),
        is_busy=chance.random() < 1 / 3,
        is_link_slow=chance.random() < 1 / 3,
    )
    return order[number % len(order)], strain
