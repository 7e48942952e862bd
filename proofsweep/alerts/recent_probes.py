"""Read the last probes of a service from the results store."""

from dataclasses import fields
from datetime import datetime, timedelta

from proofsweep.alerts.monitoring_alerts import ProbeFacts
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.probes import read_probes

# Passes that are looked at, and their greatest age. Chosen: five hours of passes each five minutes, which a slowdown is
# compared with.
_MOST_PASSES = 60
_GREATEST_AGE = timedelta(hours=12)

_FACTS = [field.name for field in fields(ProbeFacts)]


def recent_probes(results: Results, environment: str, now: datetime) -> list[ProbeFacts]:
    """Return the last probes of an environment, the oldest first; ResultsError if the store cannot be read."""
    oldest = now - _GREATEST_AGE
    days = sorted({oldest.date(), now.date()})
    rows = read_probes(results, ["environment", "operation_id", *_FACTS], days).sort_by("operation_id").to_pylist()
    mine = [row for row in rows if row.pop("environment") == environment and row["started_at"] >= oldest]
    last = set(sorted({row["operation_id"] for row in mine})[-_MOST_PASSES:])
    facts = [ProbeFacts(**row) for row in mine if row.pop("operation_id") in last]
    return sorted(facts, key=lambda probe: probe.started_at)
