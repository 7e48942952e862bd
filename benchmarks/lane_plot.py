"""Draw calls per second in one lane, for the pacer and for another client.

Run from the checkout: `python -m benchmarks.lane_plot [FILE.svg] [--lane NAME] [--beside CLIENT]`. Without a file it
only prints how many calls of each client were refused. It makes the picture of docs/quota.md.
"""

import argparse
from pathlib import Path

from benchmarks.simulation.hard_lanes import HARD
from benchmarks.simulation.scenarios import REQUIRED, Scenario
from benchmarks.simulation.trial import CLIENTS, LEARNED, play

_STEP_SECONDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?")
    lanes = {each.name: each for each in (*REQUIRED, *HARD)}
    parser.add_argument("--lane", choices=lanes, default="R20 to 5 to 20", metavar="NAME")
    parser.add_argument("--beside", choices=CLIENTS, default="64 at once, sleep Retry-After", metavar="CLIENT")
    chosen = parser.parse_args()
    scenario = lanes[chosen.lane]
    series = {name: by_step(scenario, name) for name in (chosen.beside, LEARNED)}
    for name, (_, refused) in series.items():
        print(f"{name:<32} {sum(refused):8,} calls refused")
    if chosen.file is not None:
        draw(scenario, series, chosen.file)


def by_step(scenario: Scenario, client: str) -> tuple[list[int], list[int]]:
    """Count the calls let in and refused in each step."""
    traffic = play(scenario, 1, CLIENTS[client]).traffic
    steps = range(0, scenario.seconds, _STEP_SECONDS)
    return (
        [sum(traffic.admitted[second] for second in range(step, step + _STEP_SECONDS)) for step in steps],
        [sum(traffic.refused[second] for second in range(step, step + _STEP_SECONDS)) for step in steps],
    )


def draw(scenario: Scenario, series: dict[str, tuple[list[int], list[int]]], file: Path) -> None:
    """Write an SVG with one chart for each client, one above the other."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - needed only to draw

    plt.rcParams |= {"svg.hashsalt": "lanes", "font.size": 9}
    figure, places = plt.subplots(len(series), sharex=True, figsize=(8, 4.2), constrained_layout=True)
    times = [step / 60 for step in range(0, scenario.seconds, _STEP_SECONDS)]
    gateway = scenario.gateway()
    for place, (name, (admitted, refused)) in zip(places, series.items(), strict=True):
        place.step(times, [count / _STEP_SECONDS for count in refused], color="#c33", lw=0.8, label="refused with 429")
        place.step(times, [count / _STEP_SECONDS for count in admitted], color="#27c", lw=1, label="let in")
        place.step(times, [gateway.rate_at(60 * time) for time in times], color="#999", lw=1, ls="--", label="the lane")
        place.set_title(name, loc="left", fontsize=9)
        place.set_ylabel("calls/s")
    places[0].legend(loc="upper right", fontsize=8)
    places[-1].set_xlabel("minutes")
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    main()
