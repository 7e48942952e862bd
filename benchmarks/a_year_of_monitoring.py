"""Count what commands ask of a store with rounds of monitoring, before and after they are merged.

`python -m benchmarks.a_year_of_monitoring [--days N]`: 288 rounds a day, as `monitor` leaves them, in a bucket in
memory. Requests are counted as in `a_year`; the seconds are our own time.
"""

import argparse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from benchmarks.a_year import URL, Count, counted_store, measure
from proofsweep.contract.headers import AnswerHeaders
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.operations import Operation, OperationKind
from proofsweep.domain.runs import EndedBy, new_run_id
from proofsweep.domain.tables.probes import probe_row
from proofsweep.query.connection import opened
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.audit.audit_store import audit_store
from proofsweep.usecases.explain.find_call import find_call
from proofsweep.usecases.operations.operation_log import OperationLog
from proofsweep.usecases.upkeep.merge_rounds import RoundMerger


def leave_round(results: Results, began: datetime) -> None:
    """Write a round as `monitor` does: two probes, a row of usage, a receipt."""
    operation = Operation(
        operation_id=new_run_id(began, "aaaaaa"),
        kind=OperationKind.MONITORING,
        environment="production",
        base_url=URL,
        started_at=began,
    )
    log = OperationLog(operation, Operations(results), lambda: began, keeps_exchanges=False)
    for call in (Call.HEALTH, Call.USAGE):
        request_id = f"{operation.operation_id}-{call}"
        seen = Exchange(
            call=call,
            attempt=1,
            started_at=began,
            elapsed_ms=20.0,
            headers=AnswerHeaders(),
            status=200,
            request_id=request_id,
            bytes_sent=0,
        )
        log.note(seen)
        log.add("probes", [probe_row(seen)])
    log.add("usage", [{"asked_at": began, "day": began.date().isoformat(), "used": 288}])
    log.end(EndedBy.COMPLETE, {"key_fingerprint": "0123456789ab"})


def commands(results: Results) -> Iterator[tuple[str, Callable[[], object]]]:
    """Give what each command asks of the store."""
    yield "`query`: count the probes", lambda: counted_probes(results)
    yield "`explain` of an unknown request ID", lambda: find_call(Operations(results), "unknown")
    yield "`audit`", lambda: audit_store(results)


def counted_probes(results: Results) -> int:
    """Count the rows of the view."""
    with opened(results, with_tags=False) as store:
        return int(store.connection.execute("SELECT count(*) FROM probes").fetchall()[0][0])


def main() -> None:
    """Build the store and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=288, help="rounds of a day")
    chosen = parser.parse_args()
    days, rounds = chosen.days, chosen.rounds
    now = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    count = Count()
    with counted_store("bucket", count) as results:
        for number in range(days * rounds):
            leave_round(results, now - timedelta(days=days) + number * timedelta(days=1) / rounds)
        print("| what | requests | seconds | MB read |\n|---|---|---|---|")
        expected = counted_probes(results)
        for name, command in commands(results):
            measure(f"{name}, before", count, command)
        merger = RoundMerger(results, lambda: now)
        measure("a round that finds nothing to merge", count, lambda: merger.merge(now.date() - timedelta(days=9_999)))
        measure("the merge of one day", count, lambda: merger.merge(merger.newest_day))
        measure("the merge of all others", count, merger.merge_all)
        for name, command in commands(results):
            measure(f"{name}, after", count, command)
        if (counted_probes(results), audit_store(results).wrong) != (expected, []):
            raise SystemExit("The merge lost, doubled or changed rows.")


if __name__ == "__main__":
    main()
