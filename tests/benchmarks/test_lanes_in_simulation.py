"""The benchmark's simulated lanes, a few of them and briefly: what the pacer promises holds there, and always alike."""

from statistics import fmean

import pytest

from benchmarks.simulation.gateways import Gateway, WindowGateway
from benchmarks.simulation.scenarios import FURTHER, REQUIRED, Scenario, Target
from benchmarks.simulation.trial import CLIENTS, LEARNED, measure, play

QUICK = ("R2 B2", "R20 to 5 to 20", "R20, refused charged", "R40 B20, cold start")


def scenario(gateway: Gateway, **more: int) -> Scenario:
    """Make a scenario of ten minutes."""
    return Scenario(name="its own", gateway=lambda: gateway, seconds=600, must=Target(goodput=0.95, share=0.5), **more)


@pytest.mark.parametrize("asked", [each for each in REQUIRED if each.name in QUICK], ids=lambda each: each.name)
def test_the_pacer_uses_lanes_of_many_kinds_well(asked: Scenario) -> None:
    """Goodput and the share of 429s count together; seeds and lanes are the benchmark's."""
    figures = measure(asked, 7, CLIENTS[LEARNED])

    assert figures.satisfy(asked.must), figures
    assert figures.slot_age < 10.5


def test_a_lane_that_is_shut_for_a_minute_is_used_again() -> None:
    """With such seeds a few calls go through first, and the lane seems to be a hundredth of what it was."""
    shut = next(each for each in FURTHER if each.name == "R20, shut for a minute")

    figures = measure(shut, 3, CLIENTS[LEARNED])

    assert figures.satisfy(shut.must), figures


def test_a_cap_on_calls_at_once_is_found() -> None:
    """A lane that is no bucket at all, and hardly refuses a call once it is known."""
    lane = scenario(Gateway(rate=200, burst=200, concurrency=8))
    partner = play(lane, 7, CLIENTS[LEARNED])
    gateway, traffic = partner.gateway, partner.traffic

    late = range(300, 600)
    assert sum(traffic.admitted[second] for second in late) / len(late) > 0.85 * 8 / 0.4513
    assert sum(traffic.refused[second] for second in late) < 0.005 * sum(traffic.admitted[second] for second in late)
    assert gateway.in_flight <= 8


def test_windows_instead_of_buckets_are_lived_with() -> None:
    """Nothing is left over from one second for the next."""
    windows = WindowGateway(rate=50, burst=50, window_seconds=1.0)

    figures = measure(scenario(windows, since=60), 7, CLIENTS[LEARNED])

    assert figures.goodput > 0.85
    assert figures.share < 1.0


def test_processes_on_one_key_share_the_lane_without_a_word() -> None:
    """Each learns what is left for it. Neighbours and refusals at random look alike, so a share of 429s is accepted.

    The seed decides much of it: on ten of them it is 1.6 to 2.5 percent.
    """
    figures = [measure(scenario(Gateway(rate=20, burst=20), clients=4), seed, CLIENTS[LEARNED]) for seed in range(1, 6)]

    assert min(each.goodput for each in figures) > 0.97
    assert fmean(each.share for each in figures) < 2.5
    assert max(each.share for each in figures) < 3.0
