"""Measure what row digests cost when parts are written, and what an audit of a whole run takes.

Run from the checkout: `python -m benchmarks.auditing [--rows 100000 1000000]`. First parts of 5,000 rows are published
with and without the digests of their rows, by turns. Then a run of each size is made, and audited by a process of its
own. Each row has three exchanges.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.children import run
from benchmarks.settling import RUN, exchanges_rows, plan_of, results_at, verdicts_rows

if TYPE_CHECKING:
    import pyarrow as pa

_PART_ROWS = 5_000
_TURNS = 9
_EXCHANGE_ROWS = 25_000
"""As many as a leg publishes at once."""


def main() -> None:
    """Measure and print; with `--make` or `--audit`, do one thing, to be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--audit", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.make is not None:
        _make(chosen.store, chosen.make)
    elif chosen.audit:
        _audit(chosen.store)
    else:
        _measure_digests(min(_PART_ROWS, *chosen.rows))
        _measure_audits(chosen.rows)


def _measure_digests(rows: int) -> None:
    print(
        "| table | rows | a part without digests, ms | with digests, ms | ratio | µs a row |\n|---|---|---|---|---|---|"
    )
    for name, table in (("verdicts", verdicts_rows(0, rows)), ("exchanges", exchanges_rows(0, rows, "verify"))):
        with tempfile.TemporaryDirectory() as place:
            plain, with_digests = _publishing_seconds(Path(place), name, table)
        figures = f"{1e3 * plain:.1f} | {1e3 * with_digests:.1f} | {with_digests / plain:.2f}"
        print(f"| {name} | {rows:,} | {figures} | {1e6 * (with_digests - plain) / rows:.1f} |", flush=True)


def _publishing_seconds(place: Path, name: str, table: "pa.Table") -> tuple[float, float]:
    """Publish a part without and with digests by turns, on the same machine; give the median CPU times."""
    from proofsweep.store.parts import parquet_of  # noqa: PLC0415 - the parent stays small

    results, seconds = results_at(place), (list[float](), list[float]())
    for turn in range(_TURNS):
        began = time.process_time()
        results.store.create(f"{name}/plain-{turn}", parquet_of(table))
        results.part(f"{name}/plain-{turn}")
        between = time.process_time()
        results.create_part(f"{name}/{turn}", name, table)
        seconds[0].append(between - began)
        seconds[1].append(time.process_time() - between)
    return median(seconds[0]), median(seconds[1])


def _measure_audits(sizes: list[int]) -> None:
    print("\n| rows | parts | audit, CPU s | µs each | peak MB | to the smallest |\n|---|---|---|---|---|---|")
    smallest: float | None = None
    with tempfile.TemporaryDirectory() as place:
        for rows in sizes:
            store = Path(place) / str(rows)
            run(["benchmarks.auditing", "--make", str(rows), "--store", str(store)], {})
            used = run(["benchmarks.auditing", "--audit", "--store", str(store)], {})
            parts = sum(1 for _ in store.glob("*/run_date=*/*.parquet"))
            smallest = smallest or used.peak_mebibytes
            figures = f"{used.cpu_seconds:.1f} | {1e6 * used.cpu_seconds / rows:.0f} | {used.peak_mebibytes:.0f}"
            print(f"| {rows:,} | {parts:,} | {figures} | {used.peak_mebibytes / smallest:.2f} |", flush=True)
            shutil.rmtree(store)


def _audit(store: Path) -> None:
    from proofsweep.audit.store import audit_store  # noqa: PLC0415

    done = audit_store(results_at(store))
    if done.wrong:
        raise SystemExit(f"the audit found {done.wrong[:3]}")


def _make(store: Path, rows: int) -> None:
    from proofsweep.domain.endings import EndedBy  # noqa: PLC0415
    from proofsweep.store import layout  # noqa: PLC0415
    from proofsweep.store.legs import Legs  # noqa: PLC0415
    from proofsweep.verify.commit import LegEnd, settle_leg  # noqa: PLC0415

    results, plan = results_at(store), plan_of(rows)
    results.write_plan(plan)
    legs = Legs(results.store, RUN)
    legs.take(1)
    for number, batch in enumerate(plan.batches):
        table = verdicts_rows(batch.start, batch.stop)
        results.write_items(RUN, number, table.select(["manifest_row", "item_id"]))
        results.create_part(layout.part_name("verdicts", RUN, plan.run_date, number, 1), "verdicts", table)
    calls = ("uploads", "slot", "verify")
    for seq, (first, call) in enumerate((first, call) for first in range(0, rows, _EXCHANGE_ROWS) for call in calls):
        trail = exchanges_rows(first, min(first + _EXCHANGE_ROWS, rows), call)
        results.create_part(layout.part_name("exchanges", RUN, plan.run_date, seq, 1), "exchanges", trail)
    settle_leg(results, plan, LegEnd(leg=1, ended_by=EndedBy.COMPLETE), legs)


if __name__ == "__main__":
    main()
