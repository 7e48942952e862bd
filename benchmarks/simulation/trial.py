"""One scenario, one seed, one kind of client: what came of it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from benchmarks.simulation.baselines import Adaptive, Crowd, as_told, backoff
from benchmarks.simulation.gateways import Gateway
from benchmarks.simulation.partner import Partner, Seen
from benchmarks.simulation.scenarios import Asked, Scenario
from benchmarks.simulation.sweep import Sweep
from benchmarks.simulation.world import World

_BACK_WITHIN = 5
_NEVER = 9999.0

NewClient = Callable[[World, Partner, Random], Sweep | Crowd]
LEARNED = "the learned pacer"
CLIENTS: dict[str, NewClient] = {
    "16 at once, sleep Retry-After": lambda world, partner, chance: Crowd(
        world=world, partner=partner, chance=chance, workers=16, wait=as_told
    ),
    "64 at once, sleep Retry-After": lambda world, partner, chance: Crowd(
        world=world, partner=partner, chance=chance, workers=64, wait=as_told
    ),
    "64 at once, backoff with jitter": lambda world, partner, chance: Crowd(
        world=world, partner=partner, chance=chance, workers=64, wait=backoff
    ),
    "AWS adaptive retry mode": lambda world, partner, chance: Crowd(
        world=world, partner=partner, chance=chance, workers=400, wait=backoff, pace=Adaptive()
    ),
    LEARNED: lambda world, partner, chance: Sweep(world=world, partner=partner, chance=chance),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What came of a trial.

    Attributes:
        goodput: calls let in, as a part of those possible.
        share: 429s, in percent of all calls.
        slot_age: 99th percentile of a slot's age when it was verified, in seconds.
        after_fall: 429s in the minute after the lane narrowed.
        back_seconds: until it was used again after it had widened.
    """

    goodput: float
    share: float
    slot_age: float
    after_fall: int = 0
    back_seconds: float = 0.0

    def satisfy(self, asked: Asked) -> bool:
        """Say whether they are within the bounds; 40 refusals after a fall are within all."""
        is_good = self.goodput >= asked.goodput and self.share <= asked.share
        return is_good and self.back_seconds <= asked.back_seconds and self.after_fall <= 40  # noqa: PLR2004


def play(scenario: Scenario, seed: int, new_client: NewClient) -> tuple[Gateway, Seen]:
    """Let clients work through a scenario; they begin within a few seconds of one another."""
    world, chance, gateway = World(), Random(seed), scenario.gateway()
    partner = Partner(world=world, gateway=gateway, chance=chance, failing=scenario.failing, jitter=scenario.jitter)
    for number in range(scenario.clients):
        world.at(number * 0.2 * chance.random(), new_client(world, partner, chance).work)
    world.run(scenario.seconds)
    return gateway, partner.seen


def measure(scenario: Scenario, seed: int, new_client: NewClient) -> Figures:
    """Play and count."""
    gateway, seen = play(scenario, seed, new_client)
    seconds = range(scenario.since, scenario.seconds)
    admitted, refused = (sum(counts[second] for second in seconds) for counts in (seen.admitted, seen.refused))
    ideal = gateway.admits(seconds.start, seconds.stop)
    if scenario.ideal is not None:
        ideal = scenario.ideal * len(seconds)
    ages = sorted(seen.slot_ages) or [0.0]
    fallen = scenario.fallen_at
    return Figures(
        goodput=admitted / ideal,
        share=100 * refused / max(1, admitted + refused),
        slot_age=ages[int(0.99 * len(ages))],
        after_fall=0 if fallen is None else sum(seen.refused[second] for second in range(fallen, fallen + 60)),
        back_seconds=0.0 if scenario.back_at is None else _back_seconds(seen, scenario.back_at, gateway, scenario),
    )


def worst(trials: list[Figures]) -> Figures:
    """Give the worst of each figure."""
    return Figures(
        goodput=min(each.goodput for each in trials),
        share=max(each.share for each in trials),
        slot_age=max(each.slot_age for each in trials),
        after_fall=max(each.after_fall for each in trials),
        back_seconds=max(each.back_seconds for each in trials),
    )


def _back_seconds(seen: Seen, back_at: int, gateway: Gateway, scenario: Scenario) -> float:
    wanted = 0.9 * _BACK_WITHIN * gateway.rate_at(scenario.seconds)
    for end in range(back_at + 1, scenario.seconds + 1):
        if sum(seen.admitted[second] for second in range(end - _BACK_WITHIN, end)) >= wanted:
            return float(end - back_at)
    return _NEVER
