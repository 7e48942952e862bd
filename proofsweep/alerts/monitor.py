"""One pass of monitoring (contract, Versioning 7): probe the service, keep what was found, decide on alerts."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proofsweep.alerts.ends import AlertScope
from proofsweep.alerts.facts import recent_probes
from proofsweep.alerts.messages import Alert
from proofsweep.alerts.rules import alerts_of_probes
from proofsweep.client.client import Partner
from proofsweep.config.logs import Event, log
from proofsweep.domain.errors import CallFailed, ResultsError, RunMustStop
from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.limits import USAGE_DAYS
from proofsweep.domain.models import HealthResponse
from proofsweep.operations.operation_log import new_id
from proofsweep.store.probes import add_pass, publish_hours
from proofsweep.store.tables.columns import Row
from proofsweep.store.tables.probes import probe_row, usage_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeBatch:
    probes: Sequence[Row]
    usage: Sequence[Row]

    def rows(self, own: Row) -> list[Row]:
        """Return the rows as they are kept, with what they have in common; the row of `usage` holds what it said."""
        days = [{name: cell for name, cell in row.items() if name != "asked_at"} for row in self.usage]
        said = {"usage": json.dumps(days, ensure_ascii=False)} if days else {}
        return [{**own, **probe, "usage_json": said.get(str(probe["call"]))} for probe in self.probes]


def probe_service(partner: Partner) -> ProbeBatch:
    """Ask /health and /partner/usage once; a failure is a row too. No other thread may use the partner."""
    seen: list[Exchange] = []
    once = partner.in_new_session(seen.append).asking_once()
    health, usage = HealthResponse(), list[Row]()
    with _failure_kept(seen):
        health = once.health()
    with _failure_kept(seen):
        usage = usage_rows(once.usage(days=USAGE_DAYS.start)[0], seen[-1].started_at)
    return ProbeBatch(
        probes=[probe_row(each, health if each.call is Call.HEALTH else None) for each in seen], usage=usage
    )


@contextmanager
def _failure_kept(seen: list[Exchange]) -> Iterator[None]:
    """End quietly if the call fails. JSON that lacks what it must have is a bad answer, whatever the status says."""
    try:
        yield
    except RunMustStop:  # the key was refused, or the quota is used up: the exchange says so
        return
    except CallFailed:
        if seen[-1].is_success:
            seen[-1] = replace(seen[-1], failure=Failure.BAD_ANSWER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitored:
    batch: ProbeBatch
    alerts: Sequence[Alert]  # that hold now, told before or not
    over: Sequence[str]  # the begins of causes that are over


def monitor(scope: AlertScope, probe: Callable[[], ProbeBatch]) -> Monitored:
    """Make one pass: (1) probe, (2) write what was found, (3) decide."""
    began, results = scope.clock(), scope.results
    found = probe()  # (1)
    pass_id = new_id(began)
    own: Row = {"operation_id": pass_id, "environment": scope.environment, "base_url": scope.base_url}
    add_pass(results, pass_id, began, found.rows(own))  # (2)
    try:
        publish_hours(results, began)
    except ResultsError as error:  # the next pass does it
        log(Event.UPDATE_MISSED, what="monitoring", why=error.message)
    probes = recent_probes(results, scope.environment, scope.clock())
    alerts, over = alerts_of_probes(probes, scope.environment, scope.low_quota_percent)  # (3)
    return Monitored(batch=found, alerts=alerts, over=over)
