"""Measure the planning of a long manifest: to read it, look up each file that it names, and write the planned items.

Run from the checkout: `python -m benchmarks.planning [--rows 100000 1000000]`. The rows name 1,000 files in turn, so a
look-up needs no disk access. Each plan is made in its own process.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.children import manifest, run, waves


def main() -> None:
    """Measure and print; with `--only`, make one plan, to be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--only", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.only is not None:
        _plan(chosen.only)
        return
    print("| rows | CPU s | µs each | peak MB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        audio = waves(Path(place), 4096, 1_000)
        for rows in chosen.rows:
            catalog = manifest(Path(place), audio, rows)
            used = run(["-m", "benchmarks.planning", "--only", str(catalog)], {})
            each = 1e6 * used.cpu_seconds / rows
            print(f"| {rows:,} | {used.cpu_seconds:.1f} | {each:.0f} | {used.peak_mebibytes:.0f} |", flush=True)


def _plan(catalog: Path) -> None:
    from proofsweep.config.sections import CatalogSettings, ServiceSettings  # noqa: PLC0415 - the measuring process stays small
    from proofsweep.config.threads import utc_now  # noqa: PLC0415
    from proofsweep.sources.open_catalog import open_catalog  # noqa: PLC0415
    from proofsweep.sources.selection import ALL_ROWS  # noqa: PLC0415
    from proofsweep.store.objects import open_store  # noqa: PLC0415
    from proofsweep.store.parts import Results  # noqa: PLC0415
    from proofsweep.verify.plan import Planner  # noqa: PLC0415

    with tempfile.TemporaryDirectory(dir=catalog.parent) as results:
        planner = Planner(
            results=Results(open_store(results)),
            service=ServiceSettings(base_url="http://127.0.0.1/v1", environment="null"),
            catalogs=CatalogSettings(),
            clock=utc_now,
        )
        planner.plan(open_catalog(str(catalog)), ALL_ROWS, lambda: None)


if __name__ == "__main__":
    main()
