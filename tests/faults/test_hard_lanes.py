"""Gateways that refuse at random or count on several nodes, machines that stall or are busy, and a slow link.

Each leg gets one lane and one strain. However hard they are, each row is there once, and right, and the calls add up.
There are four short legs here, which are always the same. `make soak` draws long ones from a seed, which it prints.
How much of a lane is used is measured in `benchmarks/lane_in_real_time.py`.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from ..servers.foreign_service import KEYED
from ..servers.gateway import RETRY_AFTERS, NodeGateway
from ..worlds.foreign_world import ForeignWorld
from .bad_network import BadNetwork, SlowLink
from .runner_process import NewRunner, RunnerProcess
from .strained_machine import Stalls, busy_processors

SOAK_LEGS = os.environ.get("PROOFSWEEP_SOAK_LEGS")
LEGS = int(SOAK_LEGS or "0") // 15
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED") or random.SystemRandom().randrange(10**6))
SOAK_SECONDS = 52
VERDICTS = ("valid", "tampered", "valid", "audioChanged", "valid", "local_seal")
LINK_BYTES_PER_SECOND = 250_000.0  # the uplink of a small studio
LINK_FILE_BYTES = 20_000  # an upload takes a tenth of a second: the link is narrower than some lanes, wider than others
USUAL = {
    "PACE__LONGEST_PAUSE_SECONDS": "60",
    "RETRY__LONGEST_WAIT_SECONDS": "2",
    "RETRY__BREAKER_SECONDS": "20",
}
"""As a run in production waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What the gateway lets through."""

    name: str
    rate: float  # calls per second of all nodes together
    burst: float  # calls that all buckets together hold
    nodes: int = 1
    refused_share: float = 0.0  # the part of the calls that is refused at random
    refused_first: int = 0  # so many first calls are refused, whatever the buckets hold
    first_rate: float = 6.0  # calls per second with which the leg begins

    def gateway(self, chance: random.Random) -> NodeGateway:
        return NodeGateway(
            rate=self.rate,
            burst=self.burst / self.nodes,
            nodes=self.nodes,
            refused_share=self.refused_share,
            refused_first=self.refused_first,
            chance=chance,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Strain:
    """What disturbs the machine during a leg."""

    stalls_per_minute: float = 0.0  # how often the process is stopped for 0.2 seconds or longer; 0 is never
    longest_stall: float = 5.0
    is_busy: bool = False  # two other processes calculate all the time
    is_link_slow: bool = False  # there are 2 Mbit/s between the run and the service


@dataclass(frozen=True, slots=True, kw_only=True)
class HardLeg:
    """A leg to run: `seconds` after its begin it starts no more files."""

    lane: Lane
    strain: Strain = Strain()
    seconds: int
    rows: int


LANES = (
    Lane(name="R5 B5", rate=5, burst=5),
    Lane(name="R20 B20", rate=20, burst=20),
    Lane(name="R40 B20", rate=40, burst=20),
    Lane(name="R40 B20, met at 500/s", rate=40, burst=20, first_rate=500),
    Lane(name="R1 B2, met at 500/s", rate=1, burst=2, first_rate=500),
    Lane(name="R5, 1 % at random", rate=5, burst=5, refused_share=0.01),
    Lane(name="R40, 1 % at random", rate=40, burst=40, refused_share=0.01),
    Lane(name="R40, 5 % at random", rate=40, burst=40, refused_share=0.05),
    Lane(name="R20 on 8 nodes", rate=20, burst=20, nodes=8),
    Lane(name="R40 on 4 nodes", rate=40, burst=40, nodes=4),
)
SHORT = (
    HardLeg(
        lane=Lane(name="R40 B20", rate=40, burst=20, first_rate=30),
        strain=Strain(stalls_per_minute=60, longest_stall=0.6),
        seconds=20,
        rows=36,
    ),
    HardLeg(lane=Lane(name="8 nodes", rate=20, burst=8, nodes=8, first_rate=100), seconds=3, rows=36),
    HardLeg(
        lane=Lane(name="refused at first", rate=400, burst=400, refused_first=len(RETRY_AFTERS), first_rate=500),
        seconds=20,
        rows=12,
    ),
    HardLeg(
        lane=Lane(name="open", rate=400, burst=400, first_rate=100),
        strain=Strain(is_link_slow=True),
        seconds=20,
        rows=12,
    ),
)


def drawn_leg(number: int) -> HardLeg:
    """Draw the leg of this number: each lane comes in turn, in an order of the seed's own."""
    order = random.Random(SEED).sample(LANES, len(LANES))  # noqa: S311
    lane, chance = order[number % len(order)], random.Random(f"{SEED}/{number}")  # noqa: S311
    strain = Strain(
        stalls_per_minute=chance.choice([0, 0, 4, 15]),
        is_busy=chance.random() < 1 / 3,
        is_link_slow=chance.random() < 1 / 3,
    )
    return HardLeg(lane=lane, strain=strain, seconds=SOAK_SECONDS, rows=round(0.55 * lane.rate * SOAK_SECONDS) + 20)


@pytest.fixture
def network(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[BadNetwork]:
    """The network between the run and the service and its slots, at first without a limit."""
    network = BadNetwork(bare_world.service.base_url)
    with network.opened() as url:
        bare_world.service.front = url
        for name, text in (USUAL | {"SERVICE__BASE_URL": f"{url}/partners/v1"}).items():
            monkeypatch.setenv(f"PROOFSWEEP_{name}", text)
        yield network


RunHardLeg = Callable[[HardLeg, NodeGateway, Stalls], float]


@pytest.fixture
def run_hard_leg(
    bare_world: ForeignWorld, network: BadNetwork, new_runner: NewRunner, monkeypatch: pytest.MonkeyPatch
) -> RunHardLeg:
    """Run a leg in its lane and under its strain, then another that completes the run; give the seconds of the first.

    Each row is there once, none is accepted wrongly, and the calls add up.
    """

    def runner_with(first_rate: float, max_duration: str) -> RunnerProcess:
        monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", f"{first_rate:g}")
        monkeypatch.setenv("PROOFSWEEP_BOUNDS__MAX_DURATION", max_duration)
        return new_runner()

    def run(leg: HardLeg, gateway: NodeGateway, stalls: Stalls) -> float:
        verdicts = (VERDICTS * leg.rows)[: leg.rows]
        catalog = bare_world.catalog(*verdicts, audio_bytes=LINK_FILE_BYTES if leg.strain.is_link_slow else 1_600)
        finisher, runner = runner_with(500, "1h"), runner_with(leg.lane.first_rate, f"{leg.seconds}s")
        assert finisher.do(f"plan {catalog}") == 0
        (run_id,) = bare_world.runs
        network.seen.clear()  # the plan's own calls are no leg's

        network.link = SlowLink(LINK_BYTES_PER_SECOND if leg.strain.is_link_slow else None)
        bare_world.service.changes |= dict.fromkeys(("uploads", "verify"), gateway.change)
        with ExitStack() as stack:
            if leg.strain.is_busy:
                stack.enter_context(busy_processors())
            began, process = time.monotonic(), runner.begin(f"leg {run_id}")
            if leg.strain.stalls_per_minute:
                stack.enter_context(stalls.of(process))
            code = runner.exit_code()
        seconds = time.monotonic() - began
        network.link.bytes_per_second = None
        bare_world.service.changes.clear()
        assert (code, [row["ended_by"] for row in bare_world.legs()]) in [(0, ["complete"]), (3, ["window"])]
        assert code == 0 or finisher.do(f"leg {run_id}") == 0
        check(bare_world, network, verdicts)
        return seconds

    return run


def check(world: ForeignWorld, network: BadNetwork, verdicts: tuple[str, ...]) -> None:
    rows, exchanges = world.rows(), Counter(row["call"] for row in world.table("exchanges"))
    accepted = [row for row in rows if row["accepted"]]
    assert [row["manifest_row"] for row in rows] == list(range(len(verdicts)))
    assert [row["verdict"] for row in rows] == list(verdicts)
    assert all(row["good"] and row["verdict"] == "valid" for row in accepted)
    assert len({row["verify_request_id"] for row in accepted}) == len(accepted) == verdicts.count("valid")
    assert {row["verify_request_id"] for row in accepted} <= world.service.ids(calls={"verify"})
    assert {call: exchanges[call] for call in network.seen} == network.seen
    assert sum(row["calls"] for row in world.legs()) == sum(network.seen[call] for call in KEYED)


@pytest.mark.parametrize("leg", SHORT, ids=lambda leg: leg.lane.name.replace(" ", "-"))
def test_a_short_leg_in_a_hard_lane_has_each_row_once(
    leg: HardLeg, network: BadNetwork, run_hard_leg: RunHardLeg
) -> None:
    """The machine stalls; the nodes refuse; every kind of `Retry-After` is received; the link is slow."""
    chance = random.Random(7)  # noqa: S311
    gateway, stalls = leg.lane.gateway(chance), Stalls(chance, leg.strain.stalls_per_minute, leg.strain.longest_stall)

    seconds = run_hard_leg(leg, gateway, stalls)

    carried_seconds = network.link.carried / LINK_BYTES_PER_SECOND
    assert bool(stalls.stopped) == bool(leg.strain.stalls_per_minute)
    assert gateway.refusals["empty bucket"] or leg.lane.nodes == 1
    assert all(gateway.refusals[kind] for kind in RETRY_AFTERS) == bool(leg.lane.refused_first)
    assert not leg.strain.is_link_slow or seconds >= carried_seconds > 0.5


if SOAK_LEGS is not None:

    @pytest.mark.timeout(600)
    @pytest.mark.parametrize("number", range(LEGS))
    def test_a_drawn_leg_in_a_hard_lane_has_each_row_once(number: int, run_hard_leg: RunHardLeg) -> None:
        """Lane and strain are of the seed."""
        leg, chance = drawn_leg(number), random.Random(f"{SEED}/{number}/leg")  # noqa: S311
        print(f"seed {SEED}, leg {number}: {leg.lane.name}, {leg.strain}")  # noqa: T201 - `make soak` shows it

        run_hard_leg(leg, leg.lane.gateway(chance), Stalls(chance, leg.strain.stalls_per_minute))
