"""Write the page of a catalog and of a run: `python -m benchmarks.pages [--full]`.

A first night verifies the whole catalog, each later one a small part of it. Each page is written by a process of its
own; its peak memory includes all it loaded. The ratio is to DuckDB's count of all rows by outcome, without a view.
`--full` is 1,000,000 items and 400 nights.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.a_year import plan_at
from benchmarks.queries import QuickFolder, measured, part_of
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.queries.catalog import catalog_facts
from proofsweep.queries.run_facts import run_facts
from proofsweep.reports.pages import catalog_page, run_page
from proofsweep.store import layout, schemas
from proofsweep.store.latest import refresh
from proofsweep.store.ledger import EntryKind, Ledger
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results, parquet_of
from proofsweep.store.runs import RunIndex
from proofsweep.store.schemas import SCHEMAS

_PART_ROWS = 10_000
_CATALOG = "s3://masters/catalog"
PAGES = ("catalog, without tags", "catalog, by supplier", "run, the last one")


def leave_night(results: Results, plan: Plan, first: int, lots: np.random.Generator) -> None:
    """Leave a night behind of the items from `first` on, each with the tags of a delivery."""
    results.write_plan(plan)
    for number, batch in enumerate(plan.batches):
        rows = range(first + batch.start, first + batch.stop)
        table = part_of(plan, rows, lots.random(len(rows)) < 0.95)  # noqa: PLR2004 - as in a good catalog
        where = table.schema.get_field_index("tags")
        table = table.set_column(where, SCHEMAS["verdicts"].field("tags"), pa.array(map(_tags_of, rows)))
        listed = schemas.conformed(table.select(["manifest_row", "item_id", "relative_path", "tags"]), schemas.ITEMS)
        listed = listed.set_column(
            listed.schema.get_field_index("audio"), schemas.ITEMS.field("audio"), table["audio"].cast(pa.binary())
        )
        results.write_items(plan.run_id, number, listed)
        results.store.create(layout.part_name("verdicts", plan.run_id, plan.run_date, number, 1), parquet_of(table))
    legs = Legs(results.store, plan.run_id)
    legs.take(1)
    ended = datetime.fromisoformat(plan.created_at) + timedelta(hours=1)
    leg = {"run_id": plan.run_id, "leg": 1, "environment": plan.environment, "ended_by": "complete", "remaining": 0}
    leg |= {"started_at": plan.created_at, "finished_at": ended.isoformat(), "calls": 2 * plan.items}
    links = {"after_entry": Ledger(results.store).newest()}
    legs.write_receipt(1, {"ended_by": "complete", "counts": leg, "duplicates": 0} | links)
    Ledger(results.store).append(EntryKind.LEG, layout.receipt_name(plan.run_id, 1))


def _tags_of(row: int) -> str:
    codes = f'"isrc": "QZ-AB1-26-{row:07}", "upc": "{4_000_000_000_000 + row // 12}", "supplier": "s{row % 41}"'
    return f'{{{codes}, "title": "Song {row % 9_973} of the morning", "artist": "Artist {row % 7_919}"}}'


def build(store: Path, items: int, nights: int, rows: int) -> None:
    """Fill a store: a night of the whole catalog, then nights of a small part of it; make its index and base."""
    results, lots = Results(QuickFolder(store)), np.random.default_rng(1)
    first = datetime.now(UTC).replace(hour=2, minute=0, second=0, microsecond=0) - timedelta(days=nights + 1)
    part = min(items, _PART_ROWS)
    leave_night(results, replace(plan_at(first, items // part, part, 0), catalog=_CATALOG), 0, lots)
    for number in range(1, nights):
        plan = replace(plan_at(first + timedelta(days=number), 1, rows, number), catalog=_CATALOG, catalog_kind=INGEST)
        leave_night(results, plan, int(lots.integers(items - rows + 1)), lots)
    refresh(results)


def write(store: Path, page: str) -> None:
    """Write one page, and print the seconds, the peak memory and the page's size."""
    results, now = Results(FolderStore(store)), datetime.now(UTC)
    newest = next(RunIndex(results).refreshed().newest_first()).plan
    began = time.perf_counter()
    if page == PAGES[-1]:
        text = run_page(run_facts(results, newest.run_id, tags=["supplier"]), str(store), now)
    else:
        facts = catalog_facts(results, newest.environment, tags=["supplier"] if "supplier" in page else [])
        text = catalog_page(facts, str(store), "", now)
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
