"""Ask a results store of many nights: `python -m benchmarks.queries [--full]`.

Each night has the same items, of which a few have another outcome than the night before. Each question is asked by a
process of its own, which opens the store first; its peak memory includes all it loaded. The ratio is to DuckDB's own
count of all rows by outcome, without any view. `--full` is a year of nights: ten million rows in 1,095 parts.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.a_year import plan_at
from proofsweep.domain.runs import Plan
from proofsweep.queries.connection import opened
from proofsweep.store import layout, schemas
from proofsweep.store.latest import refresh
from proofsweep.store.ledger import EntryKind, Ledger
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results, parquet_of
from proofsweep.store.schemas import SCHEMAS

FIRST = "a base of all parts"
QUESTIONS = {
    "latest_answer of the last run": "SELECT outcome, count(*) FROM latest_answer WHERE {last} GROUP BY ALL",
    "latest_answer of all runs": "SELECT outcome, count(*) FROM latest_answer GROUP BY ALL",
    "changes of the last run, by cause": "SELECT change, cause, count(*) FROM changes WHERE {last} GROUP BY ALL",
    "changes of the last run, all columns": "FROM changes WHERE {last}",
    "changes of the last week, by cause": "SELECT change, cause, count(*) FROM changes WHERE {week} GROUP BY ALL",
    "changes of all nights, by cause": "SELECT change, cause, count(*) FROM changes GROUP BY ALL",
    "verdicts of all nights, by night and outcome": "SELECT run_date, outcome, count(*) FROM verdicts GROUP BY ALL",
    "rejects": "SELECT count(*) FROM rejects",
    "catalog, by state": "SELECT state, count(*) FROM catalog GROUP BY ALL",
    "coverage": "FROM coverage",
}


class QuickFolder(FolderStore):
    """A folder that does not wait for the disk: what is measured is reading."""

    def create(self, name: str, content: bytes) -> None:
        """Write a file."""
        path = Path(self.url, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def leave_night(results: Results, plan: Plan, is_accepted: np.ndarray) -> None:
    """Leave a night behind: its planned items and parts, plan, lease, receipt and row of `runs`."""
    results.write_plan(plan)
    parts = []
    for number, rows in enumerate(plan.batches):
        name = layout.part_name("verdicts", plan.run_id, plan.run_date, number, 1)
        part = part_of(plan, rows, is_accepted[rows.start : rows.stop])
        results.store.create(name, parquet_of(part))
        results.write_items(plan.run_id, number, planned_of(part))
        parts.append({"name": name, "rows": len(rows), "sha256": ""})
    legs = Legs(results.store, plan.run_id)
    legs.take(1)
    leg = {"run_id": plan.run_id, "leg": 1, "environment": plan.environment, "ended_by": "complete", "remaining": 0}
    links = {"after_entry": Ledger(results.store).newest()}
    legs.write_receipt(1, {"ended_by": "complete", "counts": leg, "duplicates": 0, "parts": parts} | links)
    Ledger(results.store).append(EntryKind.LEG, layout.receipt_name(plan.run_id, 1))
    results.create_part(layout.runs_name(plan.run_id, plan.run_date, 1), "runs", [leg])


def part_of(plan: Plan, rows: range, is_accepted: np.ndarray) -> pa.Table:
    """Make the rows of one part; identifiers are as long as real ones."""
    count = len(rows)
    names = [f"label-{row % 97:02}/release-{row // 12:06}/track-{row:08}.wav" for row in rows]
    same = {
        "run_id": plan.run_id,
        "leg": 1,
        "environment": plan.environment,
        "verify_attempts": 1,
        "calls": 2,
    }
    same |= {"classification": "human", "grade_human": 0.9, "grade_rubric_version": "1"}
    cells: dict[str, pa.Array] = {
        name: pa.repeat(pa.scalar(cell, SCHEMAS["verdicts"].field(name).type), count) for name, cell in same.items()
    }
    cells |= {"manifest_row": pa.array(rows), "item_id": pa.array(names), "relative_path": pa.array(names)}
    cells["audio"] = pa.array([f"{plan.catalog}/{name}" for name in names])
    cells["audio_sha256"] = pa.array([f"{row:064x}" for row in rows])
    cells["verify_request_id"] = pa.array([f"{plan.run_id}-{row:08}" for row in rows])
    cells["finished_at"] = pa.repeat(pa.scalar(datetime.fromisoformat(plan.created_at)), count)
    cells["accepted"] = pa.array(is_accepted)
    for name, yes, no in (
        ("outcome", "accepted", "rejected"),
        ("action", "accept", "reject"),
        ("verdict", "valid", "tampered"),
        ("reason", None, "tampered"),
    ):
        cells[name] = pa.array(np.where(is_accepted, yes, no).tolist(), pa.string())
    return schemas.conformed(pa.table(cells), SCHEMAS["verdicts"])


def planned_of(part: pa.Table) -> pa.Table:
    """Make the planned items of a part's rows."""
    there = part.select([name for name in schemas.ITEMS.names if name in part.column_names and name != "reason"])
    exact = there.set_column(there.column_names.index("audio"), "audio", part["audio"].cast(pa.binary()))
    return schemas.conformed(exact, schemas.ITEMS)


def build(store: Path, nights: int, parts: int, rows: int) -> None:
    """Fill a store."""
    results, lots = Results(QuickFolder(store)), np.random.default_rng(1)
    first = datetime.now(UTC).replace(hour=2, minute=0, second=0, microsecond=0) - timedelta(days=nights)
    is_accepted = lots.random(parts * rows) < 0.9  # noqa: PLR2004 - as in a good catalog
    for number in range(nights):
        is_accepted ^= lots.random(parts * rows) < 0.002  # noqa: PLR2004 - a few change
        leave_night(results, plan_at(first + timedelta(days=number), parts, rows, number), is_accepted)


def ask(store: Path, query: str) -> None:
    """Answer one question, or the plain count, and print the seconds and the peak memory."""
    began = time.perf_counter()
    if query == FIRST:
        refresh(Results(FolderStore(store)))
    elif query == "plain":
        place = f"{store}/verdicts/*/*.parquet"
        duckdb.sql(f"SELECT outcome, count(*) FROM '{place}' GROUP BY ALL").fetchall()  # noqa: S608 - our own text
    else:
        with opened(Results(FolderStore(store))) as views:
            views.connection.execute(query).fetchall()
    (peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    megabytes = int(peak.split()[1]) / 1024
    print(time.perf_counter() - began, megabytes)


def measured(store: Path, query: str) -> tuple[float, float]:
    """Ask in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.queries", "--store", str(store), "--ask", query]
    seconds, megabytes = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return float(seconds), float(megabytes)


def show(store: Path) -> None:
    """Ask all questions and print the table."""
    runs = sorted(folder.name for folder in (store / "_runs").iterdir())
    which = {"last": f"run_id = '{runs[-1]}'", "week": f"run_id >= '{runs[-7:][0]}'"}
    print("| question | seconds | peak MB | to the plain count |\n|---|---|---|---|")
    plain, megabytes = measured(store, "plain")
    if not (store / "_latest").exists():
        seconds, megabytes_then = measured(store, FIRST)
        print(f"| {FIRST} | {seconds:.2f} | {megabytes_then:.0f} | {seconds / plain:.1f} |", flush=True)
    print(f"| plain count of all rows | {plain:.2f} | {megabytes:.0f} | 1.0 |", flush=True)
    for question, query in QUESTIONS.items():
        seconds, megabytes = measured(store, query.format(**which))
        print(f"| {question} | {seconds:.2f} | {megabytes:.0f} | {seconds / plain:.1f} |", flush=True)


def main() -> None:
    """Build a store and ask; or ask one question of a store that exists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--rows", type=int, default=2_000, help="rows of a part")
    parser.add_argument("--parts", type=int, default=3, help="parts of a night; 1 night of 400 is ten million items")
    parser.add_argument("--full", action="store_true", help="365 nights of 27,400 rows")
    parser.add_argument("--store", type=Path, help="a store that exists, in place of building one")
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.ask:
        ask(chosen.store, chosen.ask)
        return
    if chosen.store:
        show(chosen.store)
        return
    with tempfile.TemporaryDirectory(prefix="proofsweep-queries-") as folder:
        build(Path(folder), *((365, 3, 9_134) if chosen.full else (chosen.nights, chosen.parts, chosen.rows)))
        show(Path(folder))


if __name__ == "__main__":
    main()
