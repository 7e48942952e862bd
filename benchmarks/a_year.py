"""Count what commands ask of a results store that is a year old: `python -m benchmarks.a_year [--full]`.

A year is 365 nightly runs of 100 parts and 3,400 hourly ingests of one part. The default is a tenth of it. The store
is built without index and base, and both are made. Then some legs end that keep the index. Then the
commands are measured: requests (a listing counts once for each thousand names), seconds and bytes read. The bucket
is in memory, so the seconds are our own.
"""

import argparse
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import obstore
import pyarrow as pa
from obstore.store import MemoryStore

from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.runs import Plan, new_run_id
from proofsweep.queries.status import describe_run, newest_run, newest_runs, unfinished_runs
from proofsweep.queries.store_status import store_status
from proofsweep.store import bucket_store, layout
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.keys import bind_key
from proofsweep.store.latest import refresh
from proofsweep.store.ledger import EntryKind, Ledger
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore, probe
from proofsweep.store.parts import Results
from proofsweep.store.rows import planned_row
from proofsweep.store.runs import RunIndex
from proofsweep.store.schemas import ITEMS
from proofsweep.verify.attempt import open_leg
from proofsweep.verify.history import last_rate, measured_legs, note_leg

URL = "https://partner.example/v1"
PAGE = 1_000
"""Names in one answer of an S3 listing."""


@dataclass(slots=True)
class Count:
    """What was asked of a store."""

    requests: int = 0
    read_bytes: int = 0

    def listed(self, names: int) -> None:
        """Count a listing by its pages."""
        self.requests += max(1, math.ceil(names / PAGE))


class CountingBucket:
    """Stands in the place of obstore's functions, and counts them."""

    def __init__(self, count: Count) -> None:
        self._count = count

    def __getattr__(self, name: str) -> object:
        """Count a call of any other function as one request."""
        function = getattr(obstore, name)

        def counted(*arguments: object, **named: object) -> object:
            self._count.requests += 1
            return function(*arguments, **named)

        return counted

    def get(self, store: MemoryStore, key: str) -> object:
        """Count the bytes, too."""
        self._count.requests += 1
        found = obstore.get(store, key)
        self._count.read_bytes += found.meta["size"]
        return found

    def list(self, store: MemoryStore, prefix: str, *, offset: str) -> list[list[dict[str, object]]]:
        """Count the pages."""
        found = [meta for page in obstore.list(store, prefix, offset=offset) for meta in page]
        self._count.listed(len(found))
        return [found]

    def list_with_delimiter(self, store: MemoryStore, prefix: str) -> object:
        """Count the pages."""
        found = obstore.list_with_delimiter(store, prefix)
        self._count.listed(len(found["objects"]) + len(found["common_prefixes"]))
        return found


class CountingFolder(FolderStore):
    """A folder that counts what it is asked."""

    def __init__(self, root: Path, count: Count) -> None:
        super().__init__(root)
        self._count = count

    def create(self, name: str, content: bytes) -> None:
        """Count."""
        self._count.requests += 1
        super().create(name, content)

    def read(self, name: str) -> bytes | None:
        """Count."""
        self._count.requests += 1
        found = super().read(name)
        self._count.read_bytes += len(found or b"")
        return found

    def names(self, folder: str) -> list[str]:
        """Count."""
        self._count.requests += 1
        return super().names(folder)

    def folders(self, folder: str, after: str = "") -> list[str]:
        """Count."""
        self._count.requests += 1
        return super().folders(folder, after)


def plan_at(began: datetime, parts: int, rows: int, number: int) -> Plan:
    """Plan a run of so many parts."""
    catalog = "s3://masters/catalog" if parts > 1 else f"s3://masters/incoming/{number}"
    return Plan(
        run_id=new_run_id(began, "aaaaaa"),
        created_at=began.isoformat(),
        environment="production",
        base_url=URL,
        catalog=catalog,
        catalog_kind="folder",
        catalog_digest="00",
        items=parts * rows,
        eligible=parts * rows,
        pairs=0,
        audio_bytes=0,
        batch_items=rows,
    )


def leave_run(results: Results, plan: Plan) -> None:
    """Leave a run behind as its leg would: planned items, plan, lease, heartbeat, parts, receipt, row of `runs`."""
    began = datetime.fromisoformat(plan.created_at)
    for number, batch in enumerate(plan.batches):
        names = ((row, f"{plan.catalog}/{row:08}.wav") for row in batch)
        items = [planned_row(WorkItem(manifest_row=row, item_id=name, audio=name)) for row, name in names]
        results.write_items(plan.run_id, number, pa.Table.from_pylist(items, schema=ITEMS))
        rows = [row_of(plan, row, began) for row in batch]
        results.create_part(layout.part_name("verdicts", plan.run_id, plan.run_date, number, 1), "verdicts", rows)
    results.write_plan(plan)
    legs = Legs(results.store, plan.run_id)
    legs.take(1)
    legs.beat(1)
    ended = began + timedelta(minutes=30)
    counts: Row = {"run_id": plan.run_id, "leg": 1, "environment": plan.environment, "ended_by": "complete"}
    counts |= {"accepted": plan.items, "rejected": 0, "failed": 0, "ineligible": 0, "remaining": 0, "items": plan.items}
    counts |= {"calls": 2 * plan.items, "bytes_sent": plan.items, "throttled": 0, "rate_learned": 5.0}
    counts |= {"base_url_host": "partner.example", "key_fingerprint": "abc", "started_at": began, "finished_at": ended}
    links = {"after_entry": Ledger(results.store).newest()}
    groups = [{"outcome": "accepted", "verdict": "valid", "reason": None, "rows": plan.items, "example": plan.catalog}]
    said = {"ended_by": "complete", "counts": counts, "cpu_seconds": 1.0, "duplicates": 0, "groups": groups}
    legs.write_receipt(1, said | links)
    Ledger(results.store).append(EntryKind.LEG, layout.receipt_name(plan.run_id, 1))
    results.create_part(layout.runs_name(plan.run_id, plan.run_date, 1), "runs", [counts])


def note(results: Results, plan: Plan) -> None:
    """Keep the index, as a run does when its leg ends."""
    note_leg(results, plan)


def row_of(plan: Plan, row: int, began: datetime) -> Row:
    """Make a finished row; a night has the same items as the night before."""
    audio = f"{plan.catalog}/{row:08}.wav"
    facts: Row = {"run_id": plan.run_id, "leg": 1, "environment": plan.environment, "manifest_row": row}
    facts |= {"item_id": audio, "audio": audio, "outcome": "accepted", "accepted": True, "action": "accept"}
    return facts | {"verdict": "valid", "verify_attempts": 1, "calls": 2, "finished_at": began}


def commands(results: Results) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what each command asks of the store; `verify` until its first leg begins, without its own items."""
    yield "runs", lambda: newest_runs(results, 20)
    yield "status of all catalogs", lambda: store_status(results, datetime.now(UTC))
    yield "status", lambda: describe_run(results, str(newest_run(results)))
    night = next(run.plan.run_id for run in RunIndex(results).refreshed().newest_first() if len(run.plan.batches) > 1)
    yield "status of the last night", lambda: describe_run(results, night)
    yield "resume, nothing open", lambda: next(unfinished_runs(results), None)
    yield "verify, its start", lambda: start_verify(results)


def start_verify(results: Results) -> None:
    """Do what `verify` does with the store before its first call of a row."""
    now = datetime.now(UTC)
    plan = plan_at(now, 1, 1, 0)
    bind_key(results.store, "abc", URL)
    probe(results.store)
    results.write_plan(plan)
    measured_legs(results, plan.environment)
    describe_run(results, plan.run_id)
    last_rate(results, URL, "abc", now - timedelta(days=7))
    open_leg(results, results.plan(plan.run_id), lambda: datetime.now(UTC), {})


@contextmanager
def counted_store(kind: str, count: Count) -> Iterator[Results]:
    """Open an empty store that counts."""
    if kind == "folder":
        folder = tempfile.mkdtemp(prefix="proofsweep-year-")
        try:
            yield Results(CountingFolder(Path(folder), count))
        finally:
            shutil.rmtree(folder)
        return
    bucket, real = MemoryStore(), bucket_store.obstore
    bucket_store.obstore = CountingBucket(count)  # type: ignore[assignment]  # it stands in for the module
    try:
        yield Results(BucketStore("s3://results", lambda _root: bucket))
    finally:
        bucket_store.obstore = real


def measure(name: str, count: Count, command: Callable[[], object]) -> None:
    """Run a command once and print a row."""
    before, read, began = count.requests, count.read_bytes, time.perf_counter()
    command()
    seconds = time.perf_counter() - began
    print(
        f"| {name} | {count.requests - before:,} | {seconds:.2f} | {(count.read_bytes - read) / 1e6:.2f} |", flush=True
    )


def main() -> None:
    """Build the store and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=36)
    parser.add_argument("--catalogs", type=int, default=1, help="catalogs of each night")
    parser.add_argument("--parts", type=int, default=100, help="parts of a night")
    parser.add_argument("--rows", type=int, default=10, help="rows of a part")
    parser.add_argument("--ingests", type=int, default=340)
    parser.add_argument(
        "--bare", action="store_true", help="leave out old parts, which only a new base reads: much faster"
    )
    parser.add_argument("--full", action="store_true", help="365 nights and 3,400 ingests")
    parser.add_argument("--stores", nargs="*", default=["folder", "bucket"])
    chosen = parser.parse_args()
    nights, ingests = (365, 3_400) if chosen.full else (chosen.nights, chosen.ingests)
    first = datetime.now(UTC).replace(hour=2, minute=0, second=0, microsecond=0) - timedelta(days=nights)
    runs = [
        (first + timedelta(days=day, minutes=catalog), chosen.parts, f"s3://masters/catalog-{catalog:02}")
        for day in range(nights)
        for catalog in range(chosen.catalogs)
    ]
    runs += [
        (first + timedelta(hours=2.5 + each * 24 * nights / max(1, ingests)), 1, f"s3://masters/incoming/{each}")
        for each in range(ingests)
    ]
    for kind in chosen.stores:
        count = Count()
        with counted_store(kind, count) as results:
            print(f"\n{kind}: {nights} nights of {chosen.catalogs} catalogs of {chosen.parts} parts, {ingests} ingests")
            print("| what | requests | seconds | MB read |\n|---|---|---|---|")
            plans = [
                replace(plan_at(began, parts, chosen.rows, number), catalog=catalog)
                for number, (began, parts, catalog) in enumerate(sorted(runs))
            ]
            for plan in plans:
                leave_run(results, replace(plan, items=0) if chosen.bare else plan)
            measure("the index and a base, the first time", count, lambda results=results: refresh(results))
            for each in range(5):
                plan = plan_at(max(runs)[0] + timedelta(minutes=40 + each), 1, chosen.rows, len(plans) + each)
                leave_run(results, plan)
                measure("the entries of an ingest", count, lambda results=results, plan=plan: note(results, plan))
            night = plan_at(max(runs)[0] + timedelta(minutes=50), chosen.parts, chosen.rows, len(plans))
            leave_run(results, night)
            measure("the entries of a night", count, lambda results=results, night=night: note(results, night))
            for name, command in commands(results):
                measure(name, count, command)


if __name__ == "__main__":
    main()
