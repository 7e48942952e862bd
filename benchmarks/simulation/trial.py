"""Measure one kind of client in one scenario with one seed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from benchmarks.simulation.baselines import Adaptive, FixedWorkers, backoff, obey
from benchmarks.simulation.event_queue import EventQueue
from benchmarks.simulation.gateways import Gateway
from benchmarks.simulation.network import SlowProfile, Stalls
from benchmarks.simulation.paced_client import PacedClient
from benchmarks.simulation.scenarios import Scenario, Target
from benchmarks.simulation.simulated_partner import SimulatedPartner, Traffic
from benchmarks.simulation.uplink import Uplink
from proofsweep.pacing.call_queue import MOST_UPLOADS, CallQueue
from proofsweep.pacing.pacer import Pacer

# A client is back when it uses the lane over this time.
_BACK_WITHIN_SECONDS = 5
# Bounds the burst of 429s after a fall: twice the worst of docs/quota.md.
_MOST_AFTER_FALL = 40
_NEVER_BACK_SECONDS = 9999.0  # more than any target and any scenario

NewClient = Callable[[EventQueue, SimulatedPartner, Random, Scenario], PacedClient | FixedWorkers]
LEARNED = "the learned pacer"
AWS = "AWS adaptive retry mode"
KEEPING_PAUSES = "AWS mode, keeping pauses"
CLIENTS: dict[str, NewClient] = {
    "64 at once, sleep Retry-After": lambda events, partner, chance, _scenario: FixedWorkers(
        events=events, partner=partner, chance=chance, workers=64, wait=obey
    ),
    AWS: lambda events, partner, chance, _scenario: FixedWorkers(
        events=events, partner=partner, chance=chance, workers=400, wait=backoff, pace=Adaptive()
    ),
    KEEPING_PAUSES: lambda events, partner, chance, _scenario: FixedWorkers(
        events=events, partner=partner, chance=chance, workers=400, wait=backoff, pace=Adaptive(), keeps_pauses=True
    ),
    LEARNED: lambda events, partner, chance, scenario: PacedClient(
        events=events,
        partner=partner,
        chance=chance,
        workers=scenario.workers,
        queue=CallQueue(
            Pacer(scenario.known_rate, scenario.first_rate),
            most_uploads=math.inf if scenario.uplink is None else MOST_UPLOADS,
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The results of a trial.

    Attributes:
        goodput: calls let in, as a part of the possible calls.
        share: 429s, in percent of all calls.
        slot_age: 99th percentile of a slot's age when it was verified, in seconds.
        after_fall: 429s in the minute after the lane became narrower.
        back_seconds: time until it was used again after it was wide again.
    """

    goodput: float
    share: float
    slot_age: float
    after_fall: int = 0
    back_seconds: float = 0.0

    def satisfy(self, target: Target) -> bool:
        """Compare the figures with a target; the refusals after a fall are bounded too."""
        is_good = self.goodput >= target.goodput and self.share <= target.share and self.slot_age <= target.slot_age
        return is_good and self.back_seconds <= target.back_seconds and self.after_fall <= _MOST_AFTER_FALL


def play(scenario: Scenario, seed: int, new_client: NewClient) -> SimulatedPartner:
    """Simulate a scenario; its clients start within a few seconds of each other."""
    events, chance, gateway = EventQueue(), Random(seed), scenario.gateway()
    gateway.chance = Random(seed + 1)
    conditions = SlowProfile(
        events=events,
        chance=chance,
        jitter_seconds=scenario.jitter_seconds,
        call_seconds=scenario.work_seconds,
        stalls=Stalls(scenario.stalls_per_minute, Random(seed + 2)),
        uplink=None if scenario.uplink is None else Uplink(events=events, speed=scenario.uplink),
    )
    partner = SimulatedPartner(
        events=events, gateway=gateway, conditions=conditions, chance=chance, failing=scenario.failing
    )
    for number in range(scenario.clients):
        events.at(number * 0.2 * chance.random(), new_client(events, partner, chance, scenario).work)
    events.run(scenario.seconds)
    return partner


def measure(scenario: Scenario, seed: int, new_client: NewClient) -> Figures:
    """Simulate a scenario and count."""
    partner = play(scenario, seed, new_client)
    gateway, traffic = partner.gateway, partner.traffic
    seconds = range(scenario.since, scenario.seconds)
    admitted, refused = (sum(counts[second] for second in seconds) for counts in (traffic.admitted, traffic.refused))
    ideal = gateway.admits(seconds.start, seconds.stop)
    if scenario.ideal is not None:
        ideal = scenario.ideal * len(seconds)
    goodput = admitted / ideal
    uplink = partner.conditions.uplink
    if uplink is not None:
        goodput = uplink.carried / (uplink.speed * scenario.seconds)
    ages = sorted(traffic.slot_ages) or [0.0]
    fallen = scenario.fallen_at
    return Figures(
        goodput=goodput,
        share=100 * refused / max(1, admitted + refused),
        slot_age=ages[int(0.99 * len(ages))],
        after_fall=0 if fallen is None else sum(traffic.refused[second] for second in range(fallen, fallen + 60)),
        back_seconds=0.0 if scenario.back_at is None else _back_seconds(traffic, scenario.back_at, gateway, scenario),
    )


def worst(trials: list[Figures]) -> Figures:
    """Return the worst of each figure."""
    return Figures(
        goodput=min(each.goodput for each in trials),
        share=max(each.share for each in trials),
        slot_age=max(each.slot_age for each in trials),
        after_fall=max(each.after_fall for each in trials),
        back_seconds=max(each.back_seconds for each in trials),
    )


def _back_seconds(traffic: Traffic, back_at: int, gateway: Gateway, scenario: Scenario) -> float:
    wanted = 0.9 * _BACK_WITHIN_SECONDS * gateway.rate_at(scenario.seconds)
    for end in range(back_at + 1, scenario.seconds + 1):
        if sum(traffic.admitted[second] for second in range(end - _BACK_WITHIN_SECONDS, end)) >= wanted:
            return float(end - back_at)
    return _NEVER_BACK_SECONDS
