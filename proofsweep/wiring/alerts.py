"""Alerts, wired: from a run, an error or a forecast to those who are told."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from proofsweep.alerts.events import state_of_ending, state_of_run
from proofsweep.alerts.facts import supplier_rejections
from proofsweep.alerts.key_alerts import key_expires, quota_short, rotated_key_ends
from proofsweep.alerts.messages import Alert, quoted, shortened
from proofsweep.alerts.notifier import Channel, Decide, Delivery, Notifier
from proofsweep.alerts.receivers import Receivers, UrlSource, url_file, url_variable
from proofsweep.alerts.run_alerts import (
    FlowEnd,
    RowKind,
    RunFacts,
    alerts_of_end,
    alerts_of_run,
    end_of_run,
    files_given_up,
    over_after_end,
)
from proofsweep.answers.run_status import RunStatus
from proofsweep.answers.summary import advice_for, ending_of, label_of
from proofsweep.endings import EndedBy
from proofsweep.errors import ConfigError, ProofsweepError, RunMustStop
from proofsweep.model.ingest import PassReport
from proofsweep.model.runs import Plan
from proofsweep.settings import Settings, environment
from proofsweep.store.legs import Legs
from proofsweep.store.rotations import Rotations
from proofsweep.verify.budget.bounds import Bounds
from proofsweep.verify.plan.examine_service import ServiceStatus
from proofsweep.verify.plan.forecast import Need, Quota, forecast
from proofsweep.wiring.engines import ReadBlock, utc_now
from proofsweep.wiring.stores import results_for

Gather = Callable[[], tuple[Decide, Sequence[str]]]  # Gives what decides, and the begins of the causes that are over


@dataclass(frozen=True, slots=True)
class AlertEvent:
    """Something that may have to be told; it is looked at only if the settings, or others, name somebody to tell."""

    settings: Settings
    gather: Gather


def complaints_of(event: AlertEvent, read_block: ReadBlock | None = None, also: Sequence[Channel] = ()) -> list[str]:
    """Tell those whom the settings name and some others; give one line if that failed. It never raises an error."""
    try:
        notifier = notifier_for(event.settings, read_block, also)
        delivery = None if notifier is None else notifier.notify(*event.gather())
    except ProofsweepError as error:
        return [f"Nobody could be told: {error.message}"]
    except Exception as error:  # noqa: BLE001 - whatever is wrong with an alert must not end a run
        return [f"Nobody could be told, through a mistake of this program ({type(error).__name__})."]
    return [] if delivery is None or not delivery.missed else [missed_line(delivery)]


def missed_line(delivery: Delivery) -> str:
    """Return who did not get an alert."""
    return (
        f"An alert was not taken by {', '.join(delivery.missed)}; check the URL there, and try: proofsweep alerts test"
    )


def notifier_for(settings: Settings, read_block: ReadBlock | None, also: Sequence[Channel] = ()) -> Notifier | None:
    """Return what notifies those whom the settings name, and some others; None if that is nobody."""
    receivers = receivers_for(settings, read_block)
    channels = [*([] if receivers is None else [receivers]), *also]
    if not channels:
        return None
    store, repeat_days = results_for(settings).store, settings.alerts.repeat_days
    return Notifier(store=store, channels=channels, clock=utc_now, repeat_days=repeat_days)


def receivers_for(settings: Settings, read_block: ReadBlock | None) -> Receivers | None:
    """Read who is told; None if the settings name nobody. ConfigError if the URLs cannot be read or used."""
    source = _url_source(settings, read_block)
    return None if source is None else Receivers.read(source[0], where=source[1])


def end_of_leg(settings: Settings, run: RunStatus, *, tries_left: bool = False) -> AlertEvent:
    """Tell of a run whose leg has just ended, and of a key that expires."""

    def gather() -> tuple[Decide, Sequence[str]]:
        facts = facts_of_run(settings, run, tries_left=tries_left)
        in_use = str(run.legs[-1].counts.get("key_fingerprint"))
        return lambda was_sent: [
            *alerts_of_run(facts, was_sent),
            *alerts_of_key(settings, in_use, utc_now()),
        ], over_after_end(end_of_run(facts))

    return AlertEvent(settings, gather)


def end_of_flow(settings: Settings, flow: str, state: str, message: str, *, tries_left: bool = False) -> AlertEvent:
    """Tell of a flow run that ended in a state with a message."""
    end = flow_end(settings, flow, state, flow, [f"It said: {quoted(message)}"], tries_left=tries_left)
    return AlertEvent(settings, lambda: (alerts_of_end(end), over_after_end(end)))


def stop_before_leg(settings: Settings, stop: RunMustStop) -> AlertEvent:
    """Tell of a run that could not begin."""
    return end_of_flow(settings, "verify-catalog", state_of_ending(stop.ended_by), stop.message)


def end_of_pass(settings: Settings, watched: str, report: PassReport, *, tries_left: bool = False) -> AlertEvent:
    """Tell of files that a pass over a watched folder could not move, or has given up."""
    unmoved = Counter(str(row["detail"]) for row in report.not_moved)
    lines = [f"- {count:,}: {quoted(reason)}" for reason, count in unmoved.items()]
    end = flow_end(
        settings,
        "check-ingest",
        "NotMoved" if unmoved else "Completed",
        watched,
        [f"They lie in {quoted(watched)} still:", *shortened(lines)],
        title=f"verified files that are not moved: {unmoved.total():,}",
        tries_left=tries_left,
    )
    given_up = files_given_up(end.environment, watched, end.results_url, report.given_up)
    over = over_after_end(end) if report.is_whole and not unmoved else []
    return AlertEvent(settings, lambda: ([*alerts_of_end(end), *given_up], over))


def flow_end(
    settings: Settings,
    flow: str,
    state: str,
    subject: str,
    details: Sequence[str],
    *,
    title: str | None = None,
    tries_left: bool = False,
) -> FlowEnd:
    """Put an end into words, with the environment and the store of the settings."""
    environment, url = settings.service.environment, results_for(settings).store.url
    return FlowEnd(environment, flow, state, subject, url, details, title, tries_left)


def begin_of_leg(settings: Settings, plan: Plan, leg: int, service: ServiceStatus, bounds: Bounds) -> AlertEvent | None:
    """Tell that the quota will end before the run does, when its first leg begins; None if there is enough."""
    need = Need(eligible=plan.eligible if leg == 1 else 0, audio_bytes=0)
    alert = alert_of_quota(settings, plan, need, service, bounds)
    return None if alert is None else AlertEvent(settings, lambda: ([alert], []))


def alert_of_quota(settings: Settings, plan: Plan, need: Need, service: ServiceStatus, bounds: Bounds) -> Alert | None:
    """Compare what a run needs with the quota, at two calls a row: earlier legs are not read for it."""
    quota = Quota(headroom=service.headroom, reset=service.quota_reset, bounds=bounds)
    cost = forecast(need, quota, [], utc_now(), settings.bounds.ask_seconds)
    return quota_short(plan, need.eligible, cost)


def facts_of_run(settings: Settings, run: RunStatus, *, tries_left: bool = False) -> RunFacts:
    """Gather what is told of a run; its last leg has ended."""
    results, tag = results_for(settings), settings.alerts.supplier_tag
    return RunFacts(
        run_id=run.plan.run_id,
        environment=run.plan.environment,
        catalog=run.plan.catalog,
        results_url=results.store.url,
        state=state_of_run(
            run.ended_by or EndedBy.KILLED, is_over=run.is_over, failed=run.rows("failed"), answered=run.answered
        ),
        ending=ending_of(run),
        why=run.why,
        items=run.plan.items,
        remaining=run.remaining,
        failed=run.rows("failed"),
        answered=run.answered,
        kinds=[RowKind(group.rows, label_of(group), advice_for(group)) for group in run.groups],
        rejections=[] if tag is None else supplier_rejections(results, run.plan, tag),
        sunset=run.sunset,
        in_doubt=run.legs[-1].in_doubt,
        nights_in_doubt=run.nights_in_doubt if run.remaining else 0,
        head=head_after(settings, run),
        tries_left=tries_left,
    )


def head_after(settings: Settings, run: RunStatus) -> str | None:
    """Return the hex sha256 of the receipt of a run's last leg, which holds all earlier receipts; None without one."""
    legs = Legs(results_for(settings), run.plan.run_id)
    return legs.receipt_digest(run.legs[-1].leg) if run.legs else None


def alerts_of_key(settings: Settings, key_in_use: str | None, now: datetime) -> list[Alert]:
    """Tell of a key that ends: by the settings, and by the rotations that the store has of their environment."""
    environment = settings.service.environment
    rotations = Rotations(results_for(settings)).answered()
    own = (rotation for rotation in rotations if rotation.environment == environment)
    found = [rotated_key_ends(rotation, key_in_use, now) for rotation in own]
    found.append(key_expires(environment, settings.service.key_expires_at, now))
    return [alert for alert in found if alert is not None]


def _url_source(settings: Settings, read_block: ReadBlock | None) -> tuple[UrlSource, str] | None:
    alerts = settings.alerts
    if alerts.urls_file is not None:
        return url_file(alerts.urls_file), f"The file {alerts.urls_file}"
    if alerts.urls_env is not None:
        return url_variable(alerts.urls_env, environment()), f"The environment variable {alerts.urls_env}"
    if alerts.urls_block is None:
        return None
    if read_block is None:
        raise ConfigError("The settings keep the alert URLs in a Prefect Secret block, which cannot be read here.")
    name = alerts.urls_block
    return lambda: read_block(name), f"The secret block {name}"
