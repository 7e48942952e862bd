"""Play worlds on all processors until Ctrl-C, and count them: `python tests/world/soak.py --seed 1000 --nights 20000`.

Each world is small or large by its seed. The seeds of a level go on where the last portion ended, so that the printed
seed plays all of them again.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from levels import LEVELS

PLAY = Path(__file__).with_name("play.py")
_WORLDS = 100  # of one level in one process: loading the core takes as long as some ten worlds
_TOLD_SECONDS = 60.0

Portion = tuple[str, int]


def portions(seed: int, levels: tuple[str, ...]) -> Iterator[Portion]:
    for first in itertools.count(seed, _WORLDS):
        for level in levels:
            yield level, first


def played(portion: Portion) -> tuple[Counter[str], str]:
    """Play a portion; return what its worlds had in all, and what was wrong."""
    level, seed = portion
    command = [sys.executable, PLAY, "--level", level, "--seed", str(seed), "--count", str(_WORLDS), "--brief"]
    play = subprocess.run(command, capture_output=True, text=True, check=False)
    *problems, counts = play.stdout.splitlines() or ["{}"]
    if play.returncode not in {0, 1} or not counts.startswith("{"):
        return Counter(failed=1), f"{level} from {seed}: {play.stderr[-4_000:]}"
    return Counter(json.loads(counts)), "\n".join(problems)


def line_of(counts: Counter[str], seconds: float) -> str:
    told = ", ".join(
        f"{counts[name]:,} {name}" for name in ("worlds", "nights", "processes", "kills", "calls", "failed")
    )
    known = ", ".join(f"{name} in {count:,}" for name, count in sorted(counts.items()) if name.startswith("known"))
    return f"{seconds / 60:.0f} min: {told}{f'; {known}' if known else ''}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=int(time.time()), help="of the first world of each level")
    arguments.add_argument("--nights", type=int, default=None, help="stop after so many; by default on Ctrl-C")
    arguments.add_argument("--levels", nargs="*", choices=LEVELS, default=LEVELS)
    given = arguments.parse_args()
    print(f"To play the same worlds again: python tests/world/soak.py --seed {given.seed}", flush=True)
    counts, began, told_at = Counter[str](), time.monotonic(), 0.0
    to_play, at_work = portions(given.seed, tuple(given.levels)), set[Future[tuple[Counter[str], str]]]()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            while given.nights is None or counts["nights"] < given.nights:
                while len(at_work) < (os.cpu_count() or 1):
                    at_work.add(pool.submit(played, next(to_play)))
                done, at_work = wait(at_work, return_when=FIRST_COMPLETED)
                for more, problems in (future.result() for future in done):
                    counts += more
                    if problems:
                        print(problems, flush=True)
                if time.monotonic() - told_at > _TOLD_SECONDS:
                    told_at = time.monotonic()
                    print(line_of(counts, told_at - began), flush=True)
        except KeyboardInterrupt:
            print("Stopped; the portions at work are not counted.")
    print(line_of(counts, time.monotonic() - began))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
