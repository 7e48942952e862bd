"""Measure the time from the start of `proofsweep verify` to its first byte of audio.

Run from the checkout: `python -m benchmarks.first_byte [--runs 3] [--rows 1000]`. The command runs as a person starts
it, with a Prefect server of its own. A first run creates Prefect's home and Python's compiled files, and is reported
apart.
"""

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.children import manifest, verify, waves
from benchmarks.null_service import launched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1_000)
    chosen = parser.parse_args()
    os.environ.pop("PREFECT_API_URL", None)
    with tempfile.TemporaryDirectory() as place, launched(Path(place)) as service:
        os.environ["PREFECT_HOME"] = f"{place}/prefect"
        catalog = manifest(Path(place), waves(Path(place), 4096, 1), chosen.rows)
        cold, *warm = [verify(catalog, service) for _ in range(1 + chosen.runs)]
    print(f"the very first run:      {cold.first_byte_seconds:5.1f} s")
    print(f"with Prefect's home warm: {median(used.first_byte_seconds for used in warm):4.1f} s", end=", ")
    print(f"of which {median(used.cpu_before_seconds for used in warm):.1f} s are CPU of the command's own process")


if __name__ == "__main__":
    main()
