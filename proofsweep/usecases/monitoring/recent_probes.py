"""Read the last probes of a service from the results store."""

from dataclasses import fields
from datetime import datetime, timedelta
from functools import partial

from proofsweep.domain import layout
from proofsweep.domain.alerts.of_monitoring import ProbeFacts
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.explain.find_item import in_parallel, part_of

# Rounds that are read, and their greatest age. Chosen: five hours of rounds each five minutes, which a slowdown is
# compared with; half hardly knows what is usual, twice makes each round read more small parts.
_MOST_ROUNDS = 60
_GREATEST_AGE = timedelta(hours=12)

_FACTS = [field.name for field in fields(ProbeFacts)]


def recent_probes(results: Results, environment: str, now: datetime) -> list[ProbeFacts]:
    """Give the last probes of an environment, the oldest first.

    Raises:
        ResultsError: the store cannot be read.
    """
    oldest = now - _GREATEST_AGE
    days = sorted({oldest.date(), now.date()})
    names = [name for day in days for name in results.store.names(layout.table_folder("probes", day))]
    tables = in_parallel(names[-_MOST_ROUNDS:], partial(part_of, results, ["environment", *_FACTS]))
    rows = [row for table in tables for row in table.to_pylist()]
    mine = [row for row in rows if row.pop("environment") == environment and row["started_at"] >= oldest]
    return sorted((ProbeFacts(**row) for row in mine), key=lambda probe: probe.started_at)
