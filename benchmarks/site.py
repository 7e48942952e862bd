"""Make and update a site: `python -m benchmarks.site [--full]`.

A first night verifies the whole catalog, each later one a small part of it. Then the site is made, and updated after
one night more. Each figure is of a process of its own, all its threads together. The ratio is to DuckDB's own count
of all rows by outcome, without any view. `--full` is 1,000,000 items and 400 nights.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.a_year import plan_at
from benchmarks.queries import QuickFolder, part_of
from proofsweep.answers.site.look_up import delete_old, updated_look_up
from proofsweep.answers.site.site_state import state_of_site, write_state
from proofsweep.answers.views.connection import opened
from proofsweep.audit.compact import compact
from proofsweep.model import layout
from proofsweep.model.runs import INGEST, Plan
from proofsweep.model.tables import schemas
from proofsweep.model.tables.schemas import SCHEMAS
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results, parquet_of
from proofsweep.store.run_index import RunIndex
from proofsweep.verify.leg.note_leg import note_leg, note_run

_PART_ROWS = 10_000
_CATALOG = "s3://masters/catalog"
_PLAIN, _VIEW = "plain count of all rows", "the view `catalog` alone"


def leave_night(results: Results, plan: Plan, first: int, lots: np.random.Generator) -> None:
    """Leave a night behind of the items from `first` on, each with the tags of a delivery."""
    results.write_plan(plan)
    for shard in range(plan.shards):
        rows = range(first + shard * plan.shard_items, first + (shard + 1) * plan.shard_items)
        table = part_of(plan, rows, lots.random(len(rows)) < 0.95)  # noqa: PLR2004 - as in a good catalog
        where = table.schema.get_field_index("tags")
        table = table.set_column(where, SCHEMAS["verdicts"].field("tags"), pa.array(map(_tags_of, rows)))
        listed = schemas.conformed(table.select(["manifest_row", "item_id", "relative_path", "tags"]), schemas.ITEMS)
        listed = listed.set_column(
            listed.schema.get_field_index("audio"), schemas.ITEMS.field("audio"), table["audio"].cast(pa.binary())
        )
        results.write_shard(plan.run_id, shard, listed)
        results.store.create(layout.verdicts_name(plan.run_id, plan.run_date, shard, 1), parquet_of(table))
    legs = Legs(results, plan.run_id)
    legs.claim(1)
    ended = datetime.fromisoformat(plan.created_at) + timedelta(hours=1)
    leg = {"run_id": plan.run_id, "leg": 1, "environment": plan.environment, "ended_by": "complete", "remaining": 0}
    leg |= {"started_at": plan.created_at, "finished_at": ended.isoformat(), "calls": 2 * plan.items}
    legs.write_receipt(1, {"ended_by": "complete", "counts": leg, "duplicates": 0})


def _tags_of(row: int) -> str:
    codes = f'"isrc": "QZ-AB1-26-{row:07}", "upc": "{4_000_000_000_000 + row // 12}", "supplier": "s{row % 41}"'
    return f'{{{codes}, "title": "Song {row % 9_973} of the morning", "artist": "Artist {row % 7_919}"}}'


def build(store: Path, items: int, nights: int, rows: int) -> None:
    """Fill a store, and make its index and snapshot; the last night is added by `one_more`."""
    results, lots = Results(QuickFolder(store)), np.random.default_rng(1)
    first = datetime.now(UTC).replace(hour=2, minute=0, second=0, microsecond=0) - timedelta(days=nights + 1)
    part = min(items, _PART_ROWS)
    leave_night(results, replace(plan_at(first, items // part, part, 0), catalog=_CATALOG), 0, lots)
    for number in range(1, nights):
        plan = _part_of_catalog(first + timedelta(days=number), rows, number)
        leave_night(results, plan, int(lots.integers(items - rows + 1)), lots)
    compact(results)


def one_more(store: Path, rows: int) -> None:
    """Add a night as a run does, which notes itself in index and snapshot."""
    results = Results(QuickFolder(store))
    plan = _part_of_catalog(datetime.now(UTC), rows, 0)
    leave_night(results, plan, 0, np.random.default_rng(2))
    note_run(results, plan)
    note_leg(results, plan)


def _part_of_catalog(at: datetime, rows: int, number: int) -> Plan:
    return replace(plan_at(at, 1, rows, number), catalog=_CATALOG, catalog_kind=INGEST)


def update(store: Path, site: Path, what: str) -> None:
    """Make the data of a site, or bring them up to date, or ask what that is held against; print the figures."""
    results, folder, began = Results(FolderStore(store)), FolderStore(site), time.process_time()
    runs = list(RunIndex(results).refreshed().newest_first())
    changed = 0
    if what == _PLAIN:
        place = f"{store}/verdicts/*/*.parquet"
        duckdb.sql(f"SELECT outcome, count(*) FROM '{place}' GROUP BY ALL").fetchall()  # noqa: S608 - our own text
    elif what == _VIEW:
        with opened(results, asked="catalog") as views:
            views.connection.execute("SELECT state, count(*), max(tags), max(what_to_do) FROM catalog GROUP BY ALL")
    else:
        before = state_of_site(folder, results, runs[0].plan.environment)
        found = updated_look_up(results, folder, before, runs, datetime.now(UTC))
        write_state(folder, found.state)
        delete_old(folder, before, found.state, datetime.now(UTC))
        changed = found.changed
    (peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(time.process_time() - began, int(peak.split()[1]) / 1024, changed)


def show(store: Path, site: Path, rows: int) -> None:
    """Make the site and update it, and print the table."""
    print("| what | processor seconds | peak MB | to the plain count | records | MB of the site | objects |")
    print("|---" * 7 + "|")
    plain = 0.0
    for what in (_PLAIN, _VIEW, "the site, the first time", "after a night", "after another night", "nothing new"):
        if what.startswith("after"):
            one_more(store, rows)
        command = [sys.executable, "-m", "benchmarks.site", "--store", str(store), "--site", str(site), "--what", what]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        seconds, megabytes = map(float, printed[:2])
        plain = plain or seconds
        sizes = [path.stat().st_size for path in site.rglob("*") if path.is_file()]
        figures = f"{seconds:.2f} | {megabytes:.0f} | {seconds / plain:.1f} | {int(printed[2]):,}"
        print(f"| {what} | {figures} | {sum(sizes) / 1e6:,.0f} | {len(sizes):,} |", flush=True)


def main() -> None:
    """Build a store, make its site and update it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--nights", type=int, default=40)
    parser.add_argument("--rows", type=int, default=500, help="rows of each night but the first")
    parser.add_argument("--full", action="store_true", help="1,000,000 items, 400 nights of 2,500 rows")
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--site", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--what", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.store:
        update(chosen.store, chosen.site, chosen.what)
        return
    items, nights, rows = (1_000_000, 400, 2_500) if chosen.full else (chosen.items, chosen.nights, chosen.rows)
    with tempfile.TemporaryDirectory(prefix="proofsweep-site-") as folder:
        build(Path(folder, "results"), items, nights, rows)
        show(Path(folder, "results"), Path(folder, "site"), rows)


if __name__ == "__main__":
    main()
