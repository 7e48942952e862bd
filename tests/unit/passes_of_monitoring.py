"""Passes of monitoring as they are left behind in a results store."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from proofsweep.alerts.monitor import ProbeBatch
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.store.operations import add_pass
from proofsweep.store.parts import Results
from proofsweep.store.rows import probe_row

from .ended_operations import call_of, operation_named


def leave_passes(results: Results, first: datetime, passes: int, environment: str = "beta") -> list[str]:
    """Leave passes behind, five minutes apart, as `monitor` writes them; give their IDs."""
    begins = (first + number * timedelta(minutes=5) for number in range(passes))
    return [leave_pass(results, f"{began:%Y%m%dT%H%M%SZ}_000aa", environment) for began in begins]


def leave_pass(
    results: Results,
    pass_id: str,
    environment: str = "beta",
    probes: Sequence[Exchange] | None = None,
    rest: Callable[[float], object] = lambda _: None,
) -> str:
    """Leave a pass behind, with these probes or one of each kind; give its ID."""
    named = operation_named(pass_id, "monitoring", environment)
    calls = [call_of(named, f"{pass_id}-{call}", call) for call in (Call.HEALTH, Call.USAGE)]
    said = [{"asked_at": named.started_at, "day": named.run_date.isoformat(), "used": 3, "quota_limit": 1000.0}]
    found = ProbeBatch(probes=[probe_row(call) for call in (calls if probes is None else probes)], usage=said)
    own = {"operation_id": pass_id, "environment": environment, "base_url": named.base_url}
    add_pass(results, environment, named.started_at, found.rows(own), rest)
    return pass_id
