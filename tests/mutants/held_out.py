"""`python -m tests.mutants.held_out --seed 26`: of how many wrong services the suite finds something.

The seed takes a third of the services away from those who write checks; they are counted apart. Each is examined
twice: as the plain command does, with a key alone, and with all options, keys and checks.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import proofsweep_sandbox as sandbox
from partner_conformance import CHECKS, FAILED, Inputs, Subject, Wire, chosen, run
from partner_conformance.prepare import prepare

from ..conformance.conftest import Given, given_in
from .operator import MutantOperator
from .wild import WILD, held_out

# They wait for a slot's lifetime, or spend hundreds of calls.
_SKIPPED = {"endpoints-10-unused-slot-expires", *(name for name in CHECKS if name.startswith("errors-5"))}


def main() -> None:
    """Print one line for each wrong service, and the sums."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=26)
    hidden = held_out(options.parse_args().seed)
    with TemporaryDirectory() as folder, sandbox.launch(Path(folder) / "home", module="tests.mutants") as running:
        running.operator.set_lane(1 / 12, 20, lane="rotate")
        operator = MutantOperator(running.operator_url)
        found = {name: _examined(operator, running, Path(folder) / f"given-{at}", name) for at, name in enumerate(WILD)}
        operator.close()
    for title, names in (("visible", [name for name in WILD if name not in hidden]), ("held out", hidden)):
        print(f"\n{title}: {len(names)} wrong services")
        for name in names:
            plain, whole = found[name]
            print(f"  {'plain' if plain else '     '} {'all' if whole else '   '}  {name}: {', '.join(whole[:3])}")
        for way, caught in enumerate(("plain command", "all options and keys")):
            print(f"  {caught}: {sum(bool(found[name][way]) for name in names)} of {len(names)}")


def _examined(
    operator: MutantOperator, running: sandbox.Running, folder: Path, name: str
) -> tuple[list[str], list[str]]:
    """Return the names of the failed checks of both ways; each has a tenant of its own."""
    ways = []
    for way in ("plain", "all"):
        key, inputs = given_in(prepare(running.base_url, running.operator_url, Path(f"{folder}-{way}")))
        operator.set_mutant(name)
        whole = [check.name for check in CHECKS.values() if check.name not in _SKIPPED]
        names = whole if way == "all" else [check.name for check in chosen([], [])]
        ways.append(_failed(running, operator, (key, inputs if way == "all" else Inputs()), names))
        operator.set_mutant(None)
    return ways[0], ways[1]


def _failed(running: sandbox.Running, operator: MutantOperator, given: Given, names: Iterable[str]) -> list[str]:
    key, inputs = given
    with Wire(running.base_url, key, sleep=operator.move_clock) as wire:
        results = list(run([CHECKS[name] for name in names], Subject(wire, inputs)))
    return [each.check.name for each in results if each.result == FAILED]


if __name__ == "__main__":
    main()
