"""Gateways that refuse at random or count on several nodes, machines that stall or are busy, and a slow link.

Each leg gets one lane and one strain. However hard they are, each row is there once, and right, and the calls add up.
There are four short legs here, which are always the same. `make soak` draws long ones from a seed, which it prints, and
measures one thing more: how much of what the service would let through is used, in the worst stretch of each leg.
"""

import csv
import hashlib
import os
import random
import time
import wave
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import pytest

from ..servers.foreign_service import KEYED
from ..servers.gateway import RETRY_AFTERS, NodeGateway
from ..worlds.foreign_world import ForeignWorld
from .bad_network import BadNetwork, SlowLink
from .drawn_lanes import Lane, Strain, drawn
from .runner_process import NewRunner, RunnerProcess
from .strained_machine import Stalls

SOAK_LEGS = os.environ.get("PROOFSWEEP_SOAK_LEGS")
LEGS = int(SOAK_LEGS or "0") // 15
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED") or random.SystemRandom().randrange(10**6))
WINDOW_SECONDS = float(os.environ.get("PROOFSWEEP_SOAK_WINDOW_SECONDS") or "20")
"""The stretch in which a leg must use half of what is asked of its lane: five minutes, made short for short legs."""
SEARCH_SECONDS = 10.0
"""The first search for the rate is not counted, as in the benchmarks."""
VERDICTS = ("valid", "tampered", "valid", "audioChanged", "valid", "local_seal") * 4
PACED = ("uploads", "verify")
"""The calls that the gateway counts."""
USUAL = {
    "PACE__LONGEST_PAUSE_SECONDS": "60",
    "RETRY__LONGEST_WAIT_SECONDS": "2",
    "RETRY__BREAKER_SECONDS": "20",
}
"""As a run in production waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardLeg:
    """A leg to run: `seconds` after its begin it starts no more files."""

    number: int
    lane: Lane
    strain: Strain
    seconds: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What happened in the leg's worst stretch, and in the whole leg; `worst` is None for a leg without a stretch."""

    leg: HardLeg
    gateway: NodeGateway
    stalls: Stalls
    link: SlowLink
    seconds: float
    calls: int
    worst: float | None

    @property
    def is_below(self) -> bool:
        return self.worst is not None and self.worst < self.leg.lane.must / 2

    def line(self) -> list[str]:
        refused = sum(self.gateway.refusals.values())
        words = {(True, True): "BELOW", (True, False): "below, not asserted"}
        return [
            str(self.leg.number),
            self.leg.lane.name,
            str(self.leg.strain),
            f"{self.calls:,}",
            f"{refused / max(1, self.calls):.2%}",
            f"{sum(end - begin for begin, end in self.stalls.stopped):.1f} s",
            "" if self.worst is None else f"{self.worst:.2f}",
            f"{self.leg.lane.must / 2:.2f}",
            words.get((self.is_below, self.leg.lane.is_asserted), "held"),
        ]


SHORT = (
    HardLeg(
        number=0,
        lane=Lane(name="R40 B20", rate=40, burst=20, first_rate=30),
        strain=Strain(stalls_per_minute=60, longest_stall=0.6),
        seconds=20,
        rows=36,
    ),
    HardLeg(
        number=1,
        lane=Lane(name="8 nodes", rate=20, burst=8, nodes=8, first_rate=100),
        strain=Strain(),
        seconds=3,
        rows=36,
    ),
    HardLeg(
        number=2,
        lane=Lane(name="refused at first", rate=400, burst=400, refused_first=len(RETRY_AFTERS), first_rate=500),
        strain=Strain(),
        seconds=20,
        rows=12,
    ),
    HardLeg(
        number=3,
        lane=Lane(name="open", rate=400, burst=400, first_rate=100),
        strain=Strain(is_busy=True, is_link_slow=True),
        seconds=20,
        rows=12,
    ),
)


def drawn_leg(number: int) -> HardLeg:
    """Draw a leg that lasts for two stretches after its search."""
    lane, strain = drawn(SEED, number)
    seconds = round(SEARCH_SECONDS + 2 * WINDOW_SECONDS) + 2
    return HardLeg(
        number=number, lane=lane, strain=strain, seconds=seconds, rows=round(0.55 * lane.rate * seconds) + 20
    )


@pytest.fixture(scope="module")
def report() -> Iterator[list[Figures]]:
    """The figures of the legs; `make soak` shows them, with the seed that draws the same legs again."""
    figures: list[Figures] = []
    yield figures
    heads = ["leg", "lane", "strain", "calls", "refused", "stopped", f"worst {WINDOW_SECONDS:g} s", "half of must", ""]
    lines = [heads, ["---"] * len(heads), *(each.line() for each in figures)]
    print(f"\nseed {SEED}", *(f"| {' | '.join(line)} |" for line in lines), sep="\n")  # noqa: T201 - `make soak` shows it


@pytest.fixture
def network(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[BadNetwork]:
    """The network between the run and the service and its slots, at first without a limit."""
    network = BadNetwork(bare_world.service.base_url)
    with network.opened() as url:
        bare_world.service.front = url
        for name, text in (USUAL | {"SERVICE__BASE_URL": f"{url}/partners/v1"}).items():
            monkeypatch.setenv(f"PROOFSWEEP_{name}", text)
        yield network


@pytest.fixture
def run_hard_leg(
    bare_world: ForeignWorld, network: BadNetwork, new_runner: NewRunner, monkeypatch: pytest.MonkeyPatch
) -> "RunHardLeg":
    return RunHardLeg(bare_world, network, new_runner, monkeypatch)


@dataclass(slots=True)
class RunHardLeg:
    """Runs a leg in its lane and under its strain; then another leg without them completes the run."""

    world: ForeignWorld
    network: BadNetwork
    new_runner: NewRunner
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, leg: HardLeg, seed: int) -> Figures:
        """Run both legs; check every invariant but the worst stretch."""
        chance = random.Random(f"{seed}/{leg.number}/leg")  # noqa: S311
        gateway, stalls = leg.lane.gateway(chance), leg.strain.stalls(chance)
        catalog = _write_catalog(self.world, leg)
        finisher = self._runner_with("500", "1h")
        runner = self._runner_with(f"{leg.lane.first_rate:g}", f"{leg.seconds}s")
        assert finisher.do(f"plan {catalog}") == 0
        (run_id,) = self.world.runs
        self.network.seen.clear()  # the plan's own calls are no leg's

        self.network.link = link = SlowLink(leg.strain.link_bytes_per_second)
        self.world.service.changes |= dict.fromkeys(PACED, gateway.change)
        with leg.strain.processors(), ExitStack() as stack:
            began, process = time.monotonic(), runner.begin(f"leg {run_id}")
            if leg.strain.stalls_per_minute:
                stack.enter_context(stalls.of(process))
            code = runner.exit_code()
        figures = Figures(
            leg=leg,
            gateway=gateway,
            stalls=stalls,
            link=link,
            seconds=time.monotonic() - began,
            calls=sum(self.world.service.received[call] for call in PACED),
            worst=self._worst_window(leg, stalls, began + leg.seconds - 1 if code else None),
        )
        self.network.link = SlowLink()
        self.world.service.changes.clear()
        endings = [row["ended_by"] for row in self.world.legs()]
        assert (code, endings) in [(0, ["complete"]), (3, ["window"])]
        assert code == 0 or finisher.do(f"leg {run_id}") == 0
        self._check(leg)
        return figures

    def _runner_with(self, first_rate: str, max_duration: str) -> RunnerProcess:
        self.monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", first_rate)
        self.monkeypatch.setenv("PROOFSWEEP_BOUNDS__MAX_DURATION", max_duration)
        return self.new_runner()

    def _worst_window(self, leg: HardLeg, stalls: Stalls, closed_at: float | None) -> float | None:
        """Give the smallest part used of what was possible in any stretch in which the process ran most of the time."""
        admitted = [one.at for one in self.world.service.sent if one.call in PACED and one.status == HTTPStatus.OK]
        if not admitted:  # on a busy machine the window may close before the first call
            return None
        begin, end = min(admitted) + SEARCH_SECONDS, closed_at or max(admitted)
        shares = []
        while begin + WINDOW_SECONDS <= end:
            until = begin + WINDOW_SECONDS
            seconds = WINDOW_SECONDS - stalls.seconds_within(begin, until)
            possible = leg.strain.calls_per_second(leg.lane) * seconds
            if seconds >= WINDOW_SECONDS / 4:
                shares.append(sum(begin <= at < until for at in admitted) / possible)
            begin += 1.0
        return min(shares, default=None)

    def _check(self, leg: HardLeg) -> None:
        """Check that each row is there once, that none is accepted wrongly, and that the calls add up."""
        world = self.world
        rows, exchanges = world.rows(), Counter(row["call"] for row in world.table("exchanges"))
        expected = [VERDICTS[number % len(VERDICTS)] for number in range(leg.rows)]
        accepted = [row for row in rows if row["accepted"]]
        assert [row["manifest_row"] for row in rows] == list(range(leg.rows))
        assert [row["verdict"] for row in rows] == expected
        assert all(row["good"] and row["verdict"] == "valid" for row in accepted)
        assert len({row["verify_request_id"] for row in accepted}) == len(accepted) == expected.count("valid")
        assert {row["verify_request_id"] for row in accepted} <= world.service.ids(calls={"verify"})
        assert {call: exchanges[call] for call in self.network.seen} == self.network.seen
        assert sum(row["calls"] for row in world.legs()) == sum(self.network.seen[call] for call in KEYED)


@pytest.mark.parametrize("leg", SHORT, ids=lambda leg: leg.lane.name.replace(" ", "-"))
def test_a_short_leg_in_a_hard_lane_has_each_row_once(leg: HardLeg, run_hard_leg: RunHardLeg) -> None:
    """The machine stalls; the nodes refuse; every kind of `Retry-After` is received; processors and link are busy."""
    figures = run_hard_leg(leg, seed=7)

    assert bool(figures.stalls.stopped) == bool(leg.strain.stalls_per_minute)
    assert figures.gateway.refusals["empty bucket"] or leg.lane.nodes == 1
    assert all(figures.gateway.refusals[kind] for kind in RETRY_AFTERS) == bool(leg.lane.refused_first)
    assert (figures.link.least_seconds > 0.5) == leg.strain.is_link_slow
    assert figures.seconds >= figures.link.least_seconds


if SOAK_LEGS is not None:

    @pytest.mark.timeout(600)
    @pytest.mark.parametrize("number", range(LEGS))
    def test_a_drawn_leg_has_each_row_once_and_uses_its_lane(
        number: int, run_hard_leg: RunHardLeg, report: list[Figures]
    ) -> None:
        """No stretch is below half of what is asked of the lane; for lanes not asserted yet, it is only printed."""
        figures = run_hard_leg(drawn_leg(number), SEED)

        report.append(figures)
        assert not (figures.is_below and figures.leg.lane.is_asserted), figures.line()


def _write_catalog(world: ForeignWorld, leg: HardLeg) -> str:
    path = world.folder / "catalog.csv"
    audios = [world.folder / f"{number}.wav" for number in range(len(VERDICTS))]
    for number, (audio, verdict) in enumerate(zip(audios, VERDICTS, strict=True)):
        _write_wav(audio, number, leg.strain.file_bytes)
        world.service.verdicts[hashlib.sha256(audio.read_bytes()).hexdigest()] = verdict
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["audio"], *([audios[row % len(audios)]] for row in range(leg.rows))])
    return str(path)


def _write_wav(path: Path, seed: int, size: int) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(seed.to_bytes(4, "big") * (size // 4))
