"""Count what commands ask of a store with passes of monitoring.

`python -m benchmarks.a_year_of_monitoring [--days N]`: 288 passes a day, as `monitor` leaves them, in a bucket in
memory. Requests are counted as in `a_year`; the seconds are our own time.
"""

import argparse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from benchmarks.a_year import URL, Count, counted_store, measure
from proofsweep.alerts.facts import AlertFacts
from proofsweep.alerts.monitor import ProbeBatch
from proofsweep.config.sections import AlertsSettings, ServiceSettings
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.runs import new_run_id
from proofsweep.queries.connection import opened
from proofsweep.queries.search import searching
from proofsweep.store.parts import Results
from proofsweep.store.probes import add_pass, publish_hours
from proofsweep.store.rows import probe_row


def monitor(results: Results, began: datetime) -> None:
    """Write a pass as `monitor` does: two probes, a day of usage; then publish what is over, and look back."""
    pass_id = new_run_id(began, "aaaaaa")
    seen = [
        Exchange(
            call=call,
            attempt=1,
            started_at=began,
            elapsed_ms=20.0,
            headers=AnswerHeaders(),
            status=200,
            request_id=f"{pass_id}-{call}",
            bytes_sent=0,
        )
        for call in (Call.HEALTH, Call.USAGE)
    ]
    found = ProbeBatch(probes=list(map(probe_row, seen)), usage=[{"day": began.date().isoformat(), "used": 288}])
    own = {"operation_id": pass_id, "environment": "production", "base_url": URL}
    add_pass(results, pass_id, began, found.rows(own))
    publish_hours(results, began)
    service = ServiceSettings(base_url=URL, environment="production")
    AlertFacts(results=results, service=service, settings=AlertsSettings(), clock=lambda: began).recent_probes()


def commands(results: Results) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what each command asks of the store."""
    yield "`query`: count the probes", lambda: counted_probes(results)
    yield "`explain` of an unknown request ID", lambda: searched(results)


def searched(results: Results) -> object:
    """Search for a request ID that no call has."""
    with searching(results) as search:
        return search.call("unknown", "")


def counted_probes(results: Results) -> int:
    """Count the rows of the view."""
    with opened(results) as store:
        return int(store.connection.execute("SELECT count(*) FROM probes").fetchall()[0][0])


def main() -> None:
    """Build the store and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--passes", type=int, default=288, help="passes of a day")
    chosen = parser.parse_args()
    days, passes = chosen.days, chosen.passes
    now = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    count = Count()
    with counted_store("bucket", count) as results:
        print("| what | requests | seconds | MB read |\n|---|---|---|---|")
        begins = [now - timedelta(days=days) + number * timedelta(days=1) / passes for number in range(days * passes)]
        for began in begins[:-passes]:
            monitor(results, began)
        measure(f"the {passes} passes of one day", count, lambda: [monitor(results, each) for each in begins[-passes:]])
        for name, command in commands(results):
            measure(name, count, command)
        if counted_probes(results) != 2 * days * passes:
            raise SystemExit("Publishing lost or doubled rows.")


if __name__ == "__main__":
    main()
