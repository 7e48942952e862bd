"""Measure the CPU time of commands that answer at once, with all extras and as a core installation has it.

Run from the checkout: `python -m benchmarks.start [--rounds 7]`. The commands take turns; the figures are medians. The
ratio is to a Python that imports what any command line of this kind does: typer and rich's console.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.children import run

_EXTRAS = ("boto3", "botocore", "c2pa", "dask", "distributed", "prefect_dask")
_CORE = f"""
import sys
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {_EXTRAS} else super().find_spec(name, path, target)

sys.meta_path = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
"""
_MAIN = "from proofsweep_cli.app import main; main()"
_PLAIN = "import typer, rich.console"
_COMMANDS = ("--help", "--version", "status", "rejects", "verify --help")
_ROWS = 2_000
"""Of the run that is shown."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as place:
        store = Path(place, "results")
        run(["-m", "benchmarks.built_store", str(store), "--items", str(_ROWS)], {})
        variables = {"PROOFSWEEP_RESULTS__URL": str(store), "PROOFSWEEP_CONFIG": "sandbox"}
        programs = {("", "plain"): [_PLAIN]}
        for command in _COMMANDS:
            programs[command, "core"] = [_CORE + _MAIN, *command.split()]
            programs[command, "all extras"] = [_MAIN, *command.split()]
        seconds: dict[tuple[str, str], list[float]] = {each: [] for each in programs}
        for _ in range(rounds + 1):
            for each, (program, *arguments) in programs.items():
                seconds[each].append(run(["-c", program, *arguments], variables).cpu_seconds)
    _print({each: median(found[1:]) for each, found in seconds.items()})  # the first round compiles


def _print(seconds: dict[tuple[str, str], float]) -> None:
    plain = seconds["", "plain"]
    print(f"A Python that imports typer and rich's console takes {plain:.2f} s of CPU.\n")
    print("| command | core, CPU s | to that Python | all extras, CPU s | to that Python |\n|---|---|---|---|---|")
    for command in _COMMANDS:
        core, whole = seconds[command, "core"], seconds[command, "all extras"]
        print(f"| `{command}` | {core:.2f} | {core / plain:.1f} | {whole:.2f} | {whole / plain:.1f} |", flush=True)


if __name__ == "__main__":
    main()
