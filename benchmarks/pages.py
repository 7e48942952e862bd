"""Write the page of a catalog and of a night: `python -m benchmarks.pages [--full]`.

The store is that of `benchmarks.site`. Each page is written by a process of its own; its peak memory includes all it
loaded. The ratio is to DuckDB's own count of all rows by outcome, without any view. `--full` is 1,000,000 items and 400
nights.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.queries import measured
from benchmarks.site import build
from proofsweep.answers.report.catalog_page import catalog_page
from proofsweep.answers.report.choice import PageChoice
from proofsweep.answers.report.night_page import night_page
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex

PAGES = ("catalog, without tags", "catalog, by supplier", "catalog, by supplier, since a week", "night, the last one")


def write(store: Path, page: str) -> None:
    """Write one page, and print the seconds, the peak memory and the page's size."""
    results, now = Results(FolderStore(store)), datetime.now(UTC)
    newest = next(RunIndex(results).refreshed().newest_first()).plan
    began = time.perf_counter()
    if page == PAGES[-1]:
        text = night_page(results, newest.run_id, now, PageChoice(tags=["supplier"]))
    else:
        tags = ["supplier"] if "supplier" in page else []
        since = (now - timedelta(days=7)).date() if "since" in page else None
        text = catalog_page(results, newest.environment, now, PageChoice(tags=tags, since=since))
    seconds = time.perf_counter() - began
    (peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(seconds, int(peak.split()[1]) / 1024, len(text.encode()))


def show(store: Path) -> None:
    """Write all pages and print the table."""
    print("| page | seconds | peak MB | to the plain count | kB |\n|---|---|---|---|---|")
    plain, megabytes = measured(store, "plain")
    print(f"| plain count of all rows | {plain:.2f} | {megabytes:.0f} | 1.0 | |", flush=True)
    for page in PAGES:
        command = [sys.executable, "-m", "benchmarks.pages", "--store", str(store), "--page", page]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        seconds, peak, size = map(float, printed)
        print(f"| {page} | {seconds:.2f} | {peak:.0f} | {seconds / plain:.1f} | {size / 1_000:.0f} |", flush=True)


def main() -> None:
    """Build a store and write its pages; or write one page of a store that exists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--nights", type=int, default=40)
    parser.add_argument("--rows", type=int, default=500, help="rows of each night but the first")
    parser.add_argument("--full", action="store_true", help="1,000,000 items, 400 nights of 2,500 rows")
    parser.add_argument("--store", type=Path, help="a store that exists, in place of building one")
    parser.add_argument("--page", choices=PAGES, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.page:
        write(chosen.store, chosen.page)
        return
    if chosen.store:
        show(chosen.store)
        return
    items, nights, rows = (1_000_000, 400, 2_500) if chosen.full else (chosen.items, chosen.nights, chosen.rows)
    with tempfile.TemporaryDirectory(prefix="proofsweep-pages-") as folder:
        build(Path(folder), items, nights, rows)
        show(Path(folder))


if __name__ == "__main__":
    main()
