"""Measure in simulated time how well the pacer uses many kinds of lanes, and compare it with other clients.

Run from the checkout: `python -m benchmarks.lanes [--seeds 5] [--first-seed 0] [--only NAME] [--client NAME]
[--set required|further|hard|aws|shared]`. Goodput is the calls let in, as a part of the possible calls.
The share is 429s in percent of all calls. The worst seed counts.
All scenarios with one seed take about 15 s.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.simulation.hard_lanes import BESIDE_AWS, HARD
from benchmarks.simulation.scenarios import FURTHER, REQUIRED, Scenario
from benchmarks.simulation.shared_lane import KILLED, NEW_FILES, SHARED, Played, Process, SharedLane, play_shared
from benchmarks.simulation.trial import AWS, CLIENTS, KEEPING_PAUSES, LEARNED, Figures, measure, worst

# So much less goodput than AWS's mode has while it keeps pauses is asked for.
_LESS_THAN_AWS = 0.03
# Seconds after new files came, or a process was killed, over five of which its figures are given.
_AFTER = (0, 5, 10, 15, 20, 40)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--set",
        choices=("required", "further", "hard", "aws", "shared"),
        default="required",
        dest="chosen",
    )
    parser.add_argument("--only", help="the scenarios whose name contains this")
    parser.add_argument("--client", choices=CLIENTS, default=LEARNED)
    chosen = parser.parse_args()
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    sets = {"further": FURTHER, "hard": HARD}
    scenarios = [each for each in sets.get(chosen.chosen, REQUIRED) if (chosen.only or "") in each.name]
    if chosen.chosen == "shared":
        hold_against_alone(seeds)
    elif chosen.chosen == "aws":
        hold_against_aws([each for each in BESIDE_AWS if (chosen.only or "") in each.name], seeds)
    else:
        judge(scenarios, seeds, chosen.client)


def judge(scenarios: list[Scenario], seeds: range, client: str) -> None:
    """Print the figures of a client, and whether they reach the targets."""
    print(f"{'scenario':<28} {'goodput':>7} {'429s':>7} {'slot age':>9} {'after fall':>10} {'back':>6}  verdict")
    for scenario in scenarios:
        figures = worst([measure(scenario, seed, CLIENTS[client]) for seed in seeds])
        fall = "" if scenario.fallen_at is None else str(figures.after_fall)
        back = "" if scenario.back_at is None else f"{figures.back_seconds:.0f} s"
        print(
            f"{scenario.name:<28} {figures.goodput:7.3f} {figures.share:5.2f} % {figures.slot_age:7.2f} s"
            f" {fall:>10} {back:>6}  {verdict(scenario, figures)}",
            flush=True,
        )


def hold_against_aws(scenarios: list[Scenario], seeds: range) -> None:
    """Print the pacer's figures beside those of AWS's adaptive retry mode, made to keep pauses and as it is.

    As it is, it sends on while the service has asked for a pause, which this program never does. So the mode that keeps
    pauses is the measure, and the other one is told beside it.
    """
    print(f"{'scenario':<28} {'goodput':>7} {'429s':>7} {'AWS, pauses kept':>17} {'AWS as it is':>17}  verdict")
    for scenario in scenarios:
        ours, keeping, as_it_is = (
            worst([measure(scenario, seed, CLIENTS[client]) for seed in seeds])
            for client in (LEARNED, KEEPING_PAUSES, AWS)
        )
        is_good = ours.goodput >= keeping.goodput - _LESS_THAN_AWS
        print(
            f"{scenario.name:<28} {ours.goodput:7.3f} {ours.share:5.2f} %"
            f" {keeping.goodput:7.3f} / {keeping.share:5.2f} % {as_it_is.goodput:7.3f} / {as_it_is.share:5.2f} %"
            f"  {'good' if is_good else 'MISSED'}",
            flush=True,
        )


def hold_against_alone(seeds: range) -> None:
    """Print the figures of processes that share a lane beside those of as many that do not; the worst seed counts."""
    print(f"{'scenario':<28} {'goodput':>7} {'429s':>7} {'alone':>17}")
    for lane in SHARED:
        ours, alone = (
            worst([play_shared(each, seed).figures(each) for seed in seeds])
            for each in (lane, replace(lane, is_shared=False))
        )
        print(
            f"{lane.name:<28} {ours.goodput:7.3f} {ours.share:5.2f} % {alone.goodput:7.3f} / {alone.share:5.2f} %",
            flush=True,
        )
    print(f"{'seconds after the event':<28} " + " ".join(f"{second:>5}" for second in _AFTER))
    for lane, at in ((NEW_FILES, NEW_FILES.ingest_at), (KILLED, KILLED.killed_at)):
        for is_shared in (True, False):
            played = [play_shared(replace(lane, is_shared=is_shared), seed) for seed in seeds]
            parts = [
                min(each.share_of(chosen_of(each, lane), (at or 0) + second, (at or 0) + second + 5) for each in played)
                for second in _AFTER
            ]
            name = lane.name + ("" if is_shared else ", alone")
            print(f"{name:<28} " + " ".join(f"{part:5.2f}" for part in parts), flush=True)


def chosen_of(played: Played, lane: SharedLane) -> Sequence[Process]:
    """Return the process with new files, or those that were not killed."""
    return [each for each in played.processes if not each.is_killed] if lane is KILLED else [played.processes[-1]]


def verdict(scenario: Scenario, figures: Figures) -> str:
    """Compare the figures with the targets."""
    if not figures.satisfy(scenario.must):
        return "MISSED"
    return "well" if scenario.stretch is not None and figures.satisfy(scenario.stretch) else "good"


if __name__ == "__main__":
    main()
