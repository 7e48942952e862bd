"""What is told of an end, and from what it is gathered."""

import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from proofsweep.alerts.events import ALERTED_STATES, state_of_ending
from proofsweep.alerts.facts import alerts_of_run, end_of_run, with_its_key
from proofsweep.alerts.messages import About, Alert, cause_of, quoted, shortened
from proofsweep.alerts.rules import FlowEnd, alerts_of_end, key_expires, over_after_end, rotated_key_ends
from proofsweep.alerts.send import Gather, Notifier
from proofsweep.domain.endings import EndedBy
from proofsweep.ingest.rules import PassReport
from proofsweep.queries.run_status import RunStatus
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.rotations import Rotations

OUTAGE = state_of_ending(EndedBy.BREAKER)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertScope:
    results: Results
    environment: str
    base_url: str
    key_expires_at: datetime | None
    no_success_hours: float
    low_quota_percent: float
    clock: Callable[[], datetime]
    notifier: Callable[[Callable[[str], str] | None, str | None], Notifier | None]


def end_of_leg(scope: AlertScope, run: RunStatus, *, tries_left: bool = False) -> Gather:
    def gather() -> tuple[list[Alert], list[str]]:
        end = end_of_run(scope.results, run, scope.clock(), tries_left=tries_left)
        in_use = str(run.legs[-1].counts.get("key_fingerprint"))
        return [*alerts_of_run(end, run), *alerts_of_key(scope, in_use, scope.clock())], over_after_end(end)

    return gather


def end_of_flow(
    scope: AlertScope,
    flow: str,
    state: str,
    message: str,
    *,
    catalog: str | None = None,
    away: str | None = None,
    tries_left: bool = False,
) -> Gather:
    """Tell of a flow run's end; a catalog that is `away` is a cause of its own, and shows no other one to be over."""
    about, title = replace(_here(scope), catalog=away), None if away is None else "the catalog cannot be read"

    def gather() -> tuple[list[Alert], list[str]]:
        others = with_its_key(scope.results, scope.environment, state, scope.clock(), catalog)
        details = [f"It said: {quoted(message)}"]
        end = FlowEnd(scope.environment, flow, state, about, details, title, others, tries_left)
        own = () if catalog is None else (catalog.rstrip("/"),)  # instead of the flow, if several have the cause
        alerts = [replace(each, subjects=own) if own and each.subjects else each for each in alerts_of_end(end)]
        return alerts, over_after_end(end) if away is None else []

    return gather


def catalog_is_back(scope: AlertScope, catalog: str) -> Gather:
    """Show that a catalog can be read, of which nothing is due: it is not away any more."""
    return lambda: ([], [cause_of(ALERTED_STATES[OUTAGE], scope.environment, catalog, OUTAGE)])


def end_of_pass(scope: AlertScope, watched: str, report: PassReport, *, tries_left: bool = False) -> Gather:
    unmoved = Counter(str(row["detail"]) for row in report.not_moved)
    lines = [f"- {count:,}: {quoted(reason)}" for reason, count in unmoved.items()]
    end = FlowEnd(
        scope.environment,
        "check-ingest",
        "NotMoved" if unmoved else "Completed",
        about=replace(_here(scope), catalog=watched, rows=unmoved.total()),
        details=[f"They lie in {quoted(watched)} still:", *shortened(lines)],
        title=f"verified files that are not moved: {unmoved.total():,}",
        tries_left=tries_left,
    )
    over = over_after_end(end) if report.is_whole and not unmoved else []
    return lambda: (alerts_of_end(end), over)


def _here(scope: AlertScope) -> About:
    return About(machine=socket.gethostname(), results_url=scope.results.store.url)


def alerts_of_key(scope: AlertScope, key_in_use: str | None, now: datetime) -> list[Alert]:
    own = (each for each in Rotations(scope.results).answered() if each.environment == scope.environment)
    found = [rotated_key_ends(rotation, key_in_use, now) for rotation in own]
    found.append(key_expires(scope.environment, scope.key_expires_at, now))
    return [alert for alert in found if alert is not None]
