"""Time `proofsweep overview` on a bucket of a busy year: `python -m benchmarks.overview [--catalogs 20 --nights 400]`.

Each of the catalogs has so many nights: the first and the last verified all of its files, each other one a twentieth.
The store is in OpenStack Swift on this machine, filled as runs leave it, with its index and its snapshot. Each figure
is the median of a process of its own, its start included; that of CPU holds if others work on this machine. The first
overview after a leg has ended works out the coverage, later ones read it. The ratio is to `proofsweep runs` on the same
store.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.a_year import plan_at
from benchmarks.queries import QuickFolder
from benchmarks.site import leave_night
from proofsweep.audit.compact import compact
from proofsweep.model import layout
from proofsweep.model.run_records import LegRecord, RunRecord
from proofsweep.model.runs import Plan
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.snapshot import Snapshot
from proofsweep.verify.leg.note_leg import note_leg, note_run
from tests.servers import buckets
from tests.servers.buckets import Bucket, swift

_URL = "https://partner.example/v1"
_PUTS_AT_ONCE = 16
_PAGE_KEYS = 1_000  # as S3 has them; the tests have shorter pages


def night_of(catalog: int, at: datetime, rows: int) -> Plan:
    """Plan a night of a catalog; each begins at a minute of its own."""
    plan = plan_at(at + timedelta(minutes=catalog), 1, rows, 0)
    return replace(plan, catalog=f"s3://masters/label-{catalog:02}", base_url=_URL)


def build(results: Results, catalogs: int, nights: int, files: int) -> None:
    """Fill a store: the first and the last night whole, those between as the index and the snapshot know them."""
    lots, first = np.random.default_rng(1), datetime.now(UTC) - timedelta(days=nights, hours=3)
    for catalog in range(catalogs):
        leave_night(results, night_of(catalog, first, files), catalog * files, lots)
    compact(results)
    between = [
        night_of(catalog, first + timedelta(days=night), max(1, files // 20))
        for night in range(1, nights - 1)
        for catalog in range(catalogs)
    ]
    for plan in between:
        results.write_plan(plan)
    RunIndex(results).add(map(_record, between))
    Snapshot(results.store).add(iter(()), {plan.run_id: [1] for plan in between})
    for catalog in range(catalogs):
        last = night_of(catalog, first + timedelta(days=nights - 1), files)
        leave_night(results, last, catalog * files, lots)
        note_run(results, last)
        note_leg(results, last)


def _record(plan: Plan) -> RunRecord:
    ended = datetime.fromisoformat(plan.created_at) + timedelta(hours=1)
    counts: dict[str, object] = {"remaining": 0, "accepted": plan.items, "calls": 2 * plan.items, "quota_after": 90_000}
    counts |= {"run_id": plan.run_id, "leg": 1, "key_fingerprint": "abcdef012345", "rate_learned": 12.0}
    counts |= {"started_at": plan.created_at, "finished_at": ended.isoformat()}
    return RunRecord(plan=plan, legs=[LegRecord(leg=1, receipt={"ended_by": "complete", "counts": counts}, groups=[])])


def upload(folder: Path, bucket: Bucket) -> int:
    """Put a store's files into a bucket."""
    names = [path for path in folder.rglob("*") if path.is_file()]
    with ThreadPoolExecutor(_PUTS_AT_ONCE) as pool:
        list(pool.map(lambda path: bucket.put(path.relative_to(folder).as_posix(), path.read_bytes()), names))
    return len(names)


def timed(bucket: Bucket, config: Path, *command: str) -> tuple[float, float]:
    """Run a command on the bucket in a process of its own; give its seconds, and those of its CPU."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PROOFSWEEP_", "PREFECT_"))}
    began, used = time.perf_counter(), _cpu_of_children()
    subprocess.run(
        [sys.executable, "-m", "proofsweep_cli", *command, "--json", "--config", str(config), "--results", bucket.url],
        env=kept | dict(bucket.environment) | {"PREFECT_HOME": str(config.parent / "prefect")},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began, _cpu_of_children() - used


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Fill a bucket, and time the commands."""
    buckets.PAGE_KEYS = _PAGE_KEYS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalogs", type=int, default=20)
    parser.add_argument("--nights", type=int, default=400)
    parser.add_argument("--files", type=int, default=2_000, help="of a catalog")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, swift(Path(scratch)) as server:
        store, bucket, config = Path(scratch, "store"), server.new_bucket(), Path(scratch, "config.toml")
        store.mkdir()
        config.write_text(f'[service]\nbase_url = "{_URL}"\nenvironment = "production"\n')
        build(Results(QuickFolder(store)), chosen.catalogs, chosen.nights, chosen.files)
        objects = upload(store, bucket)
        kept = layout.coverage_name("production")
        first, later, runs = [], [], []
        for _ in range(chosen.rounds):
            if kept in bucket.keys(layout.INDEX_FOLDER):
                server.client.delete_object(Bucket=bucket.url.removeprefix("s3://"), Key=kept)
            first.append(timed(bucket, config, "overview"))
            later.append(timed(bucket, config, "overview"))
            runs.append(timed(bucket, config, "runs"))
    print(f"{chosen.catalogs} catalogs of {chosen.files:,} files, {chosen.nights} nights, {objects:,} objects")
    print("| what | seconds | of CPU | times the CPU of `runs` |\n|---|---|---|---|")
    base = statistics.median(cpu for _, cpu in runs)
    for name, found in (("overview after a leg", first), ("overview", later), ("runs", runs)):
        seconds, cpu = (statistics.median(each) for each in zip(*found, strict=True))
        print(f"| {name} | {seconds:.2f} | {cpu:.2f} | {cpu / base:.1f} |")


if __name__ == "__main__":
    main()
