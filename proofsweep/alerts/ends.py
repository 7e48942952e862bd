"""What is told of an end, or of a begin, and from what it is gathered."""

import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from proofsweep.alerts.events import state_of_ending
from proofsweep.alerts.facts import facts_of_run
from proofsweep.alerts.key_alerts import key_expires, quota_short, rotated_key_ends
from proofsweep.alerts.messages import Alert, quoted, shortened
from proofsweep.alerts.notifier import Channel, Decide, Gather, Notifier
from proofsweep.alerts.run_alerts import (
    FlowEnd,
    alerts_of_end,
    alerts_of_run,
    end_of_run,
    files_given_up,
    incomplete_batches,
    over_after_end,
)
from proofsweep.answers.run_status import RunStatus
from proofsweep.errors import RunMustStop
from proofsweep.model.bounds import Bounds
from proofsweep.model.forecast import Need, Quota, forecast
from proofsweep.model.ingest import PassReport
from proofsweep.model.runs import Plan
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.rotations import Rotations
from proofsweep.verify.plan.examine_service import ServiceStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertScope:
    """What alerts are about: a store, an environment of the service, and what a person has set for them."""

    results: Results
    environment: str
    base_url: str
    ask_seconds: float
    key_expires_at: datetime | None
    supplier_tag: str | None
    no_success_hours: float
    unexplained_calls: int
    clock: Callable[[], datetime]
    # with what reads secret blocks, further channels, and the page of the flow run.
    notifier: Callable[[Callable[[str], str] | None, Sequence[Channel], str | None], Notifier | None]


def end_of_leg(scope: AlertScope, run: RunStatus, *, tries_left: bool = False) -> Gather:
    """Tell of a run whose leg has just ended, and of a key that expires."""

    def gather() -> tuple[Decide, Sequence[str]]:
        facts = facts_of_run(scope.results, scope.supplier_tag, run, tries_left=tries_left)
        in_use = str(run.legs[-1].counts.get("key_fingerprint"))
        return lambda was_sent: [
            *alerts_of_run(facts, was_sent),
            *alerts_of_key(scope, in_use, scope.clock()),
        ], over_after_end(end_of_run(facts))

    return gather


def end_of_flow(scope: AlertScope, flow: str, state: str, message: str, *, tries_left: bool = False) -> Gather:
    """Tell of a flow run that ended in a state with a message."""
    said, url = [f"It said: {quoted(message)}"], scope.results.store.url
    end = FlowEnd(scope.environment, flow, state, flow, url, said, tries_left=tries_left, machine=socket.gethostname())
    return lambda: (alerts_of_end(end), over_after_end(end))


def stop_before_leg(scope: AlertScope, stop: RunMustStop) -> Gather:
    """Tell of a run that could not begin."""
    return end_of_flow(scope, "verify-catalog", state_of_ending(stop.ended_by), stop.message)


def end_of_pass(scope: AlertScope, watched: str, report: PassReport, *, tries_left: bool = False) -> Gather:
    """Tell of files that a pass over a watched folder could not move, or has given up, and of incomplete deliveries."""
    unmoved = Counter(str(row["detail"]) for row in report.not_moved)
    lines = [f"- {count:,}: {quoted(reason)}" for reason, count in unmoved.items()]
    end = FlowEnd(
        scope.environment,
        "check-ingest",
        "NotMoved" if unmoved else "Completed",
        watched,
        scope.results.store.url,
        [f"They lie in {quoted(watched)} still:", *shortened(lines)],
        title=f"verified files that are not moved: {unmoved.total():,}",
        tries_left=tries_left,
        machine=socket.gethostname(),
        rows=unmoved.total(),
    )
    given_up = files_given_up(end.environment, watched, end.results_url, report.given_up)
    incomplete = incomplete_batches(end.environment, watched, end.results_url, report.incomplete)
    over = over_after_end(end) if report.is_whole and not unmoved else []
    return lambda: ([*alerts_of_end(end), *given_up, *incomplete], over)


def begin_of_leg(scope: AlertScope, plan: Plan, leg: int, service: ServiceStatus, bounds: Bounds) -> Gather | None:
    """Tell that the quota will end before the run does, when its first leg begins; None if there is enough."""
    need = Need(eligible=plan.eligible if leg == 1 else 0, audio_bytes=0)
    alert = alert_of_quota(scope, plan, need, service, bounds)
    return None if alert is None else (lambda: ([alert], []))


def alert_of_quota(scope: AlertScope, plan: Plan, need: Need, service: ServiceStatus, bounds: Bounds) -> Alert | None:
    """Compare what a run needs with the quota, at two calls a row: earlier legs are not read for it."""
    quota = Quota(headroom=service.headroom, reset=service.quota_reset, bounds=bounds)
    cost = forecast(need, quota, [], scope.clock(), scope.ask_seconds)
    return quota_short(plan, need.eligible, cost)


def head_after(results: Results, run: RunStatus) -> str | None:
    """Return the hex sha256 of the receipt of a run's last leg, which holds all earlier receipts; None without one."""
    legs = Legs(results, run.plan.run_id)
    return legs.receipt_digest(run.legs[-1].leg) if run.legs else None


def alerts_of_key(scope: AlertScope, key_in_use: str | None, now: datetime) -> list[Alert]:
    """Tell of a key that ends: by what a person has set, and by the rotations that the store has of the environment."""
    environment = scope.environment
    rotations = Rotations(scope.results).answered()
    own = (rotation for rotation in rotations if rotation.environment == environment)
    found = [rotated_key_ends(rotation, key_in_use, now) for rotation in own]
    found.append(key_expires(environment, scope.key_expires_at, now))
    return [alert for alert in found if alert is not None]
