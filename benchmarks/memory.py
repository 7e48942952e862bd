"""Measure whether the peak memory of `proofsweep verify` depends on the length of the catalog.

Run from the checkout: `python -m benchmarks.memory [--rows 1000 20000] [--at-once 16] [--note-letters 0]`. By default
as many files are in flight as the settings have it. The peak is that of the whole process, with start and end.
200,000 rows give the clearest figure and take some ten minutes. Files are 4 KiB. `--note-letters 1900000` gives each
answer a process note so long. No file repeats while the run still remembers it.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.children import manifest, prefect_server, verify, waves
from benchmarks.null_service import launched
from proofsweep.config.sections import PaceSettings

# Far more than the 2,000 answers that a run remembers, so that no file is answered by an earlier copy: a batch that
# begins late may be that far behind the others. With 12,000, a busy machine had 6,000 such rows in 150,000.
_FILES = 60_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 20_000])
    parser.add_argument("--at-once", type=int, default=PaceSettings().workers)
    parser.add_argument("--note-letters", type=int, default=0)
    chosen = parser.parse_args()
    print("| rows | peak MB | to the shortest |\n|---|---|---|")
    with (
        tempfile.TemporaryDirectory() as place,
        launched(Path(place), note_letters=chosen.note_letters) as service,
        prefect_server(),
    ):
        audio = waves(Path(place), 4096, min(_FILES, max(chosen.rows)))
        shortest = 0.0
        for rows in chosen.rows:
            catalog = manifest(Path(place), audio, rows)
            peak = verify(catalog, service, at_once=chosen.at_once, dedupe=True).peak_mebibytes
            shortest = shortest or peak
            print(f"| {rows:,} | {peak:.0f} | {peak / shortest:.2f} |", flush=True)


if __name__ == "__main__":
    main()
