"""Measure how a leg that was killed is settled, how the next one begins and ends, and how the run is noted and shown.

Run from the checkout: `python -m benchmarks.settling [--rows 20000 200000]`. 10,000,000 rows take 8 GB of disk and most
of an hour. Half of its rows are published, and the others are in the journal alone. Each row has three
exchanges. Each step is a process of its own.
"""

import argparse
import shutil
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.children import run

if TYPE_CHECKING:
    import pyarrow as pa

    from proofsweep.domain.runs import Plan
    from proofsweep.store.parts import Results

RUN = "20261120T120000Z_000settle"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
STEPS = ("settle the killed leg", "begin the next", "end the next", "update the index", "show the run")
_PART_ROWS = 25_000
_SEGMENT_ROWS = 5_000


def main() -> None:
    """Measure and print; with `--make` or `--step`, do one thing, to be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.make is not None:
        _make(chosen.store, chosen.make)
    elif chosen.step is not None:
        _take(chosen.step, chosen.store)
    else:
        _measure(chosen.rows)


def _measure(sizes: list[int]) -> None:
    print("| rows | step | seconds | µs each | peak MB | to the shortest |\n|---|---|---|---|---|---|")
    shortest: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        for rows in sizes:
            store = Path(place) / str(rows)
            run(["benchmarks.settling", "--make", str(rows), "--store", str(store)], {})
            for step in STEPS:
                began = time.monotonic()
                used = run(["benchmarks.settling", "--step", step, "--store", str(store)], {})
                seconds = time.monotonic() - began
                first = shortest.setdefault(step, used.peak_mebibytes)
                figures = f"{seconds:.1f} | {1e6 * seconds / rows:.0f} | {used.peak_mebibytes:.0f}"
                print(f"| {rows:,} | {step} | {figures} | {used.peak_mebibytes / first:.2f} |", flush=True)
            shutil.rmtree(store)


def _take(step: str, store: Path) -> None:
    from proofsweep.domain.endings import EndedBy  # noqa: PLC0415 - the measuring process stays small
    from proofsweep.queries.status import describe_run  # noqa: PLC0415
    from proofsweep.store.completed_rows import CompletedRows  # noqa: PLC0415
    from proofsweep.store.legs import Legs  # noqa: PLC0415
    from proofsweep.verify.attempt import open_leg, settle_last_legs  # noqa: PLC0415
    from proofsweep.verify.commit import LegEnd, settle_leg  # noqa: PLC0415
    from proofsweep.verify.history import note_leg  # noqa: PLC0415

    results = results_at(store)
    plan = results.plan(RUN)
    match step:
        case "settle the killed leg":
            settle_last_legs(results, plan, lambda: NOON)
        case "begin the next":
            open_leg(results, plan, lambda: NOON, {})
            _expect(not CompletedRows.load(results, plan).remaining)
        case "end the next":
            settle_leg(results, plan, LegEnd(leg=2, ended_by=EndedBy.COMPLETE), Legs(results.store, RUN))
        case "update the index":
            note_leg(results, plan)
        case _:
            _expect(describe_run(results, RUN).finished == plan.items)


def _expect(holds: object) -> None:
    if not holds:
        raise SystemExit("the rows of the run are not all published")


def _make(store: Path, rows: int) -> None:
    from proofsweep.store import layout  # noqa: PLC0415

    results, plan = results_at(store), plan_of(rows)
    results.write_plan(plan)
    results.store.create(layout.lease_name(RUN, 1), b"{}")
    published = rows // 2 // _SEGMENT_ROWS * _SEGMENT_ROWS
    for seq, first in enumerate(range(0, published, _PART_ROWS)):
        part = verdicts_rows(first, min(first + _PART_ROWS, published))
        results.create_part(layout.part_name("verdicts", RUN, plan.run_date, seq, 1), "verdicts", part)
    for segment, first in enumerate(range(published, rows, _SEGMENT_ROWS), 1):
        _write_segments(results, plan, segment, first)


def plan_of(rows: int) -> "Plan":
    """Plan a run of so many rows."""
    from proofsweep.domain.runs import Plan  # noqa: PLC0415

    return Plan(
        run_id=RUN,
        created_at=NOON.isoformat(),
        environment="null",
        base_url="http://127.0.0.1/v1",
        catalog="null",
        catalog_kind="manifest",
        catalog_digest="0",
        items=rows,
        eligible=rows,
        pairs=0,
        audio_bytes=0,
    )


def _write_segments(results: "Results", plan: "Plan", segment: int, first: int) -> None:
    from proofsweep.store import layout  # noqa: PLC0415
    from proofsweep.store.journal import arrow_of  # noqa: PLC0415

    folder, last = layout.journal_folder(RUN, 1), min(first + _SEGMENT_ROWS, plan.items)
    results.store.create(f"{folder}/verdicts-w-{segment:06}.arrow", arrow_of(verdicts_rows(first, last)))
    for number, call in enumerate(("uploads", "slot", "verify")):
        trail = exchanges_rows(first, last, call)
        results.store.create(f"{folder}/exchanges-w-{3 * segment + number:06}.arrow", arrow_of(trail))


def verdicts_rows(first: int, last: int) -> "pa.Table":
    """Make rows as wide as usual ones: a path, digests and request IDs that differ in each row."""
    numbers = range(first, last)
    columns: dict[str, list[object]] = {
        "manifest_row": list(numbers),
        "item_id": [f"item-{number:012}" for number in numbers],
        "audio": [f"/srv/catalog/label-{number % 97}/release-{number // 12}/{number:012}.wav" for number in numbers],
        "audio_sha256": [f"{number * 2_654_435_761:064x}" for number in numbers],
        "answer_sha256": [f"{number * 40_503:064x}" for number in numbers],
        "verify_request_id": [f"req-verify-{number:032x}" for number in numbers],
        "tags": [f'{{"isrc":"QZNUL{number:07}"}}' for number in numbers],
    }
    alike = {"run_id": RUN, "leg": 1, "environment": "null", "outcome": "accepted", "accepted": True}
    alike |= {"action": "accept", "verdict": "valid", "verify_attempts": 1, "calls": 2}
    return _table("verdicts", columns, alike, last - first)


def exchanges_rows(first: int, last: int, call: str) -> "pa.Table":
    """Make the exchanges of one call for these rows."""
    numbers = range(first, last)
    columns: dict[str, list[object]] = {
        "manifest_row": list(numbers),
        "started_at": [NOON + timedelta(milliseconds=number) for number in numbers],
        "request_id": [f"req-{call}-{number:032x}" for number in numbers],
    }
    alike = {"run_id": RUN, "leg": 1, "call": call, "attempt": 1, "elapsed_ms": 9.5, "status": 200, "bytes_sent": 4096}
    return _table("exchanges", columns, alike, last - first)


def _table(name: str, columns: dict[str, list[object]], alike: dict[str, object], rows: int) -> "pa.Table":
    import pyarrow as pa  # noqa: PLC0415

    from proofsweep.store.parts import SCHEMAS  # noqa: PLC0415

    schema = SCHEMAS[name]
    cells = {field.name: columns.get(field.name, [alike.get(field.name)] * rows) for field in schema}
    return pa.Table.from_pydict(cells, schema=schema)


def results_at(store: Path) -> "Results":
    """Open a results store in a folder."""
    from proofsweep.store.objects import open_store  # noqa: PLC0415
    from proofsweep.store.parts import Results  # noqa: PLC0415

    return Results(open_store(str(store)))


if __name__ == "__main__":
    main()
