"""Run every benchmark and print the figures of docs/performance.md: `python -m benchmarks [--quick]`."""

import argparse
import shlex
import subprocess
import sys

_ALL = {
    "cpu_per_file": "--kibibytes 4 --at-once 2 --files 240 --few 1 --plain",
    "memory": "--rows 60",
    "planning": "--rows 2000",
    "start": "--rounds 1",
    "first_byte": "--runs 1 --rows 40",
    "forecast": "--only 'four workers' --seconds 5",
    "a_year": "--nights 2 --parts 3 --ingests 5",
    "answers": "--items 60 --nights 2 --rows 20",
    "lanes": "--seeds 1 --only 'R2 B2'",
    "night": "--rows 60 --rate 100",
    "prefect_tasks": "--files 20",
    "processes": "--rows 240 --partitions 2",
}
"""Each script with options that make it quick. Its figures then mean nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to check that every benchmark runs")
    parser.add_argument("names", nargs="*", default=list(_ALL), help="the benchmarks to run; all by default")
    chosen = parser.parse_args()
    for name in chosen.names:
        print(f"\n== {name}", flush=True)
        options = shlex.split(_ALL[name]) if chosen.quick else []
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options], check=True)


if __name__ == "__main__":
    main()
