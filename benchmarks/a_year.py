"""Count what commands ask of a bucket that is a year old: `python -m benchmarks.a_year [--full]`.

A year is 365 nights of 100 parts, and 3,400 hourly ingests of one part; the default is a tenth of it. The base of
latest answers is made, some more runs keep it, and then the commands are measured: requests (a listing counts once for
each thousand names), seconds and bytes read. The bucket is in memory, so the seconds are our own.
"""

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import obstore
from obstore.store import MemoryStore

from benchmarks.built_store import URL, leave_run, plan_at
from proofsweep.domain.runs import Plan
from proofsweep.queries.status import describe_run, newest_run
from proofsweep.queries.store_status import store_status
from proofsweep.store import bucket_store
from proofsweep.store.bucket_store import BucketStore
from proofsweep.store.latest import refresh
from proofsweep.store.legs import refuse_if_active
from proofsweep.store.objects import probe
from proofsweep.store.parts import Results
from proofsweep.verify.attempt import open_leg
from proofsweep.verify.history import learned_rate, newest_measurement, record_leg
from proofsweep.verify.resume import unfinished_runs
from proofsweep.verify.service import bind_key

PAGE = 1_000
"""Names in one answer of an S3 listing."""


@dataclass(slots=True)
class CountingBucket:
    """Stands in the place of obstore's functions, and counts what is asked of a bucket."""

    requests: int = 0
    read_bytes: int = 0

    def __getattr__(self, name: str) -> object:
        function = getattr(obstore, name)

        def counted(*arguments: object, **named: object) -> object:
            self.requests += 1
            return function(*arguments, **named)

        return counted

    def get(self, store: MemoryStore, key: str) -> object:
        self.requests += 1
        found = obstore.get(store, key)
        self.read_bytes += found.meta["size"]
        return found

    def list(self, store: MemoryStore, prefix: str, *, offset: str) -> "list[list[obstore.ObjectMeta]]":
        found = [meta for page in obstore.list(store, prefix, offset=offset) for meta in page]
        self._listed(len(found))
        return [found]

    def list_with_delimiter(self, store: MemoryStore, prefix: str) -> object:
        found = obstore.list_with_delimiter(store, prefix)
        self._listed(len(found["objects"]) + len(found["common_prefixes"]))
        return found

    def _listed(self, names: int) -> None:
        self.requests += max(1, math.ceil(names / PAGE))

    def measure(self, name: str, command: Callable[[], object]) -> None:
        """Run a command once and print a row."""
        requests, read_bytes, began = self.requests, self.read_bytes, time.perf_counter()
        command()
        seconds, megabytes = time.perf_counter() - began, (self.read_bytes - read_bytes) / 1e6
        print(f"| {name} | {self.requests - requests:,} | {seconds:.2f} | {megabytes:.2f} |", flush=True)


def is_night(plan: Plan) -> bool:
    return "/catalog-" in plan.catalog


def commands(night: str) -> dict[str, Callable[[Results], object]]:
    """Return what each command asks of a store; `verify` until its first leg begins, without its own items."""
    return {
        "status of all catalogs": lambda results: store_status(results, datetime.now(UTC)),
        "status": lambda results: describe_run(results, str(newest_run(results, "production"))),
        "status of the last night": lambda results: describe_run(results, night),
        "resume, nothing open": lambda results: next(unfinished_runs(results), None),
        "verify, its start": start_verify,
    }


def start_verify(results: Results) -> None:
    """Do what `verify` does with the store before its first call of a row."""
    now = datetime.now(UTC)
    plan = plan_at(now, 1, catalog="s3://masters/incoming/0")
    plan = replace(plan, read_after=refuse_if_active(results, plan.environment, plan.identity))
    bind_key(results.store, "abc", URL)
    probe(results.store)
    results.write_plan(plan)
    newest_measurement(results, plan.environment)
    describe_run(results, plan.run_id)
    learned_rate(results, URL, "abc", now)
    open_leg(results, results.plan(plan.run_id), lambda: datetime.now(UTC), {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=36)
    parser.add_argument("--catalogs", type=int, default=1, help="catalogs of each night")
    parser.add_argument("--parts", type=int, default=100, help="parts of a night")
    parser.add_argument("--rows", type=int, default=10, help="rows of a part")
    parser.add_argument("--ingests", type=int, default=340)
    parser.add_argument("--full", action="store_true", help="365 nights and 3,400 ingests")
    chosen = parser.parse_args()
    nights, ingests = (365, 3_400) if chosen.full else (chosen.nights, chosen.ingests)
    first = datetime.now(UTC).replace(hour=2, minute=0, second=0, microsecond=0) - timedelta(days=nights)
    at_night, rows = chosen.rows * chosen.parts, chosen.rows

    def night(began: datetime, catalog: int = 0) -> Plan:
        return plan_at(began, at_night, catalog=f"s3://masters/catalog-{catalog:02}", batch_items=rows)

    def ingest(began: datetime, number: int) -> Plan:
        return plan_at(began, rows, catalog=f"s3://masters/incoming/{number}", batch_items=rows)

    times = [first + timedelta(days=day) for day in range(nights)]
    plans = [night(each + timedelta(minutes=catalog), catalog) for each in times for catalog in range(chosen.catalogs)]
    hours = [2.5 + number * 24 * nights / max(1, ingests) for number in range(ingests)]
    plans += [ingest(first + timedelta(hours=each), number) for number, each in enumerate(hours)]
    bucket, store = CountingBucket(), MemoryStore()
    bucket_store.obstore = bucket  # type: ignore[attr-defined, assignment]  # it stands in for the module
    results = Results(BucketStore("s3://results", lambda _root: store))
    print(f"{nights} nights of {chosen.catalogs} catalogs of {chosen.parts} parts, {ingests} ingests")
    print("| what | requests | seconds | MB read |\n|---|---|---|---|")
    for plan in sorted(plans, key=lambda plan: plan.run_id):
        leave_run(results, plan, [True] * plan.items, rows=rows)
    bucket.measure("the log and a base, the first time", lambda: refresh(Results(results.store)))
    later = [ingest(times[-1] + timedelta(minutes=40 + each), ingests + each) for each in range(5)]
    for plan in [*later, night(times[-1] + timedelta(minutes=50))]:
        leave_run(results, plan, [True] * plan.items, rows=rows)
        name = "the entries of a night" if is_night(plan) else "the entries of an ingest"
        bucket.measure(name, partial(record_leg, Results(results.store), plan))
    last = next(run.plan.run_id for run in results.log.runs().newest_first() if is_night(run.plan))
    for name, command in commands(last).items():
        bucket.measure(name, partial(command, Results(results.store)))  # each is a process of its own


if __name__ == "__main__":
    main()
