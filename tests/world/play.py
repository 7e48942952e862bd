"""Play worlds: `python tests/world/play.py --level kills --seed 7 --story`, or `--count 100` from a seed on.

Worlds are played one after the other. The order of a set of texts must be the same in each replay, so Python is begun
again with a fixed seed for hashes, and without settings of the person who plays.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import takewhile

if os.environ.get("PYTHONHASHSEED") != "0":
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PROOFSWEEP_")}
    os.execve(sys.executable, [sys.executable, *sys.argv], clean | {"PYTHONHASHSEED": "0"})  # noqa: S606 - itself

import loading
from breaks import BREAKS, apply, break_of

_breaks = argparse.ArgumentParser(add_help=False)
_breaks.add_argument("--break", dest="broken", choices=[each.name for each in BREAKS], help="break the core so")
_broken = _breaks.parse_known_args()[0].broken
_breaking = apply(break_of(_broken)) if _broken else None
loading.load()

from checks import Checks
from checks_of_answers import AnswerChecks
from kernel import StuckError
from known_faults import KNOWN, known_fault
from levels import LEVELS
from night import Night

_FEWER_FILES = (2, 3, 4, 6)
_MOST_REPLAYS = 60


@dataclass
class Played:
    """One world, as it was played."""

    level: str
    seed: int
    files: int | None = None
    without: Collection[int] = ()
    problems: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)  # numbers of known faults that it showed
    story: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def checks(self) -> set[str]:
        return {problem.partition(":")[0] for problem in self.problems}


def play(level: str, seed: int, files: int | None = None, without: Collection[int] = ()) -> Played:
    """Play a world, and return what is wrong in it."""
    night = Night(level, seed, files, without)
    played = Played(level, seed, files, without)
    try:
        night.play()
        problems = [] if night.is_small else night.asked(AnswerChecks(night).problems)  # it takes a third of the time
        night.play_last()
        problems += night.asked(Checks(night).problems)
    except StuckError as error:
        problems = [f"ends: {error}"]
    finally:
        night.close()
    played.story, played.events = night.world.lines, night.disturbances.events
    for problem in problems:
        number = known_fault(level, problem, played.events)
        if number is None:
            played.problems.append(problem)
        elif number not in played.known:
            played.known.append(number)
    played.counts = Counter(
        nights=night.nights + 1,  # with the last one, in which nothing is disturbed
        processes=len(night.world.processes),
        kills=sum(process.is_dead for process in night.world.processes),
        calls=len(night.partner.served),
    )
    return played


def shortest(failed: Played) -> Played:
    """Find a world with fewer files and fewer events that fails the same check, of those that are tried."""
    best, replays = failed, 0

    def fails(files: int | None, without: Collection[int]) -> Played | None:
        nonlocal replays
        replays += 1
        again = play(failed.level, failed.seed, files, without)
        return again if again.checks & failed.checks else None

    for files in _FEWER_FILES:
        if fewer := fails(files, ()):
            best = fewer
            break
    for number in reversed(range(len(best.events))):
        if replays < _MOST_REPLAYS and number not in best.without:
            best = fails(best.files, {*best.without, number}) or best
    return best


def tell_failure(failed: Played) -> None:
    for problem in failed.problems[:8]:
        print(f"{failed.level} {failed.seed}: {problem}")
    print(f"Play it again: pytest tests/world --seed {failed.seed} --level {failed.level} --story")
    short = shortest(failed)
    kept = [number for number in range(len(short.events)) if number not in short.without]
    print(f"The shortest story found, with {short.files or 'all'} files and the events {kept}:")
    print("\n".join(short.story))
    for problem in short.problems[:8]:
        print(f"{short.level} {short.seed}: {problem}")


def play_many(level: str, seeds: Iterable[int], told: Callable[[Played], object]) -> Counter[str]:
    """Play the worlds of some seeds, and add up what they had."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        played = play(level, seed)
        counts += played.counts + Counter(worlds=1, failed=bool(played.problems))
        counts += Counter({f"known {number}": 1 for number in played.known})
        told(played)
    return counts


def tell_known() -> None:
    """Play the world of each known fault, and tell which faults it shows."""
    for fault in KNOWN:
        if fault.seed is not None:
            print(json.dumps({"number": fault.number, "shown": play(fault.level, fault.seed).known}))


def given_arguments() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__, parents=[_breaks])
    arguments.add_argument("--level", choices=LEVELS, default="all")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=1)
    arguments.add_argument("--worlds", nargs="+", metavar="LEVEL:COUNT", help="play so many of each of these levels")
    arguments.add_argument("--files", type=int, default=None, help="how many files, of one world")
    arguments.add_argument("--without", type=int, nargs="*", default=(), help="events that do not happen in one world")
    arguments.add_argument("--story", action="store_true", help="tell each world line by line")
    arguments.add_argument("--brief", action="store_true", help="look for no shortest story of a failure")
    arguments.add_argument("--until-found", action="store_true", help="play no other world after one that fails")
    arguments.add_argument("--known", action="store_true", help="play the world of each known fault, and no other")
    return arguments.parse_args()


@dataclass
class Teller:
    """Tells of worlds as a person wants it, and counts those that failed."""

    given: argparse.Namespace
    failures: int = 0

    def tell(self, played: Played) -> None:
        self.failures += bool(played.problems)
        if self.given.story:
            print("\n".join(played.story))
            for number in played.known:
                print(f"It shows the known fault {number}.")
        if played.problems and (self.given.story or self.given.brief):
            print("\n".join(f"{played.level} {played.seed}: {problem}" for problem in played.problems[:8]))
        elif played.problems:
            tell_failure(played)
        sys.stdout.flush()

    def play_chosen(self) -> Counter[str]:
        """Play one world, or the worlds of some seeds of a level."""
        given = self.given
        if given.count == 1:
            played = play(given.level, given.seed, given.files, given.without)
            self.tell(played)
            return played.counts + Counter(worlds=1, failed=bool(played.problems))
        seeds = range(given.seed, given.seed + given.count)
        is_enough = (lambda: self.failures > 0) if given.until_found else (lambda: False)
        return play_many(given.level, takewhile(lambda _: not is_enough(), seeds), self.tell)

    def play_levels(self) -> None:
        for worlds in self.given.worlds:
            level, _, count = worlds.partition(":")
            print(f"== {level}")
            print(json.dumps(play_many(level, range(self.given.seed, self.given.seed + int(count)), self.tell)))


def main() -> int:
    teller = Teller(given_arguments())
    if teller.given.known:
        tell_known()
    elif teller.given.worlds:
        teller.play_levels()
    else:
        print(json.dumps(teller.play_chosen()))
    if _breaking is not None:
        _breaking.require_broken()
    return int(teller.failures > 0)


if __name__ == "__main__":
    sys.exit(main())
