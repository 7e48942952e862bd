"""A check from outside the runs: what nobody would tell if no run came to its end."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from proofsweep.alerts.ends import AlertScope, alert_of_quota, alerts_of_key
from proofsweep.alerts.events import AlertKind, state_of_ending
from proofsweep.alerts.facts import (
    calls_of_day,
    ended_at,
    facts_of_run,
    killed_work,
    line_of_leg,
    newest_leg,
    night_facts,
    recent_runs,
)
from proofsweep.alerts.key_alerts import unexplained_usage
from proofsweep.alerts.messages import Alert, WasSent, cause_of, quoted
from proofsweep.alerts.notifier import Decide
from proofsweep.alerts.run_alerts import FlowEnd, alerts_of_end, alerts_of_run, daily_digest, no_success
from proofsweep.answers.describe_run import describe_run
from proofsweep.answers.run_status import RunStatus
from proofsweep.contract.headers import AnswerHeaders
from proofsweep.contract.models import PartnerUsageResponse
from proofsweep.endings import EndedBy
from proofsweep.errors import ProofsweepError, RunMustStop
from proofsweep.files.locations import path_of
from proofsweep.model.bounds import Bounds
from proofsweep.model.forecast import Need
from proofsweep.model.items import printable
from proofsweep.model.run_records import RunRecord
from proofsweep.store.legs import Legs
from proofsweep.verify.plan.examine_service import ServiceStatus

# Chosen: a month's quota is spent over at most 31 nights.
_LOOK_BACK_DAYS = 35

_FLOW = "check-alerts"


@dataclass(slots=True, kw_only=True)
class Check:
    """Decides what must be told now, about some catalogs or, without names, about all together."""

    scope: AlertScope
    catalogs: Sequence[str]
    folder: str  # relative catalogs lie in it
    key_in_use: Callable[[], str]  # its fingerprint
    ask_usage: Callable[[], tuple[PartnerUsageResponse, AnswerHeaders]]  # one keyed call
    bounds: Callable[[], Bounds]  # of a leg that begins now
    skipped: list[str] = field(default_factory=list)  # one line for each thing that could not be looked at

    def gather(self) -> tuple[Decide, Sequence[str]]:
        """Return what tells somebody of what is found."""
        return self.decide, []

    def decide(self, was_sent: WasSent) -> list[Alert]:
        """Return the alerts that hold now."""
        now = self.scope.clock()
        named: list[str | None] = [printable(path_of(name, self.folder)).rstrip("/") for name in self.catalogs]
        key_in_use = None
        with suppress(ProofsweepError):  # the call for the usage says it
            key_in_use = self.key_in_use()
        found: list[Alert | None] = [*alerts_of_key(self.scope, key_in_use, now)]
        usage = self._usage(found)
        for location in named or [None]:
            found.append(self._no_success(location, now))
            found += self._of_newest_run(location, usage, was_sent)
        since, environment = now - timedelta(days=_LOOK_BACK_DAYS), self.scope.environment
        for end in killed_work(self.scope.results, environment, since):
            found += alerts_of_end(end)
        if usage is not None:
            found.append(self._unexplained_usage(usage[0], now, was_sent))
        found.append(self._digest(now))
        return [alert for alert in found if alert is not None]

    def _usage(self, found: list[Alert | None]) -> tuple[PartnerUsageResponse, AnswerHeaders] | None:
        """Ask for the usage, which is one keyed call; a refused key is an alert, and what else fails is said."""
        try:
            return self.ask_usage()
        except ProofsweepError as error:
            if isinstance(error, RunMustStop) and error.ended_by == EndedBy.KEY_REFUSED:
                state = state_of_ending(error.ended_by)
                said, url = [f"It said: {quoted(error.message)}"], self.scope.results.store.url
                found += alerts_of_end(FlowEnd(self.scope.environment, _FLOW, state, _FLOW, url, said))
            else:
                self.skipped.append(f"The quota and its usage were not checked: {error.message}")
        return None

    def _no_success(self, location: str | None, now: datetime) -> Alert | None:
        hours = self.scope.no_success_hours
        facts = night_facts(
            self.scope.results,
            self.scope.environment,
            location,
            since=now - timedelta(days=_LOOK_BACK_DAYS),
            enough=now - timedelta(hours=hours),
        )
        return no_success(facts, now, hours)

    def _digest(self, now: datetime) -> Alert | None:
        """Tell of the newest leg of the last two days, so that the head of the records leaves the store."""
        results, environment = self.scope.results, self.scope.environment
        newest = newest_leg(results, environment, now - timedelta(days=_LOOK_BACK_DAYS))
        ended = None if newest is None else ended_at(newest[1])
        if newest is None or ended is None or ended < now - timedelta(days=2):
            return None
        head = Legs(results, newest[0].run_id).receipt_digest(newest[1].leg)
        return daily_digest(environment, results.store.url, line_of_leg(*newest), ended, head or "")

    def _of_newest_run(
        self, location: str | None, usage: tuple[PartnerUsageResponse, AnswerHeaders] | None, was_sent: WasSent
    ) -> list[Alert | None]:
        """Look at the newest run if rows of it remain and nobody works on it: its process may have been killed."""
        newest, results = self._newest_run(location), self.scope.results
        if newest is None or newest.is_over:
            return []
        legs = Legs(results, newest.plan.run_id)
        if not legs.last() or legs.active_claim() is not None:
            return []
        run = describe_run(results, newest.plan.run_id)
        if not run.remaining:
            return []
        found: list[Alert | None] = [*alerts_of_run(facts_of_run(results, self.scope.supplier_tag, run), was_sent)]
        return found if usage is None else [*found, self._quota_short(run, usage[1])]

    def _newest_run(self, location: str | None) -> RunRecord | None:
        runs = recent_runs(self.scope.results, self.scope.clock() - timedelta(days=_LOOK_BACK_DAYS))
        label = self.scope.environment
        mine = (run for run in runs if run.plan.environment == label and location in {None, run.plan.catalog})
        return next((run for run in mine if not run.is_superseded), None)

    def _quota_short(self, run: RunStatus, headers: AnswerHeaders) -> Alert | None:
        sent = run.finished - run.rows("ineligible")
        need = Need(eligible=max(0, min(run.remaining, run.plan.eligible - sent)), audio_bytes=0)
        service = ServiceStatus(headroom=headers.rate_remaining, quota_reset=headers.rate_reset)
        return alert_of_quota(self.scope, run.plan, need, service, self.bounds())

    def _unexplained_usage(self, usage: PartnerUsageResponse, now: datetime, was_sent: WasSent) -> Alert | None:
        """Compare yesterday's calls, in UTC; today's are not over."""
        scope, tolerated = self.scope, self.scope.unexplained_calls
        day = now.date() - timedelta(days=1)
        used = next((one.used for one in usage.days if (one.date or "").startswith(day.isoformat())), None)
        cause = cause_of(AlertKind.USAGE, scope.environment, day.isoformat())
        if used is None or used <= tolerated or was_sent(cause):
            return None
        since = now - timedelta(days=_LOOK_BACK_DAYS)
        ours = calls_of_day(scope.results, scope.base_url, day, since)
        if ours is None:
            self.skipped.append("The usage was not checked: a leg that made calls has not ended, or was killed.")
            return None
        return unexplained_usage(scope.environment, day, used, ours, tolerated)
